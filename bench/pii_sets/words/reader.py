"""Reads the word files of the generators.

words_of("addresses")["de"]["streets"]
languages_in("people")               # ("ar", "de", ...)
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent


@functools.cache
def words_of(name: str) -> dict[str, Any]:
    """Return the contents of a word file.

    Args:
        name: path in this folder without its suffix, such as `people/de`.
    """
    found: dict[str, Any] = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def languages_in(folder: str) -> tuple[str, ...]:
    """Return the languages with a word file in a folder, sorted."""
    return tuple(sorted(path.stem for path in (_FOLDER / folder).glob("*.yaml")))
