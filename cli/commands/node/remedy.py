"""`sovctl node remedy`: carries out the next remedy of a sick node."""

from __future__ import annotations

from typing import Annotated

import typer

from ... import output
from .opening import DEFAULT, Reason, Site, State

EPILOG = "Example: sovctl node remedy n1 --remedy reboot --reason 'Xid 79' --yes"


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("remedy", epilog=EPILOG)(remedy)


def remedy(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a suspect node, or of one in repair.")],
    reason: Reason,
    wanted: Annotated[
        str | None,
        typer.Option("--remedy", help="restart-application, reset-gpu, reboot, ac-cycle or isolate."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Carry it out without confirmation.")] = False,
    allow_downtime: Annotated[
        list[str] | None,
        typer.Option("--allow-downtime", help="Let this pool, or `gateway`, go below its min_serving. Repeatable."),
    ] = None,
    site: Site = DEFAULT,
    state: State = None,
) -> None:
    """Carry out the remedy that the last assessment chose for a node, or the one of `--remedy`."""
    from functools import partial

    from sovctl.engine.apply import remedy as remedies
    from sovctl.engine.apply.progress import Progress
    from sovctl.engine.checks.runner.gate import CheckGate
    from sovctl.engine.lifecycle.remedies import Remedy
    from sovctl.engine.plan.remedies import BY_HAND
    from sovctl.engine.site.site import Site as OpenedSite
    from sovctl.support.errors import InputError

    from ...views.plan import show_plan

    opened = OpenedSite.open(site, state=state, touches_nodes=True)
    chosen = remedies.chosen_remedy(opened, node, wanted)
    if chosen is Remedy.ISOLATE:
        _ask(f"quarantine {node}?", yes=yes)
        remedies.isolate(opened, node, reason=reason)
        output.line(f"{node}: quarantined; {BY_HAND[chosen]}; next: sovctl plan")
        return
    treated = remedies.treatment(opened, node, chosen)
    show_plan(treated.plan)
    if treated.by_hand:
        output.info(f"by hand: {treated.by_hand}")
    if not yes and not output.can_ask():
        raise InputError("no terminal to ask for confirmation", hint="add --yes")
    _ask(f"carry out {chosen} on {node}?", yes=yes)

    def report(step: Progress) -> None:
        output.info(f"{step.node:8}{step.text}" if step.node else output.style(step.text, "bold"))

    run_id = remedies.carry_out(
        opened,
        treated,
        reason=reason,
        allow_downtime=allow_downtime or (),
        gate=partial(CheckGate, opened),
        report=report,
    )
    output.line(f"{node}: {chosen} done, run {run_id}; next: sovctl verify, then: sovctl node assess")


def _ask(question: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise typer.Exit
