"""Several worker processes, one scrape: each writes what it counted into a folder once a second.

Whichever worker is scraped adds the others' files to its own numbers, so the answer does not depend on whom the kernel
gave the connection to, and a scrape interval above a second never sees a counter go back. A worker that died goes on
counting with what it wrote last (a killed one loses its last second), so a restart is no reset; its gauges end.

Chosen against a label per worker, which makes every series n series and every restart look like a reset, and against
prometheus_client's multiprocess files, which are written at every count, on the request's path.

    folder = MetricsFolder(Path("/run/sovctl/metrics"))
    folder.write(metrics)            # once a second
    folder.together(metrics)         # a Metrics with everybody's numbers
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
_ALIVE_S = 5.0  # a worker that has not written for so long is gone or stuck; its gauges say nothing any more


class MetricsFolder:
    """The workers' files.

    Args:
        path: of this gateway alone, empty when its first worker starts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = path / f"{os.getpid()}-{time.monotonic_ns()}.json"  # a process id alone comes back

    def write(self, metrics: Metrics) -> None:
        """Tell the others what this process counted.

        Raises:
            OSError: the folder can't be written.
        """
        content = {
            "at": time.monotonic(),  # one clock for all processes of a machine
            "families": {family.name: _plain(family) for family in metrics.families.values()},
        }
        beside = self._own.with_suffix(".new")
        beside.write_bytes(orjson.dumps(content))
        beside.replace(self._own)

    def together(self, metrics: Metrics) -> Metrics:
        """A new `Metrics`: this process's numbers as they are now, and the others' as they wrote them last."""
        everybody = Metrics()
        everybody.workers.put(0)
        families = everybody.families
        for name, family in metrics.families.items():
            families[name].merge(family.values)
        for path in sorted(self._path.glob("*.json")):
            if path == self._own:
                continue
            with contextlib.suppress(OSError, ValueError, KeyError):  # what can't be read is not counted
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
