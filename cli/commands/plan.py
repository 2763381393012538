"""`sovctl plan`: show what `sovctl apply` would change, and why. Changes nothing on the nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sovctl.support.errors import ExitCode, InputError

from .. import output
from ..observing import observe

EPILOG = """Examples: sovctl plan site.yaml  ·  sovctl plan --node n1 --details  ·  sovctl plan --json
  ·  sovctl plan examples/bank-hybrid/site.yaml --facts examples/bank-hybrid/facts"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(plan)


def plan(
    site: Path = typer.Argument(Path("site.yaml"), help="Path of site.yaml."),
    state: Path | None = typer.Option(None, "--state", help="State folder; default: .sovctl next to SITE."),
    facts: Path | None = typer.Option(
        None, "--facts", help="Plan from captures in this folder instead of the nodes; the plan is not saved."
    ),
    out: Path | None = typer.Option(None, "--out", help="Also save the plan to this file."),
    no_save: bool = typer.Option(False, "--no-save", help="Do not replace the saved plan."),
    node: str | None = typer.Option(
        None, "--node", help="Show only the changes of this node; the plan also covers others."
    ),
    limit: list[str] = typer.Option(
        [], "--limit", help="Observe and plan only these nodes: names or patterns such as 'dgx-*'; repeatable."
    ),
    target: list[str] = typer.Option(
        [], "--target", help="Plan only these resources, such as package or 'package/nvidia-*'; repeatable."
    ),
    details: bool = typer.Option(False, "--details", help="Show every changed key with its old and new value."),
    as_json: bool = typer.Option(False, "--json", help="Print the plan as one JSON document."),
    detailed_exitcode: bool = typer.Option(
        False, "--detailed-exitcode", help="Exit with 2 instead of 0 if the plan has changes."
    ),
) -> int:
    """Compare every node with site.yaml. Show and save the changes, their order and reasons."""
    from datetime import UTC, datetime

    from sovctl.engine.plan.order import RESOURCE_TYPES
    from sovctl.engine.plan.scope import chosen
    from sovctl.engine.site.site import Site
    from sovctl.engine.spec import UnmanagedRule

    from ..views.plan import show_plan

    if facts is not None and out is not None:
        raise InputError(
            "--facts and --out exclude each other", hint="remove --facts: a plan from captures cannot be saved"
        )
    opened = Site.open(site, state=state, touches_nodes=facts is None)
    names = [each.name for _, each in opened.spec.nodes()]
    if node is not None and node not in names:
        raise InputError(f"expected one of the nodes {', '.join(names)}, got {node!r}", where="--node")
    context = opened.context()
    scope = chosen(context, limit=limit, targets=target, kinds=[kind.name for kind in RESOURCE_TYPES])
    if facts is not None:
        recorded = opened.recorded(facts)
        covered = {name: each for name, each in recorded.items() if scope.has_node(name)}
        made = opened.plan(context, covered, scope=scope)
    else:
        observed, unknown = observe(opened, context, scope)
        made = opened.plan(context, observed, scope=scope, unknown=unknown)
        opened.record_waivers(datetime.now(UTC).date())
        opened.save_plan(made, out=out, no_save=no_save)
    if as_json:
        body: dict[str, Any] = made.body()
        output.document({**body, "sha256": made.sha256})
    else:
        show_plan(made, only=node, details=details)
        if facts is not None:
            output.info("planned from captures; the plan was not saved and cannot be applied")
        elif made.refusals:
            output.info("sovctl apply refuses this plan")
        elif made.changes and not no_save:
            output.info(f"saved to {opened.state.plan_file}; apply it with: sovctl apply {site}")
    for name in sorted(context.unavailable.intersection(names)):
        output.info(f"{name} serves no replica: sovctl node show {name}")
    if made.unknown:
        output.info(f"{len(made.unknown)} of {len(made.unknown) + len(made.facts_sha256)} nodes were not planned")
        return ExitCode.UNREACHABLE
    if made.unmanaged and opened.spec.unmanaged is UnmanagedRule.REFUSE:
        output.info("apply fails until the unmanaged things are gone (site.yaml: unmanaged)")
        return ExitCode.FAILURE
    return ExitCode.CHANGES if detailed_exitcode and made.changes else ExitCode.OK
