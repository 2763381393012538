"""`sovctl apply`: carry out the saved plan."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from .. import output

EPILOG = """Examples: sovctl apply site.yaml  ·  sovctl apply site.yaml --yes  ·  sovctl apply site.yaml --resume"""


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""
    app.command(epilog=EPILOG)(apply)


def apply(
    site: Path = typer.Argument(Path("site.yaml"), help="The site description whose plan is carried out."),
    state: Path | None = typer.Option(None, "--state", help="State folder; .sovctl beside the site file if not given."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
    resume: bool = typer.Option(False, "--resume", help="Go on with an apply that did not finish."),
    as_json: bool = typer.Option(False, "--json", help="The outcome as one JSON document."),
) -> None:
    """Carry out exactly what the saved plan says, canary first; refuses a plan that no longer holds."""
    from sovctl.engine.apply.run import Progress
    from sovctl.engine.apply.run import apply as carry_out
    from sovctl.engine.site.site import Site
    from sovctl.support.errors import InputError

    from ..views.plan import summary

    opened = Site.open(site, state=state, touches_nodes=True)
    plan = opened.saved_plan()
    output.info(f"plan {plan.sha256[:12]} of {plan.created}: {summary(plan)}")
    if not yes:
        if not output.can_ask():
            raise InputError("expected --yes where there is no terminal to ask on")
        if not typer.confirm("carry it out?", err=True):
            raise typer.Exit
    started = time.monotonic()

    def report(step: Progress) -> None:
        output.info(
            f"[{time.monotonic() - started:5.0f} s] {step.node:8}{step.text}"
            if step.node
            else f"[{time.monotonic() - started:5.0f} s] {output.style(step.text, 'bold')}"
        )

    outcome = carry_out(opened, shown_sha256=plan.sha256, resume=resume, report=report)
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
            f"done: {outcome.done} changes in {outcome.seconds:.0f} s, each observed again; prove it with: "
            f"sovctl verify {site}"
        )
