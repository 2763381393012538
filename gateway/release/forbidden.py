"""Phrases that an answer must not contain: the site's lists, compiled into a trie of words.

A list is a text file with one phrase per line; empty lines and lines that begin with `#` are skipped. Case, diacritics,
punctuation, invisible characters and the script of digits are ignored; with `languages`, endings of inflection as well.
The search makes at most `MAX_WORDS` steps from each word of a text. A reason names the list and the line of a phrase,
and not the phrase.

    phrases = load_phrases([ForbiddenSettings(name="products", file=..., sha256=..., languages=["ru"])])
    phrases.find("Мы говорим об ипотеке.")        # ["products:12"]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sovctl.support.errors import InputError

from ..settings.answers.release import ForbiddenSettings
from .words import as_read, stems, words

CHECK = "forbidden"
MAX_WORDS = 16
"""Most words of a phrase; a list with a longer one is rejected."""

_LONGEST_TAIL = 400  # characters
_END = ""  # key of the line of a phrase that ends at a node; no word is empty


@dataclass
class _List:
    name: str
    languages: tuple[str, ...]
    trie: dict[str, Any] = field(default_factory=dict)

    def add(self, phrase: Sequence[str], line: int) -> None:
        node = self.trie
        for word in phrase:
            node = node.setdefault(word, {})
        node.setdefault(_END, line)

    def find(self, folded: Sequence[str]) -> Iterable[int]:
        trie = self.trie
        found = stems(folded, self.languages)
        for start, word in enumerate(found):
            node = trie.get(word)
            place = start + 1
            while node is not None:
                if (line := node.get(_END)) is not None:
                    yield line
                node = node.get(found[place]) if place < len(found) else None
                place += 1


class Phrases:
    """All lists of one route."""

    def __init__(self, lists: Iterable[_List]) -> None:
        self._lists = tuple(lists)

    def find(self, text: str) -> list[str]:
        """Return the phrases in `text` as `list:line`; each once, sorted."""
        folded = words(as_read(text))
        return sorted({f"{each.name}:{line}" for each in self._lists for line in each.find(folded)})

    def tail(self, text: str) -> str:
        """Return the last words of `text`, in which a phrase that ends in the next sentence may begin."""
        pieces = text[-_LONGEST_TAIL:].split()[-(MAX_WORDS - 1) :]
        return " ".join(pieces) + " " if pieces else ""


def load_phrases(settings: Iterable[ForbiddenSettings]) -> Phrases:
    """Read and compile the lists.

    Raises:
        InputError: a file cannot be read, has another digest, or contains no phrase.
    """
    return Phrases(map(_load, settings))


def _load(settings: ForbiddenSettings) -> _List:
    path = settings.file
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"expected a readable list of phrases, got: {reason}", where=str(path)) from error
    found = hashlib.sha256(data).hexdigest()
    if found != settings.sha256:
        raise InputError(
            f"expected the list with SHA-256 {settings.sha256}, got {found}",
            where=str(path),
            hint="sha256sum writes the digest of a list that was reviewed",
        )
    phrases = _List(settings.name, tuple(settings.languages))
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or not line.strip():
            continue
        phrase = stems(words(as_read(line)), settings.languages)
        if not 0 < len(phrase) <= MAX_WORDS:
            raise InputError(
                f"expected 1 to {MAX_WORDS} words, got {len(phrase)}", where=f"{path}: line {number}", hint="divide it"
            )
        phrases.add(phrase, number)
    if not phrases.trie:
        raise InputError("expected a list with at least one phrase, got none", where=str(path))
    return phrases
