"""Finds identifiers and names that are keys of objects: `{"Anna_Kowalska": 100}`, `{"accounts": {"20481632": {}}}`.

A key is read as it is written, as words (`AnnaKowalska` is "Anna Kowalska"), and after the words of the keys above it.
Names that are known from elsewhere in the request are found in keys as well.

A key is replaced as a whole, where an object is data: in arguments of tool calls and in strings that contain JSON.
Other keys, such as properties of a schema and fields of the API, mean something to the server and cannot be replaced,
so a request with an identifier in such a key is processed on-prem.

    keys = ObjectKeys(finder, leaves)
    keys.find()
    keys.found["Anna_Kowalska"]      # [Finding(..., EntityType.PERSON, ...)]
    keys.whole["Anna_Kowalska"]      # the finding that is all of the key
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from ..body.json_texts import JsonTexts
from ..body.key_labels import words_of_key
from ..body.keyed_objects import KeyedObject
from ..detect.clean_text_cache import CachedFinder
from ..detect.findings.finding import Finding
from ..detect.labels import labelled, readings
from ..detect.numbers.digit_runs import SEPARATORS
from ..surfaces import Surface
from ..tokens.search import find_tokens
from ..tokens.surrogates import is_in_schema
from .known_names import Aliases
from .known_values import KnownValues

# A word for phones changes how rows of digits are read, wherever in a text it is, so they are read by themselves.
_ROW = re.compile(rf"(?<![0-9])(?:[0-9]+{SEPARATORS}{{1,3}}){{3}}[0-9]")
_BETWEEN = re.compile(r"[\W_]+")


def is_data(keyed: KeyedObject, surface: Surface) -> bool:
    """Return whether an object is data of the client, whose keys may be replaced."""
    if is_in_schema(keyed.path):
        return False
    return keyed.document is not None or surface.is_argument(keyed.path)


class ObjectKeys:
    """The keys of one body."""

    def __init__(self, finder: CachedFinder, leaves: JsonTexts) -> None:
        self._finder = finder
        self._leaves = leaves
        self._words = {key: _words(key) for key in (*leaves.keys, *leaves.names)}
        self.found: dict[str, list[Finding]] = {}
        """Findings by key; spans are those of one of its readings."""
        self.whole: dict[str, Finding] = {}
        """The finding that is all of a key, by key."""
        self.values: list[tuple[str, Finding]] = []
        """Text of each finding of `find`, as it is written in a key or in its words."""

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
            self._note(key, key, finder.find(key))
        for key, forms in written.items():
            for form in forms:
                if form in suspects:
                    self._note(key, form, finder.find(form))
        suspects = set(finder.suspects(each for key, labels in leaves.labelled_keys for each in readings(key, labels)))
        for key, labels in leaves.labelled_keys if suspects else ():
            self._note(key, key, labelled(finder, key, labels, suspects))

    def take(self, found: Mapping[str, list[Finding]]) -> None:
        """Add findings of texts that are equal to a key."""
        for key in found.keys() & self._words.keys():
            if found[key] and key not in self.found:
                self._add(key, key, found[key])

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
            self._add(keys[bisect_right(starts, finding.start) - 1], text, [finding])

    def _note(self, key: str, reading: str, found: Iterable[Finding]) -> None:
        for finding in found:
            self.values.append((reading[finding.start : finding.end], finding))
            self._add(key, reading, [finding])
            if self.whole.get(key) is finding and reading != key:
                self.values.append((key, finding))

    def _add(self, key: str, reading: str, found: Iterable[Finding]) -> None:
        for finding in found:
            before = self.found.setdefault(key, [])
            if all((finding.entity_type, finding.value) != (each.entity_type, each.value) for each in before):
                before.append(finding)
            if key not in self.whole and _letters(reading[finding.start : finding.end]) == _letters(key):
                self.whole[key] = finding


def _letters(text: str) -> str:
    return _BETWEEN.sub("", text)


def _words(key: str) -> str:
    """Return the words of a key; a token of the gateway stays as it is, because its words would say something else."""
    return key if "_" in key and next(find_tokens(key), None) else words_of_key(key)


def _is_word(key: str) -> bool:
    """Return whether the key is one English word without capitals, as most names of fields are."""
    return key.isascii() and key.isalpha() and key.islower()
