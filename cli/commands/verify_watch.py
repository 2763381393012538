"""`sovctl verify --watch`: repeats the quick checks until Ctrl-C, and shows changes of verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..views.verify_watch import WatchView, verdicts_of


def check_options(level: str | None, allow_downtime: list[str]) -> None:
    """Check the options that cannot be combined with `--watch`.

    Raises:
        InputError: another level than `quick`, or consent to downtime, which quick checks do not need.
    """
    from sovctl.support.errors import InputError

    if level not in (None, "quick"):
        raise InputError(f"expected --level quick with --watch, got {level}", where="--watch")
    if allow_downtime:
        raise InputError("expected --watch without --allow-downtime, got both", where="--watch")


def watch(
    site: Path,
    *,
    state: Path | None,
    nodes: list[str],
    checks: list[str],
    jobs: int | None,
    every_s: int,
    as_json: bool,
    rounds: int | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Repeat the quick checks. Stores no evidence. Reads site.yaml again for each run.

    Args:
        every_s: seconds between the starts of two runs; a longer run is followed by the next without pause.
        rounds: number of runs; None: until Ctrl-C.

    Returns:
        Exit code of the last run.
    """
    from datetime import UTC, datetime

    from sovctl.engine.checks.model.check import Level
    from sovctl.engine.checks.runner.run import run
    from sovctl.engine.site.site import Site
    from sovctl.support.errors import Busy, ExitCode

    view, code, number = WatchView(every_s=every_s, as_json=as_json), ExitCode.OK, 0
    while rounds is None or number < rounds:
        number += 1
        begun, now = time.monotonic(), datetime.now(UTC)
        moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            opened = Site.open(site, state=state, touches_nodes=True)
            with opened.state.exclusive("verify"):
                found = run(opened, today=now.date(), nodes=nodes, checks=checks, level=Level.QUICK, jobs=jobs)
        except Busy as error:
            view.postpone(str(error), time=moment)
        else:
            if found.interrupted:
                return ExitCode.INTERRUPTED
            view.show(verdicts_of(found), time=moment)
            code = ExitCode.FAILURE if any(each.verdict.blocks for each in found.results) else ExitCode.OK
        if rounds is None or number < rounds:
            pause(max(0.0, every_s - (time.monotonic() - begun)))
    return code
