"""Derivation step of the power of one GPU of a pool.

power(sized, performance, demand).result
"""

from __future__ import annotations

from ...catalog.power import Load, Shares, load_power
from ..performance.capacity import Limit
from ..performance.gpu_power import gpu_shares
from ..pool.pool import PoolSizing
from .step import Step


def power(sized: PoolSizing, limit: Limit) -> Step:
    """Return the power of one GPU without requests, at the operating point and at the limit of its replica."""
    gpu, most = sized.case.gpu, limit.point.in_flight
    peak = sized.point.in_flight if sized.point is not None else most
    measured = load_power()
    named = ((Load.IDLE, "no request"), (Load.ONE, "one request"), (Load.FULL, "as many as the server can run"))
    return Step(
        "power of one GPU",
        "maximum power x measured fraction; linear between no request, one request and the limit of the replica. The "
        "maximum of the node decides the electrical connection and cooling, not the energy",
        (
            f"{gpu.id}: at most {gpu.tdp_w:,} W",
            *(f"{words}: {_percent(measured.shares(load))} of the maximum" for load, words in named),
            f"no request: {_watts(gpu_shares(0.0, most), gpu.tdp_w)}",
            f"{most:,.1f} in flight, the limit: {_watts(gpu_shares(most, most), gpu.tdp_w)}",
        ),
        f"{_watts(gpu_shares(peak, most), gpu.tdp_w)} with {peak:,.1f} in flight, at the peak",
    )


def _percent(shares: Shares) -> str:
    return f"{shares.middle * 100:.0f} % (band {shares.low * 100:.0f} to {shares.high * 100:.0f})"


def _watts(shares: Shares, most_w: float) -> str:
    return f"{shares.middle * most_w:,.0f} W (band {shares.low * most_w:,.0f} to {shares.high * most_w:,.0f})"
