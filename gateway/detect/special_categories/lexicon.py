"""Words of special categories of personal data (GDPR Art. 9 and 10), from `words/LANGUAGE.txt`.

    category: word word_word ...        lines that begin with # are comments

A term is specific: it has its meaning without the rest of the sentence. Case and accents do not matter.

| written | matches |
|---|---|
| `word` | this word |
| `word*`, `*word` | words that begin, end with it |
| `word_word` | these words in this order, with any space or punctuation between them |
| `word_.._word` | with up to two other words between them |
| `word:` | the word before a colon, an equals sign, or the value of a JSON key |
| `word_..:` | the same, with up to two other words after it: "religion of Ms. ...:" |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..context.topics import fold
from ..text.scanner import Pattern

CATEGORIES = (
    "HEALTH",
    "UNION",
    "RELIGION",
    "POLITICS",
    "SEX_LIFE",
    "ETHNIC_ORIGIN",
    "GENETIC",
    "BIOMETRIC",
    "CRIMINAL",
)
"""GDPR Art. 9 (1) in another order, and Art. 10; rules of `SPECIAL_CATEGORY` in the policy."""
_WORDS = Path(__file__).parent / "words"
_GAP = "(?:[^ :]+ ){0,2}"


@cache
def terms() -> tuple[tuple[str, str], ...]:
    """Return every category with a term of it, in any language.

    Raises:
        ValueError: a line of a file names no category.
    """
    found: dict[tuple[str, str], None] = {}
    for path in sorted(_WORDS.glob("*.txt")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line or line.startswith("#"):
                continue
            name, _, words = line.partition(": ")
            if name.upper() not in CATEGORIES:
                raise ValueError(f"{path.name}:{number}: unknown category {name}")
            found.update(dict.fromkeys((name.upper(), word) for word in words.split()))
    return tuple(found)


def languages() -> list[str]:
    """Return the languages with words, ISO 639-1, sorted."""
    return sorted(path.stem for path in _WORDS.glob("*.txt"))


def pattern(term: str) -> Pattern:
    """Return the pattern of a term in folded text; it ends once for each occurrence."""
    body = term.removesuffix(":")
    words = "".join(_pieces(body.strip("*").split("_")))
    begin = "" if body.startswith("*") else " "
    end = "" if body.endswith("*") else " "
    if term.endswith(":"):
        end = ": " if body.endswith("..") else " : "
    return Pattern(begin + words + end, has_start=False, has_case=True)


def _pieces(words: list[str]) -> Iterator[str]:
    """Yield the expressions of words, with the spaces between them."""
    needs_space = False
    for word in words:
        if needs_space:
            yield " "
        needs_space = word != ".."
        yield _GAP if word == ".." else fold(word.removesuffix("*")).strip()
        if word.endswith("*"):
            yield "[^ :]*"
