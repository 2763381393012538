"""`sovctl scaling run`: decisions inside the standing plan, carried out or only printed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output
from .scaling_plan import State, open_scaled
from .scaling_simulate import DEFAULT, AsJson, SiteFile

if TYPE_CHECKING:
    from sovctl.engine.scaling.decision import Decision


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl scaling`."""
    group.command(
        epilog="Examples: sovctl scaling run site.yaml --dry-run  ·  sovctl scaling run --dry-run --metrics day.jsonl"
    )(run)


def run(
    site: SiteFile = DEFAULT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print decisions; change and record nothing.")] = False,
    metrics: Annotated[
        Path | None, typer.Option("--metrics", metavar="FILE", help="With --dry-run: recorded metrics, JSON lines.")
    ] = None,
    decisions: Annotated[
        int, typer.Option("--decisions", min=0, help="Number of decisions; 0: until it is ended.")
    ] = 0,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Decide every `scaling.interval_s` seconds from the metrics of Prometheus, inside the approved standing plan.

    Each move is a record in the ledger before its first step. While another command holds the site's lock, no decision
    is made. A dry run with recorded metrics needs no standing plan.
    """
    from sovctl.support.errors import InputError

    if metrics is not None and not dry_run:
        raise InputError("recorded metrics move no replicas", where="--metrics", hint="add --dry-run")
    if metrics is not None:
        _replay(site, state, metrics, as_json=as_json)
        return
    _run(site, state, dry_run=dry_run, decisions=decisions, as_json=as_json)


def _run(site: Path, state: Path | None, *, dry_run: bool, decisions: int, as_json: bool) -> None:
    import time
    from itertools import count

    from sovctl.engine.standing_plan.actuator import NodeActuator
    from sovctl.engine.standing_plan.metrics import Prometheus
    from sovctl.engine.standing_plan.run import ScalingRun
    from sovctl.support.errors import Busy, InputError

    opened = open_scaled(site, state, touches_nodes=not dry_run)
    scaling, url = opened.spec.scaling, opened.spec.sizing.autoscaling.prometheus_url
    assert scaling is not None
    if url is None:
        raise InputError("no Prometheus", where="sizing.autoscaling.prometheus_url", hint="set it in site.yaml")
    actuator = None if dry_run else NodeActuator.of(opened)
    running = ScalingRun(opened, metrics=Prometheus(str(url)), actuator=actuator, clock=_now)
    for number in count(1):
        try:
            with opened.state.exclusive("scaling run"):
                step = running.once()
            _print(step.time, step.decision, as_json=as_json)
        except Busy as error:
            output.info(f"{_now():%Y-%m-%dT%H:%M:%SZ}  no decision: {error.message}")
        if number == decisions:
            return
        time.sleep(scaling.interval_s)


def _now() -> datetime:
    return datetime.now(UTC)


def _replay(site: Path, state: Path | None, file: Path, *, as_json: bool) -> None:
    from sovctl.engine.standing_plan.metrics import read_recording
    from sovctl.engine.standing_plan.run import replay
    from sovctl.engine.standing_plan.terms import terms_of

    opened = open_scaled(site, state)
    terms = terms_of(opened.spec, opened.loaded.catalog)
    for now, decision in replay(terms, read_recording(file)):
        _print(now, decision, as_json=as_json)


def _print(now: datetime, decision: Decision, *, as_json: bool) -> None:
    """Print one decision; without moves and alerts, a line on standard error."""
    import json

    if as_json:
        moves = [{"move": str(each), "reason": each.reason} for each in decision.moves]
        value = {"time": f"{now:%Y-%m-%dT%H:%M:%SZ}", "moves": moves}
        output.line_now(json.dumps({**value, "alerts": dict(decision.alerts), "held": dict(decision.held)}))
        return
    for each in decision.moves:
        output.line_now(f"{now:%Y-%m-%dT%H:%M:%SZ}  {each}  ({each.reason})")
    for pool, text in sorted(decision.alerts.items()):
        output.line_now(f"{now:%Y-%m-%dT%H:%M:%SZ}  ALERT {pool}: {text}")
    if not decision.moves and not decision.alerts:
        held = "; ".join(f"{pool}: {text}" for pool, text in sorted(decision.held.items()))
        output.info(f"{now:%Y-%m-%dT%H:%M:%SZ}  no move ({held})")
