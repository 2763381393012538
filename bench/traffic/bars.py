"""Targets of `bench/gateway.py`. A target without a measurement counts as missed.

Targets in milliseconds depend on the machine. They are compared with the measured value. In addition, an estimate for
the reference machine is printed, from the times of other programs on both machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from .conversations import KINDS, TURNS

Rows = dict[tuple[str, str, int, int], dict[str, Any]]


@dataclass(frozen=True)
class Bar:
    """One target.

    Args:
        got: measured value; None if not measured.
        is_least: whether the value must be at least `bar`, instead of at most.
        there: estimate of `got` on the reference machine; None for ratios, or if unknown.
    """

    name: str
    got: float | None
    bar: float
    is_least: bool
    there: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the target is met; False if not measured."""
        return self.got is not None and (self.got >= self.bar if self.is_least else self.got <= self.bar)


_TURNS = 1.5  # a turn that repeats nine others / the first turn (issue 15)
_THERE_MS = {"asgi-json": 0.097, "shield": 5.9, "litellm": 25.9}
"""CPU ms per request of other programs on the reference machine: 2 KB/3, 16 connections, two shared cores, Python 3.11,
measured 2026-11 (LLM-Shield-Proxy 5.3 to 6.5). Kernel work dominates in a pass-through proxy, and user code in a
gateway that inspects texts. Machines differ in both, therefore the median of all three is used."""


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _of(rows: Rows, name: str, contender: str, shape: str, connections: int, workers: int = 1) -> Any:
    return rows.get((contender, shape, connections, workers), {}).get(name)


def _speed(rows: Rows, contender: str, shape: str, connections: int, workers: int = 1) -> Any:
    return _of(rows, "requests_per_s", contender, shape, connections, workers)


def slowdowns(rows: Rows) -> dict[str, float]:
    """Return CPU time on this machine / CPU time on the reference machine, by program."""
    found = {name: _ratio(_of(rows, "cpu_ms", name, "2k3", 16), there_ms) for name, there_ms in _THERE_MS.items()}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


# Name, target, is minimum, depends on the machine, figure. Targets of 2026-11.
_BARS: tuple[tuple[str, float, bool, bool, Callable[[Rows], float | None]], ...] = (
    (
        "times LiteLLM + Presidio, requests/s, 2 KB/3, 16 connections",
        25,
        True,
        False,
        lambda r: _ratio(_speed(r, "sovctl", "2k3", 16), _speed(r, "litellm", "2k3", 16)),
    ),
    (
        "times LLM-Shield-Proxy, requests/s, 2 KB/3, 16 connections",
        6,
        True,
        False,
        lambda r: _ratio(_speed(r, "sovctl", "2k3", 16), _speed(r, "shield", "2k3", 16)),
    ),
    ("CPU ms per request, 20 KB/30", 5, False, True, lambda r: _of(r, "cpu_ms", "sovctl", "20k30", 16)),
    (
        "times one worker with two, 2 KB/3",
        1.8,
        True,
        False,
        lambda r: _ratio(_speed(r, "sovctl", "2k3", 64, 2), _speed(r, "sovctl", "2k3", 64)),
    ),
)


def _rows(result: dict[str, Any]) -> Rows:
    return {(r["contender"], r["shape"], r["connections"], r["workers"]): r for r in result["rows"]}


def judge(result: dict[str, Any]) -> list[Bar]:
    """Compare the rows of a result with every target."""
    rows = _rows(result)
    slowdown = median(ratios) if (ratios := slowdowns(rows).values()) else None
    found = []
    for name, bar, is_least, is_machines, figure in _BARS:
        got = figure(rows)
        there = got / slowdown if is_machines and got and slowdown else None
        found.append(Bar(name, got, bar, is_least, there))
    held = result["round_trip"].get("sovctl", {}).get("held_back")
    found.append(Bar("events of 40 withheld that cannot be part of a token", held, 0, False))
    return [*found, *judge_turns(result.get("turns", []))]


def judge_turns(turns: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """Compare the cost of the last turn of each kind of conversation with the first."""
    ratios = {each["kind"]: each["ratio"] for each in turns}
    return [Bar(f"times turn 1, CPU ms of turn {TURNS}, {kind}", ratios.get(kind), _TURNS, False) for kind in KINDS]


def show(result: dict[str, Any]) -> bool:
    """Print the round trip and the targets; return whether a target is missed."""
    for name, seen in result["round_trip"].items():
        print(
            f"{name:12}{seen['left_in_clear']} of {seen['identifiers']} identifiers left in clear, "
            f"{seen['came_back']} came back, "
            f"{seen['held_back']} of 40 events withheld{', over TLS' if seen['tls'] else ''}"
        )
    print(f"two workers: {result['two_workers']}; network: {result['network']}")
    print(f"waking a process on another core takes {result['machine']['wake_us']} us")
    found = judge(result)
    if ratios := slowdowns(_rows(result)):
        shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        print(f"reference: estimate for the reference machine; CPU time here / CPU time there: {shown}; their median")
    return show_bars(found)


def show_bars(found: Sequence[Bar]) -> bool:
    """Print targets; return whether one is missed."""
    for bar in found:
        got = "not measured" if bar.got is None else f"{bar.got:.4g}"
        there = "" if bar.there is None else f"; reference {bar.there:.4g}"
        print(
            f"{'ok' if bar.holds else 'MISSED':7}{bar.name}: {got} "
            f"(at {'least' if bar.is_least else 'most'} {bar.bar:g}){there}"
        )
    return not all(bar.holds for bar in found)
