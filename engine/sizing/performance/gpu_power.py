"""Power of a GPU under load, with a band. Pure.

Between no request and one request the power grows with the fraction of time in which a request runs; between one
request and the limit of the replica, with the requests in flight. The ends are measured (`engine/catalog/power.yaml`).

    gpu_shares(0.0, 100)         # idle: fractions of the maximum power
    gpu_shares(50.0, 100)        # half of the requests that the replica can run
"""

from __future__ import annotations

from ...catalog.power import Load, Shares, load_power


def gpu_shares(in_flight: float, limit: float) -> Shares:
    """Return the mean power of a GPU as a fraction of its maximum.

    Args:
        in_flight: mean requests in flight of its replica.
        limit: requests in flight that the replica can run.
    """
    measured = load_power()
    idle, one, full = (measured.shares(load) for load in (Load.IDLE, Load.ONE, Load.FULL))
    if in_flight < 1:
        return _between(idle, one, in_flight)
    return _between(one, full, 1.0 if limit <= 1 else min(1.0, (in_flight - 1) / (limit - 1)))


def _between(start: Shares, end: Shares, share: float) -> Shares:
    return Shares(*(low + (high - low) * share for low, high in zip(start, end, strict=True)))
