"""Known names that resemble an unknown one, for "did you mean" hints."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def nearest(name: str, known: Sequence[str]) -> str:
    """Return the known name most similar to `name`; empty if none is similar."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else ""


def nearest_few(name: str, known: Sequence[str]) -> list[str]:
    """Return at most three known names similar to `name`, the most similar first; case is ignored."""
    folded = {each.lower(): each for each in known}
    return [folded[each] for each in difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.5)]
