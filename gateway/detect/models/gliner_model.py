"""GLiNER models in ONNX: the settings' labels are the question, such as `person` or `name of a company`.

A folder with `model.onnx`, `tokenizer.json` and `gliner_config.json`, as `export_to_onnx` of the package gliner writes
it for a model of spans with one encoder. The format is that of urchade/GLiNER 0.2.29, read 2026-11; the code is ours.

    [CLS] <<ENT>> person <<ENT>> company <<SEP>> Ola Nordmann works at Acme . [SEP]

Words are found by a pattern, and `words_mask` numbers the first token of each from 1. Every run of up to `max_width`
words is scored for every label; of runs that are surer than `min_score` and overlap, the surest stays.

Three things differ from GLiNER's own code, so that no text remains unread and no span is shifted:

| | here | the original |
|---|---|---|
| a text longer than the model reads at a time | windows that overlap | its end is cut off |
| a word without tokens, such as an invisible mark | left out, not counted | every name after it is a word off |
| a word of more than fifty characters | counts as several | one word, of which the first token stands for all |
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from sovctl.support.errors import InputError

from ...settings.detection.name_model import NameModelSettings
from .finder import Entity, Read
from .onnx_files import OnnxFiles, open_files
from .opening import refused_as_no

_WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")  # gliner, data_processing/tokenizer.py, WhitespaceTokenSplitter
_INPUTS = {"input_ids", "attention_mask", "words_mask", "text_lengths", "span_idx", "span_mask"}
_MIN_SCORE = 0.5  # gliner, `threshold` of predict_entities
_MOST_CHARS = 50  # of a word; more is text without spaces, or no text
_LEAST_TOKENS = 128  # for words in addition to the question
_LEAST_OVERLAP = 32  # words; half of them are context on either side of where one window hands over to the next


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: its place, and its tokens."""

    start: int
    end: int
    ids: Sequence[int]


def open_gliner(settings: NameModelSettings) -> tuple[Read, frozenset[str]]:
    """Open the model in a folder; its labels are those of the settings.

    Raises:
        InputError: it can't be loaded, is another kind of GLiNER model, or a package is missing.
    """
    path = settings.path
    with refused_as_no("folder with model.onnx, tokenizer.json and gliner_config.json of one GLiNER model", path):
        files = open_files(path, "gliner_config.json")
        if (got := {each.name for each in files.session.get_inputs()}) != _INPUTS:
            raise InputError(
                f"expected a GLiNER model of spans with one encoder, got one with the inputs {', '.join(sorted(got))}",
                where=str(path),
            )
        if (splitter := files.config.get("words_splitter_type", "whitespace")) != "whitespace":
            raise InputError(f"expected `whitespace` as words_splitter_type, got `{splitter}`", where=str(path))
        question = Question(files, tuple(settings.labels))
        if question.width < _LEAST_TOKENS:
            raise InputError(
                f"expected {_LEAST_TOKENS} tokens for words besides the labels, got {question.width}",
                where=str(path),
                hint="name fewer labels, or shorter ones",
            )
        question.scores([Word(0, 1, [0])], math.inf)  # raises now if the model does not match its labels
    least = _MIN_SCORE if settings.min_score is None else settings.min_score
    return partial(question.entities, min_score=least), frozenset(settings.labels)


class Question:
    """A model and its labels.

    Args:
        labels: what is looked for, in the model's language; none twice.
    """

    def __init__(self, files: OnnxFiles, labels: Sequence[str]) -> None:
        entity, end = files.config.get("ent_token", "<<ENT>>"), files.config.get("sep_token", "<<SEP>>")
        prompt = [piece for label in labels for piece in (entity, label)] + [end]
        encoded = files.tokenizer.encode(prompt, is_pretokenized=True, add_special_tokens=False)
        if len(set(encoded.word_ids)) != len(prompt):
            raise ValueError("a label has no tokens")
        self._files = files
        self._labels = labels
        self._before = [*files.first, *encoded.ids]
        self._max_width = files.config.get("max_width", 12)
        self._max_words = files.config.get("max_len", 384)
        self.width = files.width(files.config.get("encoder_config") or {}) - len(encoded.ids)

    def entities(self, text: str, until_s: float, *, min_score: float) -> list[Entity]:
        """Return the entities in `text`; none overlap.

        Raises:
            TimeoutError: it took longer than `until_s`.
            ValueError: a word has more tokens than the model reads at a time.
        """
        words = list(self.words(text))
        sure: list[tuple[float, int, int, int]] = []
        for begin, end, first, stop in windows(
            [len(word.ids) for word in words],
            most_tokens=self.width,
            most_words=self._max_words,
            overlap=max(2 * self._max_width, _LEAST_OVERLAP),
        ):
            scores = self.scores(words[begin:end], until_s)
            for start, more, label in zip(*(scores > min_score).nonzero(), strict=True):
                at = begin + int(start)
                if first <= at < stop and at + more < end:
                    sure.append((float(scores[start, more, label]), at, at + int(more), int(label)))
        return sorted(
            (words[start].start, words[last].end, self._labels[label], score)
            for score, start, last, label in surest(sure, len(words))
        )

    def words(self, text: str) -> Iterator[Word]:
        """Return the words of `text` that have tokens."""
        places = [
            (start, min(start + _MOST_CHARS, match.end()))
            for match in _WORD.finditer(text)
            for start in range(*match.span(), _MOST_CHARS)
        ]
        encoded = self._files.tokenizer.encode(
            [text[start:end] for start, end in places], is_pretokenized=True, add_special_tokens=False
        )
        for number, tokens in groupby(zip(encoded.word_ids, encoded.ids, strict=True), key=lambda each: each[0]):
            start, end = places[number]
            yield Word(start, end, [token for _, token in tokens])

    def inputs(self, words: Sequence[Word]) -> dict[str, Any]:
        """Return the model's input for these words: `ids` and the other arrays."""
        import numpy as np

        ids = [*self._before]
        mask = [0] * len(ids)
        for number, word in enumerate(words, start=1):
            ids += word.ids
            mask += [number] + [0] * (len(word.ids) - 1)
        ids += self._files.last
        mask += [0] * len(self._files.last)
        starts = np.repeat(np.arange(len(words), dtype=np.int64), self._max_width)
        ends = starts + np.tile(np.arange(self._max_width, dtype=np.int64), len(words))
        return {
            "ids": ids,
            "words_mask": np.array([mask], dtype=np.int64),
            "text_lengths": np.array([[len(words)]], dtype=np.int64),
            "span_idx": np.stack([starts, ends], axis=1)[None],
            "span_mask": (ends < len(words))[None],
        }

    def scores(self, words: Sequence[Word], until_s: float) -> Any:
        """Return the probability of each label for each run of words, 0 to 1: by first word, further words, label.

        Raises:
            ValueError: the model gives something else.
        """
        import numpy as np

        logits = self._files.run(until_s=until_s, **self.inputs(words))
        if logits.shape != (len(words), self._max_width, len(self._labels)):
            raise ValueError("expected a score for every run of words and label")
        return 0.5 + 0.5 * np.tanh(0.5 * logits)


def windows(
    lengths: Sequence[int], *, most_tokens: int, most_words: int, overlap: int
) -> Iterator[tuple[int, int, int, int]]:
    """Parts of a text, each short enough for the model: begin and end, and what begins in it is its to judge.

    Args:
        lengths: of the words, in tokens.
        overlap: words that two windows share, or half a window's words where it holds few.

    Raises:
        ValueError: a word is longer than a window.
    """
    begin, first = 0, 0
    while begin < len(lengths):
        end, tokens = begin, 0
        while end < len(lengths) and end - begin < most_words and tokens + lengths[end] <= most_tokens:
            tokens += lengths[end]
            end += 1
        if end == begin:
            raise ValueError("a word has more tokens than the model reads at a time")
        if end == len(lengths):
            yield begin, end, first, end
            return
        following = max(end - overlap, (begin + end + 1) // 2)
        stop = (following + end + 1) // 2
        yield begin, end, first, stop
        begin, first = following, stop


def surest(runs: Iterable[tuple[float, int, int, int]], count: int) -> Iterator[tuple[float, int, int, int]]:
    """Return the most probable of overlapping runs: score, first word, last word, label.

    Args:
        count: of words.
    """
    taken = bytearray(count)
    for run in sorted(runs, key=lambda each: -each[0]):
        _, start, last, _ = run
        if not any(taken[start : last + 1]):
            taken[start : last + 1] = b"\1" * (last + 1 - start)
            yield run
