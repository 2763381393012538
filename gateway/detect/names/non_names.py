"""Words that cannot be part of a name, read from `non_names.txt`, and common words of any language."""

from __future__ import annotations

from pathlib import Path

from ..language.stop_words import GROUP_OF, GROUPS

NON_NAMES: frozenset[str] = frozenset(
    word
    for line in (Path(__file__).parent / "non_names.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)
"""Words in the positions of names that are not names, in lower case."""


def is_common_word(lowered: str) -> bool:
    """Return whether a lower-case word is a common word of any language."""
    return lowered.encode("utf-8", "surrogatepass") in GROUP_OF


def common_word_languages(lowered: str) -> frozenset[str]:
    """Return the languages, ISO 639-1, in which a lower-case word is a common word."""
    return GROUPS[GROUP_OF.get(lowered.encode("utf-8", "surrogatepass"), 0)]
