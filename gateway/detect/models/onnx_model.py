"""Token classifiers in ONNX: a folder with `model.onnx`, `tokenizer.json` and `config.json`, as exporters write it.

`config.json` says with `id2label` what each output means (`B-PER`, `I-PER`, `O`; also without prefixes). A text that is
longer than the model reads at a time is read in windows that overlap. A word is a name when one of its pieces is, with
the score of its surest piece; words in a row of one label are one name unless a `B-` begins another.

The packages `onnxruntime` and `tokenizers` are not among the gateway's own: whoever names such a model installs them.
The session has one thread, which is the caller's, so that a worker may be forked from a process that has opened it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sovctl.compliance.errors import InputError
from sovctl.gateway.detect.models.finder import Entity, Read

_BEGINNINGS = ("B-", "S-", "U-")
_MOST_TOKENS = 512
_POSITIONS_SPARE = 2  # RoBERTa counts its positions from 2 (transformers, modeling_roberta, read 2026-11)
_MARGIN = 32  # tokens at a window's edge that the next window reads as well, with more around them


def open_onnx(path: Path) -> tuple[Read, frozenset[str]]:
    """The classifier in a folder, and its labels without `B-` and the like.

    Raises:
        InputError: it can't be loaded, or a package is missing.
    """
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise InputError(
            f"expected the packages onnxruntime and tokenizers for this model, got no {error.name}",
            where=str(path),
            hint="install them where the gateway runs",
        ) from error
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        names = [config["id2label"][str(number)] for number in range(len(config["id2label"]))]
        tokenizer = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path / "model.onnx"), options, providers=["CPUExecutionProvider"])
        width = min(_MOST_TOKENS, config.get("max_position_embeddings", _MOST_TOKENS) - _POSITIONS_SPARE)
        classifier = _Classifier(session, tokenizer, names, width)
        classifier.scores([0])  # it fits its labels and inputs, or says so now
    except Exception as error:
        kind = type(error).__name__
        raise InputError(
            f"expected model.onnx, tokenizer.json and config.json of one token classifier, got {kind}", where=str(path)
        ) from error
    return classifier.read, frozenset(_plain(name) for name in names) - {"O"}


class _Classifier:
    def __init__(self, session: Any, tokenizer: Any, names: Sequence[str], width: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._names = names
        self._inputs = {each.name for each in session.get_inputs()}
        special = tokenizer.encode("").ids
        self._first, self._last = special[: len(special) // 2], special[len(special) // 2 :]
        self._width = width - len(special)
        if self._width <= 2 * _MARGIN:
            raise ValueError("the model reads too few tokens at a time")

    def read(self, text: str) -> Iterator[Entity]:
        """Entities in `text`."""
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        ids = encoded.ids
        step = self._width - 2 * _MARGIN
        sure: list[tuple[str, float]] = []
        for start in range(0, len(ids), step):
            window = self.scores(ids[start : start + self._width])
            sure[start and start + _MARGIN :] = window[_MARGIN if start else 0 :]
            if start + self._width >= len(ids):
                break
        yield from _joined(_by_word(encoded.word_ids, encoded.offsets, sure))

    def scores(self, ids: Sequence[int]) -> list[tuple[str, float]]:
        """For each token its likeliest label and how likely that is."""
        import numpy as np

        row = np.array([[*self._first, *ids, *self._last]], dtype=np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        logits = self._session.run(None, {name: given[name] for name in self._inputs})[0][0]
        if logits.shape != (row.shape[1], len(self._names)):
            raise ValueError("expected a score for every token and label")
        logits = logits[len(self._first) : len(self._first) + len(ids)]
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        return [
            (self._names[int(best)], float(each[best])) for each, best in zip(odds, odds.argmax(axis=1), strict=True)
        ]


def _by_word(
    word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]], sure: Sequence[tuple[str, float]]
) -> Iterator[Entity]:
    """The words, each with the label and the score of its surest piece that is part of a name, or with `O`."""
    tokens = zip(word_ids, offsets, sure, strict=True)
    for _, pieces in groupby(enumerate(tokens), key=lambda each: -each[0] - 1 if each[1][0] is None else each[1][0]):
        word = [(*span, *said) for _, (_, span, said) in pieces]
        start, end, first = word[0][0], word[-1][1], word[0][2]
        score, label = max(((score, label) for _, _, label, score in word if label != "O"), default=(0.0, "O"))
        if label != "O":  # a later piece may say `B-` as well, but only the first one begins anything
            label = ("B-" if first[:2] in _BEGINNINGS else "I-") + _plain(label)
        yield start, end, label, score


def _joined(words: Iterable[Entity]) -> Iterator[Entity]:
    """Words in a row that are one name."""
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
    """The label without what says where in a name a token stands."""
    return label[2:] if label[:2] in (*_BEGINNINGS, "I-", "E-", "L-") else label
