"""The bars of `bench/gateway.py`: what must hold, what was measured, and what was not measured, which is a miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Rows = dict[tuple[str, str, int, int], dict[str, Any]]


@dataclass(frozen=True)
class Bar:
    """One promise.

    Args:
        got: None when it was not measured.
        is_least: the figure must be at least the bar; else at most.
    """

    name: str
    got: float | None
    bar: float
    is_least: bool

    @property
    def holds(self) -> bool:
        """False also when nobody knows."""
        return self.got is not None and (self.got >= self.bar if self.is_least else self.got <= self.bar)


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _of(rows: Rows, name: str, contender: str, shape: str, connections: int, workers: int = 1) -> Any:
    return rows.get((contender, shape, connections, workers), {}).get(name)


def _speed(rows: Rows, contender: str, shape: str, connections: int, workers: int = 1) -> Any:
    return _of(rows, "requests_per_s", contender, shape, connections, workers)


def _added(rows: Rows) -> float | None:
    ours, direct = (_of(rows, "p50_ms", name, "2k3", 1) for name in ("sovctl", "direct"))
    return None if ours is None or direct is None else ours - direct


# name, at least or at most, figure. From the issue this bench was made for, 2026-11; 2,050: WSO2's own figure for its
# gateway on 2 CPUs (wso2/api-platform, gateway/perf/ai-gateway-1.1.0-perf-test-results, 2,006-2,113).
_BARS: tuple[tuple[str, float, bool, Callable[[Rows], float | None]], ...] = (
    (
        "times LiteLLM + Presidio, requests/s, 2 KB/3, 16 connections",
        25,
        True,
        lambda r: _ratio(_speed(r, "sovctl", "2k3", 16), _speed(r, "litellm", "2k3", 16)),
    ),
    (
        "times LLM-Shield-Proxy, requests/s, 2 KB/3, 16 connections",
        6,
        True,
        lambda r: _ratio(_speed(r, "sovctl", "2k3", 16), _speed(r, "shield", "2k3", 16)),
    ),
    ("CPU ms per request, 2 KB/3", 0.8, False, lambda r: _of(r, "cpu_ms", "sovctl", "2k3", 16)),
    ("CPU ms per request, 20 KB/30", 5, False, lambda r: _of(r, "cpu_ms", "sovctl", "20k30", 16)),
    ("CPU ms of a stream of 40 chunks, 2 KB/3", 2, False, lambda r: _of(r, "cpu_ms", "sovctl", "2k3s", 16)),
    ("ms added at p50, 2 KB/3, 1 connection", 1, False, _added),
    (
        "times one worker with two, 2 KB/3",
        1.8,
        True,
        lambda r: _ratio(_speed(r, "sovctl", "2k3", 64, 2), _speed(r, "sovctl", "2k3", 64)),
    ),
    (
        "requests/s on 2 CPUs beside upstream and clients, 1 KiB in, 10 KiB out",
        2050,
        True,
        lambda r: _speed(r, "sovctl", "wso2", 64, 2),
    ),
)


def judge(result: dict[str, Any]) -> list[Bar]:
    """Every bar against the rows of a result."""
    rows = {(r["contender"], r["shape"], r["connections"], r["workers"]): r for r in result["rows"]}
    found = [Bar(name, figure(rows), bar, is_least) for name, bar, is_least, figure in _BARS]
    held = result["round_trip"].get("sovctl", {}).get("held_back")
    return [*found, Bar("events of 40 held back that cannot be part of a token", held, 0, False)]


def show(result: dict[str, Any]) -> bool:
    """Print what left, what came back, and the bars; True when one is missed."""
    for name, seen in result["round_trip"].items():
        print(
            f"{name:12}{seen['left_in_clear']} of {seen['identifiers']} identifiers left in clear, "
            f"{seen['came_back']} came back, "
            f"{seen['held_back']} of 40 events held back{', over TLS' if seen['tls'] else ''}"
        )
    print(f"two workers: {result['two_workers']}; network: {result['network']}")
    found = judge(result)
    for bar in found:
        got = "not measured" if bar.got is None else f"{bar.got:.3g}"
        print(
            f"{'ok' if bar.holds else 'MISSED':7}{bar.name}: {got} "
            f"(at {'least' if bar.is_least else 'most'} {bar.bar:g})"
        )
    return not all(bar.holds for bar in found)
