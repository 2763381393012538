"""Start of vLLM by class of model, without the reading of weights. Pure.

The lead time of a replica, with the weights, is `autoscaler.lead_time_s`.

    engine_start(load_models()["llama-3.1-8b"], Precision.BF16).high_s        # 143.0
"""

from __future__ import annotations

from ...catalog.models import ModelEntry
from ...catalog.start_times import Range, StartClass, load_start_times
from ..memory.weights import Precision

_CLASSES: dict[Precision, StartClass] = {
    Precision.MXFP4: "mxfp4",
    Precision.MXFP4_FP8: "mxfp4",
    Precision.FP8: "fp8",  # whether its scales are per block is not always known: the slower case
}


def start_class(model: ModelEntry, precision: Precision) -> StartClass:
    """Return the class of a model in the table of start times."""
    return _CLASSES.get(precision, "experts" if model.arch.moe is not None else "dense")


def engine_start(model: ModelEntry, precision: Precision, *, is_eager: bool = False) -> Range:
    """Return the time from process start to the first answer, without the reading of weights."""
    return load_start_times().start_s(start_class(model, precision), model.arch.layers or 1, is_eager=is_eager)
