"""Samples of vLLM's metrics: from Prometheus, and from recorded lines.

Prometheus repeats an old sample for five minutes. Each load is therefore used only if its own timestamp is at most one
step old. Labels: `job`, `pool`, `replica` (index of the replica), as in docs/monitoring.md.
API: Prometheus 2.53, HTTP API, range queries, read 2026-11-28.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from sovctl.support.errors import InputError, SovctlError

from ..monitoring.labels import POOLS
from ..scaling.loads import Load, Sample
from ..scaling.positions import ReplicaId
from .terms import replica_id

_TIMEOUT_S = 10.0
_MAX_BYTES = 64 << 20
_BY = "by (pool, replica)"
_JOB = f'{{job="{POOLS}"}}'
_QUERIES = {
    "kv_usage": f"max {_BY} (vllm:kv_cache_usage_perc{_JOB})",
    "waiting": f"sum {_BY} (vllm:num_requests_waiting{_JOB})",
    "running": f"sum {_BY} (vllm:num_requests_running{_JOB})",
    "timestamp": f"min {_BY} (timestamp(vllm:num_requests_running{_JOB}))",
}


class Metrics(Protocol):
    """Source of samples."""

    def samples(self, begin_s: float, end_s: float, step_s: float) -> list[Sample]:
        """Return samples in the order of time.

        Raises:
            SovctlError: the source does not answer; no replica must move then.
        """


class Prometheus:
    """The site's Prometheus.

    Args:
        url: `sizing.autoscaling.prometheus_url`.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._open = build_opener(ProxyHandler({}))  # a proxy of the environment is outside of the site

    def samples(self, begin_s: float, end_s: float, step_s: float) -> list[Sample]:
        """Return one sample per step."""
        found: dict[tuple[float, ReplicaId], dict[str, float]] = defaultdict(dict)
        for name, query in _QUERIES.items():
            for replica, time_s, value in self._range(query, begin_s, end_s, step_s):
                found[time_s, replica][name] = value
        loads: dict[float, dict[ReplicaId, Load]] = defaultdict(dict)
        for (time_s, replica), values in found.items():
            if set(values) == set(_QUERIES) and time_s - values["timestamp"] <= step_s:
                loads[time_s][replica] = Load(values["kv_usage"], values["waiting"], values["running"])
        return [Sample(time_s, loads[time_s]) for time_s in sorted(loads)]

    def _range(
        self, query: str, begin_s: float, end_s: float, step_s: float
    ) -> Iterator[tuple[ReplicaId, float, float]]:
        words = urlencode({"query": query, "start": f"{begin_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:g}"})
        try:
            with self._open.open(f"{self._url}/api/v1/query_range?{words}", timeout=_TIMEOUT_S) as response:
                value = json.loads(response.read(_MAX_BYTES))
            rows = value["data"]["result"]
            yield from [
                (ReplicaId(str(row["metric"]["pool"]), int(row["metric"]["replica"])), float(time_s), float(number))
                for row in rows
                for time_s, number in row["values"]
            ]
        except (URLError, HTTPException, OSError) as error:
            raise self._unusable(f"no answer ({type(error).__name__})") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._unusable(f"unexpected answer ({type(error).__name__})") from None

    def _unusable(self, reason: str) -> SovctlError:
        return SovctlError(
            f"Prometheus: {reason}; no replica moves without metrics",
            where=self._url,
            hint="see sizing.autoscaling.prometheus_url, and docs/monitoring.md for labels",
        )


@dataclass(frozen=True)
class RecordedLine:
    """One recorded decision time: the serving replicas, and a sample.

    Args:
        serving: replicas whose metrics are required.
    """

    serving: frozenset[ReplicaId]
    sample: Sample


def encode_line(serving: list[ReplicaId], sample: Sample) -> str:
    """Return a line of a recording."""
    value = {
        "time": datetime.fromtimestamp(sample.time_s, UTC).isoformat(timespec="milliseconds"),
        "serving": [str(each) for each in serving],
        "loads": {
            str(replica): {"kv_usage": each.kv_usage, "waiting": each.waiting, "running": each.running}
            for replica, each in sorted(sample.loads.items())
        },
    }
    return json.dumps(value, sort_keys=True) + "\n"


def read_recording(path: Path) -> list[RecordedLine]:
    """Return the lines of a recording, in the order of time.

    Raises:
        InputError: unreadable or invalid; names the line.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable recording ({type(error).__name__})", where=str(path)) from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_parse(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                "invalid line of a recording",
                where=f"{path}:{number}",
                hint="a line has time, serving and loads; docs/scaling.md shows one",
            ) from None
    if any(one.sample.time_s >= two.sample.time_s for one, two in pairwise(found)):
        raise InputError("lines of a recording are not in the order of time", where=str(path))
    return found


def _parse(value: Mapping[str, Any]) -> RecordedLine:
    loads = {
        replica_id(name): Load(float(each["kv_usage"]), float(each["waiting"]), float(each["running"]))
        for name, each in value["loads"].items()
    }
    time = datetime.fromisoformat(value["time"])
    if time.tzinfo is None:
        raise ValueError("no time zone")
    return RecordedLine(frozenset(replica_id(each) for each in value["serving"]), Sample(time.timestamp(), loads))
