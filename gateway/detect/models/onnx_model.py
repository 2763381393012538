"""Token classifiers in ONNX: a folder with `model.onnx`, `tokenizer.json` and `config.json`, as exporters write it.

`config.json` says with `id2label` what each output means (`B-PER`, `I-PER`, `O`; also without prefixes). A text that is
longer than the model reads at a time is read in windows that overlap. A word is a name when one of its pieces is, with
the score of its surest piece; words in a row of one label are one name unless a `B-` begins another.

The packages `onnxruntime` and `tokenizers` are not dependencies of the gateway: a site with such a model installs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ...settings.detection.name_model import NameModelSettings
from .finder import Entity, Read
from .onnx_files import OnnxFiles, open_files
from .opening import refused_as_no

_BEGINNINGS = ("B-", "S-", "U-")
_MARGIN = 32  # tokens at a window's edge that the next window reads as well, with more around them


def open_onnx(settings: NameModelSettings) -> tuple[Read, frozenset[str]]:
    """Open the classifier in a folder; return it with its labels without prefixes such as `B-`.

    Raises:
        InputError: it can't be loaded, or a package is missing.
    """
    what = "folder with model.onnx, tokenizer.json and config.json of one token classifier"
    with refused_as_no(what, settings.path):
        files = open_files(settings.path, "config.json")
        names = [files.config["id2label"][str(number)] for number in range(len(files.config["id2label"]))]
        classifier = _Classifier(files, names)
        classifier.scores([0], math.inf)  # raises now if the model does not match its labels and inputs
    return classifier.read, frozenset(_plain(name) for name in names) - {"O"}


class _Classifier:
    def __init__(self, files: OnnxFiles, names: Sequence[str]) -> None:
        self._files = files
        self._names = names
        self._width = files.width(files.config)
        if self._width <= 2 * _MARGIN:
            raise ValueError("the model reads too few tokens at a time")

    def read(self, text: str, until_s: float) -> Iterator[Entity]:
        """Entities in `text`."""
        encoded = self._files.tokenizer.encode(text, add_special_tokens=False)
        ids = encoded.ids
        step = self._width - 2 * _MARGIN
        sure: list[tuple[str, float]] = []
        for start in range(0, len(ids), step):
            window = self.scores(ids[start : start + self._width], until_s)
            sure[start and start + _MARGIN :] = window[_MARGIN if start else 0 :]
            if start + self._width >= len(ids):
                break
        yield from _joined(_by_word(encoded.word_ids, encoded.offsets, sure))

    def scores(self, ids: Sequence[int], until_s: float) -> list[tuple[str, float]]:
        """Return the most probable label of each token and its probability."""
        import numpy as np

        first, last = self._files.first, self._files.last
        logits = self._files.run([*first, *ids, *last], until_s)
        if logits.shape != (len(first) + len(ids) + len(last), len(self._names)):
            raise ValueError("expected a score for every token and label")
        logits = logits[len(first) : len(first) + len(ids)]
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        return [
            (self._names[int(best)], float(each[best])) for each, best in zip(odds, odds.argmax(axis=1), strict=True)
        ]


def _by_word(
    word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]], sure: Sequence[tuple[str, float]]
) -> Iterator[Entity]:
    """Return each word with the label and score of its most probable token that is part of a name, else with `O`."""
    tokens = zip(word_ids, offsets, sure, strict=True)
    for _, pieces in groupby(enumerate(tokens), key=lambda each: -each[0] - 1 if each[1][0] is None else each[1][0]):
        word = [(*span, *said) for _, (_, span, said) in pieces]
        start, end, first = word[0][0], word[-1][1], word[0][2]
        score, label = max(((score, label) for _, _, label, score in word if label != "O"), default=(0.0, "O"))
        if label != "O":  # a later piece may say `B-` as well, but only the first one begins anything
            label = ("B-" if first[:2] in _BEGINNINGS else "I-") + _plain(label)
        yield start, end, label, score


def _joined(words: Iterable[Entity]) -> Iterator[Entity]:
    """Join adjacent words that are one name."""
    name: Entity | None = None
    for start, end, label, score in words:
        if name is not None and label == f"I-{name[2]}":
            name = (name[0], end, name[2], max(name[3], score))
            continue
        if name is not None:
            yield name
        name = None if label == "O" else (start, end, _plain(label), score)
    if name is not None:
        yield name


def _plain(label: str) -> str:
    """Return the label without its position prefix, such as `B-`."""
    return label[2:] if label[:2] in (*_BEGINNINGS, "I-", "E-", "L-") else label
