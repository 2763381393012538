"""Opens the models that the settings name, and rejects files other than the approved ones.

finder = load_model(settings.detect.models[0], where="detect.models[0]")
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from sovctl.support.errors import InputError

from ...settings.detection.name_model import NameModelSettings
from .digest import check_sha256
from .finder import NameModelFinder, Read
from .gliner_model import open_gliner
from .onnx_model import open_onnx
from .spacy_model import open_spacy
from .stanza_model import open_stanza

_OPEN: Mapping[str, Callable[[NameModelSettings], tuple[Read, frozenset[str]]]] = {
    "gliner": open_gliner,
    "onnx": open_onnx,
    "spacy": open_spacy,
    "stanza": open_stanza,
}


def load_model(settings: NameModelSettings, *, where: str) -> NameModelFinder:
    """Load the model of these settings.

    Args:
        where: its key in the settings.

    Raises:
        InputError: it is absent, another one, damaged, or does not know a label that the settings name.
    """
    check_sha256(settings.path, settings.sha256)
    read, known = _OPEN[settings.kind](settings)
    for label in settings.labels:
        if label not in known:
            near = difflib.get_close_matches(label, known, n=1)
            raise InputError(
                f"expected labels of the model ({', '.join(sorted(known)) or 'none found'}), got {label}",
                where=f"{where}.labels",
                hint=f"did you mean {near[0]}?" if near else "",
            )
    return NameModelFinder(read, labels=settings.labels, rule=settings.rule, min_score=settings.min_score or 0.0)
