"""Totals of several worker processes: each writes its metrics into a shared folder once a second.

The scraped worker adds the files of the others to its own numbers. The result does not depend on which worker accepts
the connection, and with a scrape interval above one second no counter decreases. The last file of a dead worker still
counts, so a restart does not reset counters (a killed worker loses its last second); its gauges end.

Alternatives: a label per worker multiplies the series, and every restart looks like a reset. prometheus_client's
multiprocess files are written at every count, in the path of the request.

    folder = MetricsFolder(Path("/run/sovctl/metrics"))
    folder.write(metrics)            # once a second
    folder.together(metrics)         # a Metrics with the totals of all workers
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import orjson

from .families import Family, Gauge, Histogram, Series
from .table import Metrics

WRITE_EVERY_S = 1.0
_ALIVE_S = 5.0  # a worker without a write for this time is dead or stuck; its gauges are ignored


class MetricsFolder:
    """The workers' files.

    Args:
        path: used by this gateway only, and empty when its first worker starts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = path / f"{os.getpid()}-{time.monotonic_ns()}.json"  # process ids are reused

    def write(self, metrics: Metrics) -> None:
        """Write this process's metrics for the other workers.

        Raises:
            OSError: the folder is not writable.
        """
        content = {
            "at": time.monotonic(),  # the same clock in all processes of a machine
            "families": {family.name: _plain(family) for family in metrics.families.values()},
        }
        beside = self._own.with_suffix(".new")
        beside.write_bytes(orjson.dumps(content))
        beside.replace(self._own)

    def together(self, metrics: Metrics) -> Metrics:
        """Return a new `Metrics`: this process's current numbers and the last written numbers of the others."""
        everybody = Metrics()
        everybody.workers.put(0)
        families = everybody.families
        for name, family in metrics.families.items():
            families[name].merge(family.values)
        for path in sorted(self._path.glob("*.json")):
            if path == self._own:
                continue
            with contextlib.suppress(OSError, ValueError, KeyError):  # unreadable files are skipped
                content = orjson.loads(path.read_bytes())
                is_alive = time.monotonic() - content["at"] < _ALIVE_S
                for name, family in families.items():
                    if is_alive or not isinstance(family, Gauge):
                        family.merge(_values(family, content["families"].get(name, [])))
        return everybody


def _plain(family: Family) -> list[Any]:
    if isinstance(family, Histogram):
        return [[key, series.counts, series.total] for key, series in family.values.items()]
    return [[key, value] for key, value in family.values.items()]


def _values(family: Family, plain: list[Any]) -> dict[tuple[str, ...], Any]:
    if not isinstance(family, Histogram):
        return {tuple(key): value for key, value in plain}
    values = {}
    for key, counts, total in plain:
        series = values[tuple(key)] = Series(family.bounds)
        series.counts, series.total = counts, total
    return values
