"""Shows repeated runs of `sovctl verify --watch`: failures first, and changes of verdicts since the run before.

On a terminal, each run replaces the screen. Elsewhere, the first run is a table, and later runs print changes only.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sovctl.compliance.verdict import Verdict

from .. import output
from .verify import WORST_FIRST, show_verdicts

if TYPE_CHECKING:
    from sovctl.engine.checks.runner.run import RunResult

Verdicts = Mapping[tuple[str, str], tuple[Verdict, str]]
"""Verdict and reason by target and check."""
SHOWN_CHANGES = 12
ABSENT = "absent"
"""Verdict of a target that one of two runs does not contain, because site.yaml changed."""
_CLEAR = "\x1b[H\x1b[2J"


@dataclass(frozen=True)
class Change:
    """A verdict that differs from the run before."""

    time: str
    target: str
    check: str
    before: str
    after: str
    reason: str

    def __str__(self) -> str:
        return f"{self.time}  {self.target}  {self.check}  {self.before} -> {self.after}: {self.reason}"


def verdicts_of(found: RunResult) -> Verdicts:
    """Return the verdicts of a run."""
    rows = zip(found.targets, found.results, strict=True)
    return {(target.name, target.check.id): (result.verdict, result.reason) for target, result in rows}


def changes(before: Verdicts, after: Verdicts, *, time: str) -> list[Change]:
    """Return the changed verdicts, the worst first. A changed reason alone is not a change.

    Args:
        time: UTC, for the changes.
    """
    found = []
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        if (old and old[0]) != (new and new[0]):
            names = (old[0].value if old else ABSENT, new[0].value if new else ABSENT)
            found.append(Change(time, *key, *names, new[1] if new else "not in site.yaml"))
    order = [verdict.value for verdict in WORST_FIRST]
    return sorted(found, key=lambda change: order.index(change.after) if change.after in order else len(order))


class WatchView:
    """Prints the runs of one watch.

    Args:
        every_s: seconds between the starts of two runs.
        as_json: print one JSON line per run.
    """

    def __init__(self, *, every_s: int, as_json: bool) -> None:
        self._every_s, self._as_json = every_s, as_json
        self._before: Verdicts | None = None
        self._recent: deque[Change] = deque(maxlen=SHOWN_CHANGES)

    def show(self, after: Verdicts, *, time: str) -> None:
        """Print a run."""
        is_first = self._before is None
        changed = [] if self._before is None else changes(self._before, after, time=time)
        self._before = after
        self._recent.extend(changed)
        if self._as_json:
            blocking = [_row(key, each) for key, each in after.items() if each[0].blocks]
            document = {
                "time": time,
                "counts": _counts(after),
                "blocking": blocking,
                "changes": [*map(asdict, changed)],
            }
            output.line(json.dumps(document, sort_keys=True, ensure_ascii=False))
        elif sys.stdout.isatty():
            self._screen(after, time)
        elif is_first:
            self._table(after, time)
        else:
            for change in changed:
                output.line(str(change))
        sys.stdout.flush()

    def postpone(self, reason: str, *, time: str) -> None:
        """Print why a run did not take place, such as an apply in progress."""
        output.info(f"{time}  no run: {reason}")

    def _screen(self, after: Verdicts, time: str) -> None:
        sys.stdout.write(_CLEAR)
        self._table(after, time)
        if self._recent:
            output.line()
            output.line(output.style("changes, the newest last", "bold"))
            for change in self._recent:
                style = output.VERDICT_STYLES.get(change.after, "dim")
                output.line(output.style(str(change), style))

    def _table(self, after: Verdicts, time: str) -> None:
        counts = " · ".join(f"{count} {verdict}" for verdict, count in _counts(after).items())
        output.line(f"{time}  {counts}  every {self._every_s} s, Ctrl-C ends")
        if rows := list(_notable(after)):
            output.line()
            show_verdicts(rows)


def _notable(after: Verdicts) -> Iterator[tuple[Verdict, str, str, str]]:
    """Yield the verdicts that an operator should read."""
    for (target, check), (verdict, reason) in after.items():
        if verdict.blocks or verdict is Verdict.WARN:
            yield verdict, target, check, reason


def _row(key: tuple[str, str], each: tuple[Verdict, str]) -> dict[str, str]:
    return {"target": key[0], "check": key[1], "verdict": each[0].value, "reason": each[1]}


def _counts(after: Verdicts) -> dict[str, int]:
    counts = Counter(verdict for verdict, _ in after.values())
    return {verdict.value: counts[verdict] for verdict in WORST_FIRST if counts[verdict]}
