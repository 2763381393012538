"""What a model says about a text, as findings: its labels become kinds, our own tokens are nobody's name.

    finder = ModelFinder(read, labels={"PER": Kind.PERSON}, rule="MODEL_RU_NAMES")
    finder.find(View("Звонил Иван Петров"), [])      # [Finding(start=7, end=18, kind=Kind.PERSON, ...)]

`read` is the model: a text in, (start, end, label, score) out, in characters of that text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.view import View
from sovctl.gateway.kinds import Kind

Entity = tuple[int, int, str, float]
"""Start, end, label, score."""
Read = Callable[[str], Iterable[Entity]]


class ModelFinder:
    """Finds what a model finds; see `finder.Finder`.

    Args:
        labels: of the model, those that count.
        rule: that its findings carry.
        min_score: what it is less sure of does not count.
    """

    def __init__(self, read: Read, *, labels: Mapping[str, Kind], rule: str, min_score: float = 0.0) -> None:
        self.rules = (rule,)
        self._read = read
        self._labels = dict(labels)
        self._min_score = min_score

    def find(self, view: View, _found: Sequence[Finding]) -> Iterator[Finding]:
        """What the model finds in `view`, without the spaces and marks around it."""
        text = view.text
        for start, end, label, score in self._read(text):
            kind = self._labels.get(label)
            if kind is None or score < self._min_score:
                continue
            while start < end and not text[start].isalnum():
                start += 1
            while start < end and not text[end - 1].isalnum():
                end -= 1
            if start >= end or any(start < last and first < end for first, last in view.tokens):
                continue
            value = " ".join(text[start:end].casefold().split())
            yield Finding(start, end, kind, score, value, self.rules[0])
