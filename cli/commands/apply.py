"""`sovctl apply`: apply the saved plan."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.site.site import Site

EPILOG = """Examples: sovctl apply site.yaml  ·  sovctl apply site.yaml --yes  ·  sovctl apply site.yaml --resume"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(apply)


def apply(
    site: Path = typer.Argument(Path("site.yaml"), help="Path of site.yaml."),
    state: Path | None = typer.Option(None, "--state", help="State folder; default: .sovctl next to SITE."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Apply without confirmation."),
    resume: bool = typer.Option(False, "--resume", help="Continue an apply that did not finish."),
    rollback: bool = typer.Option(
        False, "--rollback", help="Plan and apply the site description that was applied before this site.yaml."
    ),
    allow_downtime: list[str] = typer.Option(
        [], "--allow-downtime", help="Let this pool, or `gateway`, go below its min_serving. Repeatable."
    ),
    break_lock: bool = typer.Option(
        False, "--break-lock", help="Replace the locks of other controllers on nodes; use it only if they are gone."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as one JSON document."),
) -> None:
    """Apply the saved plan in waves. Fails if the site changed after it was made."""
    from sovctl.engine.apply.availability.consent import check_consent
    from sovctl.engine.apply.progress import Progress
    from sovctl.engine.apply.run import apply as apply_plan
    from sovctl.engine.apply.stale import check_bindings
    from sovctl.engine.checks.runner.gate import CheckGate
    from sovctl.engine.site.site import Site
    from sovctl.support.errors import InputError

    from ..views.plan import summary

    opened = Site.open(site, state=state, touches_nodes=True)
    if rollback:
        opened = _rolled_back(opened, site, state, resume=resume)
    plan = opened.saved_plan()
    output.info(f"plan {plan.sha256[:12]} of {plan.created}: {summary(plan)}")
    if not plan.changes and not resume:
        check_bindings(opened, opened.context(), plan, resume=False, now=datetime.now(UTC))
        if as_json:
            output.document({"run": None, "plan_sha256": plan.sha256, "done": 0, "seconds": 0.0})
        else:
            output.line("nothing to do: the plan has no changes")
        return
    check_consent(plan, allow_downtime)
    if not yes:
        if not output.can_ask():
            raise InputError("no terminal to ask for confirmation", hint="add --yes")
        if not typer.confirm("apply this plan?", err=True):
            raise typer.Exit
    started = time.monotonic()

    def report(step: Progress) -> None:
        output.info(
            f"[{time.monotonic() - started:5.0f} s] {step.node:8}{step.text}"
            if step.node
            else f"[{time.monotonic() - started:5.0f} s] {output.style(step.text, 'bold')}"
        )

    outcome = apply_plan(
        opened,
        shown_sha256=plan.sha256,
        resume=resume,
        allow_downtime=allow_downtime,
        break_lock=break_lock,
        gate=partial(CheckGate, opened),
        report=report,
    )
    if as_json:
        output.document(
            {
                "run": outcome.run_id,
                "plan_sha256": outcome.plan_sha256,
                "done": outcome.done,
                "seconds": round(outcome.seconds, 1),
            }
        )
    else:
        output.line(
            f"applied and verified {outcome.done} changes in {outcome.seconds:.0f} s; next: sovctl verify {site}"
        )
    if rollback:
        output.info(f"{site} still has the later description; the applied one is in {opened.state.applied}")


def _rolled_back(opened: Site, site: Path, state: Path | None, *, resume: bool) -> Site:
    """Return the site with its earlier description. Unless an apply is resumed, plan it, show and save the plan."""
    from sovctl.engine.site.applied import check_locks, of_plan, previous
    from sovctl.engine.site.site import Site

    from ..views.plan import show_plan

    if resume:
        applied, data = of_plan(opened.state.applied, spec_sha256=opened.saved_plan().spec_sha256)
    else:
        applied, data = previous(opened.state.applied, current_spec_sha256=opened.loaded.spec_sha256)
    earlier = Site.open(site, state=state, touches_nodes=True, data=data)
    context = earlier.context()
    check_locks(applied, context)
    output.info(f"rollback to the site description of run {applied.run}")
    if not resume:
        observed, unknown = earlier.observe_reachable(context, None, report=lambda text: output.progress(text))
        output.progress_done()
        made = earlier.plan(context, observed, unknown=unknown)
        earlier.save_plan(made)
        show_plan(made)
    return earlier
