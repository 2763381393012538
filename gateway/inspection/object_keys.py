"""Finds identifiers and names that are keys of objects: `{"Anna_Kowalska": 100}`, `{"accounts": {"20481632": {}}}`.

A key is read as it is written, as words (`AnnaKowalska` is "Anna Kowalska"), and after the words of the keys above it.
Names that are known from elsewhere in the request are found in keys as well. A key cannot be replaced without a change
of the document's meaning, so a request with such a key is processed on-prem.

    keys = ObjectKeys(finder, leaves)
    keys.find()
    keys.found["Anna_Kowalska"]      # [Finding(..., EntityType.PERSON, ...)]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from ..body.json_texts import JsonTexts
from ..body.key_labels import words_of_key
from ..detect.clean_text_cache import CachedFinder
from ..detect.findings.finding import Finding
from ..detect.labels import labelled, readings
from ..detect.numbers.digit_runs import SEPARATORS
from ..tokens.search import find_tokens
from .known_names import Aliases
from .known_values import KnownValues

# A word for phones changes how rows of digits are read, wherever in a text it is, so they are read by themselves.
_ROW = re.compile(rf"(?<![0-9])(?:[0-9]+{SEPARATORS}{{1,3}}){{3}}[0-9]")


class ObjectKeys:
    """The keys of one body."""

    def __init__(self, finder: CachedFinder, leaves: JsonTexts) -> None:
        self._finder = finder
        self._leaves = leaves
        self._words = {key: _words(key) for key in (*leaves.keys, *leaves.names)}
        self.found: dict[str, list[Finding]] = {}
        """Findings by key; spans are those of one of its readings."""

    def find(self) -> None:
        """Find what the keys themselves and the keys above them show."""
        leaves, finder = self._leaves, self._finder
        alone = {key for key in leaves.keys if not key.isascii() or _ROW.search(key)}
        written = {key: [key] for key in (*leaves.keys, *leaves.names) if key not in alone and not _is_word(key)}
        for key, words in self._words.items():
            if words != key and not (key.isascii() and key.islower()):  # without a capital, words show no name
                written.setdefault(key, []).append(words)
        suspects = set(finder.suspects(each for forms in written.values() for each in forms))
        for key in alone:
            self._add(key, finder.find(key))
        for key, forms in written.items():
            for form in forms:
                if form in suspects:
                    self._add(key, finder.find(form))
        suspects = set(finder.suspects(each for key, labels in leaves.labelled_keys for each in readings(key, labels)))
        for key, labels in leaves.labelled_keys if suspects else ():
            self._add(key, labelled(finder, key, labels, suspects))

    def spread(self, known: KnownValues, aliases: Aliases) -> None:
        """Find values and people that are known from elsewhere."""
        if not self._words:
            return
        keys = list(self._words)
        starts, length = [], 0
        for words in self._words.values():
            starts.append(length)
            length += len(words) + 1
        text = "\n".join(self._words.values())
        found = [
            *aliases.find(text),
            *(origin._replace(start=start, end=end) for start, end, origin in known.find(text)),
        ]
        for finding in found:
            self._add(keys[bisect_right(starts, finding.start) - 1], [finding])

    def _add(self, key: str, found: Iterable[Finding]) -> None:
        before = self.found.get(key, [])
        if more := [finding for finding in found if finding not in before]:
            self.found[key] = [*before, *more]


def _words(key: str) -> str:
    """Return the words of a key; a token of the gateway stays as it is, because its words would say something else."""
    return key if "_" in key and next(find_tokens(key), None) else words_of_key(key)


def _is_word(key: str) -> bool:
    """Return whether the key is one English word without capitals, as most names of fields are."""
    return key.isascii() and key.isalpha() and key.islower()
