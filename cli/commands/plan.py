"""`sovctl plan`: what would change, and why; nothing is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sovctl.support.errors import ExitCode, InputError

from .. import output

EPILOG = """Examples: sovctl plan site.yaml  ·  sovctl plan --node n1 --details  ·  sovctl plan --json
  ·  sovctl plan examples/bank-hybrid/site.yaml --facts examples/bank-hybrid/facts"""


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""
    app.command(epilog=EPILOG)(plan)


def plan(
    site: Path = typer.Argument(Path("site.yaml"), help="The site description."),
    state: Path | None = typer.Option(None, "--state", help="State folder; .sovctl beside the site file if not given."),
    facts: Path | None = typer.Option(
        None, "--facts", help="Plan from captures in this folder instead of asking the nodes; nothing is saved."
    ),
    out: Path | None = typer.Option(None, "--out", help="Save the plan here as well."),
    no_save: bool = typer.Option(False, "--no-save", help="Show it only; the saved plan stays as it is."),
    node: str | None = typer.Option(None, "--node", help="Show only this node's changes; the plan is of all."),
    details: bool = typer.Option(False, "--details", help="Every changed key with before and after."),
    as_json: bool = typer.Option(False, "--json", help="The whole plan as one JSON document."),
    detailed_exitcode: bool = typer.Option(
        False, "--detailed-exitcode", help="Exit 2 instead of 0 when there is something to change."
    ),
) -> int:
    """Observe every node, compare with site.yaml, and show and save what would change, in which order and why."""
    from sovctl.engine.plan import file
    from sovctl.engine.site.site import Site

    from ..views.plan import show_plan

    if facts is not None and out is not None:
        raise InputError("expected --facts or --out, got both", hint="only a plan of observed nodes is ever saved")
    opened = Site.open(site, state=state, touches_nodes=facts is None)
    names = [each.name for _, each in opened.spec.nodes()]
    if node is not None and node not in names:
        raise InputError(f"expected one of the nodes {', '.join(names)}, got {node!r}", where="--node")
    context = opened.context()
    if facts is not None:
        made = opened.plan(context, opened.recorded(facts))
    else:
        observed = opened.observe(context, report=lambda text: output.progress(f"observed {text}"))
        output.progress_done()
        made = opened.plan(context, observed)
        if not no_save:
            file.write(made, opened.state.plan_file, opened.plan_key())
        if out is not None:
            file.write(made, out, opened.plan_key())
    if as_json:
        body: dict[str, Any] = made.body()
        output.document({**body, "sha256": made.sha256})
    else:
        show_plan(made, only=node, details=details)
        if facts is not None:
            output.info("planned from captures; nothing was saved and nothing can be applied from it")
        elif made.changes and not no_save:
            output.info(f"saved to {opened.state.plan_file}; carry it out with: sovctl apply {site}")
    return ExitCode.CHANGES if detailed_exitcode and made.changes else ExitCode.OK
