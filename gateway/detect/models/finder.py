"""Findings of a model: its labels become entity types, and the gateway's own tokens do not count as names.

    finder = NameModelFinder(read, labels={"PER": EntityType.PERSON}, rule="MODEL_RU_NAMES")
    finder.find(NormalizedText("Звонил Иван Петров"), [])
    # [Finding(start=7, end=18, entity_type=EntityType.PERSON, ...)]

`read` is the model: a text in, (start, end, label, score) out, in characters of that text. Whoever waits for it sets
`until_s`; a model that reads in windows looks at the clock before each and raises `TimeoutError`, others read on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ...domain.entities import EntityType
from ..findings.finding import Finding, name_value
from ..text.view import NormalizedText

Entity = tuple[int, int, str, float]
"""Start, end, label, score."""
Read = Callable[[str, float], Iterable[Entity]]
"""A text, and when to give it up, as `time.monotonic` counts."""


class NameModelFinder:
    """Finds what a model finds; see `finder.Finder`.

    Args:
        labels: of the model, those that count.
        rule: that its findings carry.
        min_score: what it is less sure of does not count.
    """

    def __init__(self, read: Read, *, labels: Mapping[str, EntityType], rule: str, min_score: float = 0.0) -> None:
        self.rules = (rule,)
        self.until_s = math.inf
        self._read = read
        self._labels = dict(labels)
        self._min_score = min_score

    def find(self, view: NormalizedText, _found: Sequence[Finding]) -> Iterator[Finding]:
        """Yield the findings of the model in `view`, without the spaces and marks around them."""
        text = view.text
        for start, end, label, score in self._read(text, self.until_s):
            entity_type = self._labels.get(label)
            if entity_type is None or score < self._min_score:
                continue
            for first, last in view.words_outside_tokens(start, end):
                yield Finding(first, last, entity_type, score, name_value(text[first:last]), self.rules[0])
