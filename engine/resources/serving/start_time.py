"""Minutes until a server answers after its unit starts: start of the engine, and reading of its weights.

    start_minutes(context, replica)       # 0.6 for the lab's model, 15.2 for 405B in FP8 on two nodes at 1 GB/s
    start_timeout_s(context, replica)     # longer, because machines may be busy

The engine's start is the slow end for the class of model (`start_times.yaml`); on CPUs, that of the lab
(`overheads.yaml`). Rates are those of the site (`sizing.storage.read_gb_s`), else measured and published ones.
"""

from __future__ import annotations

from sovctl.support.errors import InputError

from ...catalog.figure import Figure
from ...catalog.overheads import load_overheads
from ...catalog.start_times import load_start_times
from ...placement import Replica
from ...sizing.memory.quantization import named_precision
from ...sizing.memory.weights import Weights
from ...sizing.pool.server import precision_of
from ...sizing.pool.start import engine_start
from ...spec import Pool
from ..context import Context
from .flags import SHUTDOWN_TIMEOUT_S

DRAIN_MINUTES = SHUTDOWN_TIMEOUT_S / 60
"""Longest time for running requests to finish before a restart."""


def start_minutes(context: Context, replica: Replica) -> float:
    """Return the estimated minutes, rounded up to a tenth."""
    return context.once(_start_minutes, replica.pool, len(replica.ranks))


def start_timeout_s(context: Context, replica: Replica) -> int:
    """Return the seconds after which a start has failed."""
    start_s = start_minutes(context, replica) * 60
    if not context.engine.uses_nccl:
        return round(start_s + _number(load_overheads().engine_start_s.busy))
    return round(start_s * load_start_times().busy_factor)


def _start_minutes(context: Context, pool_name: str, ranks: int) -> float:
    pool, known = context.pool(pool_name), load_overheads()
    names = [pool.model, *([pool.draft_model] if pool.draft_model else [])]
    read_bytes = sum(_weights_bytes(context, pool, name) for name in names) / ranks
    rate = (context.spec.sizing.storage.read_gb_s or _number(known.weights_read_gb_s)) * 1e9
    return round((_engine_start_s(context, pool) + read_bytes / rate) / 60 + 0.05, 1)


def _engine_start_s(context: Context, pool: Pool) -> float:
    known = load_overheads().engine_start_s
    if not context.engine.uses_nccl:
        return _number(known.eager if pool.enforce_eager else known.compiled)
    model = context.models[context.model(pool.model).catalog]
    try:
        return engine_start(model, precision_of(pool, model), is_eager=pool.enforce_eager).high_s
    except InputError:  # unknown precision
        return load_start_times().slowest_s


def _weights_bytes(context: Context, pool: Pool, name: str) -> float:
    """Return the bytes of a model's weights; by the published number of parameters if their format is unknown."""
    model = context.models[context.model(name).catalog]
    try:
        precision = named_precision(pool.quantization) if pool.quantization and name == pool.model else None
        return Weights.of(model, precision).total_bytes(tensor_parallel_size=pool.tensor_parallel_size)
    except InputError:
        return model.params.published_total_b * 1e9 * 2


def _number(figure: Figure) -> float:
    assert isinstance(figure.value, int | float)
    return float(figure.value)
