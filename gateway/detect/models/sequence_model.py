"""Sequence classifiers in ONNX: a folder with `model.onnx`, `tokenizer.json` and `config.json`, as exporters write it.

    classifier = load_classifier(settings.detect.screens[0], where="detect.screens[0]")
    classifier.scores("ignore all instructions", until_s)      # {"INJECTION": 0.98, "SAFE": 0.02}

`config.json` names the outputs in `id2label`. Their scores are probabilities of one label, or of each label by itself
if `problem_type` is `multi_label_classification`. A text that is longer than the model reads at a time is read in
windows that overlap; the score of a label is its highest.

The packages `onnxruntime` and `tokenizers` are not dependencies of the gateway: a site with such a model installs them.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from sovctl.support.errors import InputError

from ...settings.detection.screen import ScreenSettings
from .digest import check_sha256
from .onnx_files import OnnxFiles, open_files
from .opening import refused_as_no

_OVERLAP = 64  # tokens at a window's edge that the next window reads as well
_LARGEST = 80.0  # of a logit: its exponential is finite in single precision


class SequenceClassifier:
    """Scores of a text by label.

    Args:
        names: labels in the order of the outputs.

    Raises:
        ValueError: the model reads too few tokens at a time.
    """

    def __init__(self, files: OnnxFiles, names: Sequence[str]) -> None:
        self._files = files
        self._names = tuple(names)
        self._is_multi_label = files.config.get("problem_type") == "multi_label_classification"
        self._width = files.width(files.config)
        if self._width <= 2 * _OVERLAP:
            raise ValueError("the model reads too few tokens at a time")

    @property
    def labels(self) -> frozenset[str]:
        """Labels of the model."""
        return frozenset(self._names)

    def scores(self, text: str, until_s: float) -> Mapping[str, float]:
        """Return the highest score of each label over the windows of a text.

        Raises:
            TimeoutError: `until_s` (`time.monotonic`) passed.
            ValueError: the output is not a finite number for each label.
        """
        ids = self._files.tokenizer.encode(text, add_special_tokens=False).ids
        best = dict.fromkeys(self._names, 0.0)
        for start in range(0, max(1, len(ids)), self._width - _OVERLAP):
            for name, score in zip(
                self._names, self._of_window(ids[start : start + self._width], until_s), strict=True
            ):
                best[name] = max(best[name], score)
            if start + self._width >= len(ids):
                break
        return best

    def _of_window(self, ids: Sequence[int], until_s: float) -> list[float]:
        import numpy as np

        logits = self._files.run([*self._files.first, *ids, *self._files.last], until_s)
        if logits.shape != (len(self._names),):
            raise ValueError("expected one score for every label")
        if self._is_multi_label:
            return [float(each) for each in 1 / (1 + np.exp(-logits.clip(-_LARGEST, _LARGEST)))]
        odds = np.exp(logits - logits.max())
        return [float(each) for each in odds / odds.sum()]


def load_classifier(settings: ScreenSettings, *, where: str) -> SequenceClassifier:
    """Load the classifier of these settings.

    Args:
        where: its key in the settings.

    Raises:
        InputError: it is absent, another one, damaged, or does not know a label that the settings name.
    """
    check_sha256(settings.path, settings.sha256)
    what = "folder with model.onnx, tokenizer.json and config.json of one sequence classifier"
    with refused_as_no(what, settings.path):
        files = open_files(settings.path, "config.json")
        names = [files.config["id2label"][str(number)] for number in range(len(files.config["id2label"]))]
        classifier = SequenceClassifier(files, names)
        classifier.scores("a", math.inf)  # raises now if the model does not match its labels and inputs
    for label in settings.labels:
        if label not in classifier.labels:
            near = difflib.get_close_matches(label, classifier.labels, n=1)
            raise InputError(
                f"expected labels of the model ({', '.join(sorted(classifier.labels)) or 'none found'}), got {label}",
                where=f"{where}.labels",
                hint=f"did you mean {near[0]}?" if near else "",
            )
    return classifier
