"""`sovctl scaling plan|approve|revoke|status`: standing plans, requested and approved by two persons."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output
from .scaling_simulate import DEFAULT, AsJson, SiteFile

if TYPE_CHECKING:
    from sovctl.engine.site.site import Site

State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")]
Key = Annotated[Path, typer.Option("--key", help="Private key of the person, mode 0600.")]


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl scaling`."""
    example = "Example: sovctl scaling plan site.yaml --expires 2027-02-28 --key ~/anna.key --name anna.example"
    group.command(epilog=example)(plan)
    group.command(epilog="Example: sovctl scaling approve site.yaml --key ~/officer.key")(approve)
    group.command(epilog="Example: sovctl scaling revoke site.yaml --reason 'maintenance of rack 3'")(revoke)
    group.command(epilog="Example: sovctl scaling status site.yaml --json")(status)


def open_scaled(site: Path, state: Path | None, *, touches_nodes: bool = False) -> Site:
    """Open a site with the section `scaling`.

    Raises:
        InputError: the section is absent.
    """
    from sovctl.engine.site.site import Site

    from .scaling_simulate import check_section

    opened = Site.open(site / "site.yaml" if site.is_dir() else site, state=state, touches_nodes=touches_nodes)
    check_section(opened.loaded)
    return opened


def plan(
    expires: Annotated[str, typer.Option("--expires", metavar="DAY", help="Last day of effect, such as 2027-02-28.")],
    key: Annotated[Path, typer.Option("--key", help="Private key of the person, mode 0600; created if absent.")],
    name: Annotated[str, typer.Option("--name", help="Name of the person in the public key, such as anna.example.")],
    site: SiteFile = DEFAULT,
    state: State = None,
) -> None:
    """Request a standing plan: bounds, positions, thresholds, load times and busy hours of the present site.yaml.

    It replaces the present plan, and is in effect after its approval. The request is a record in the ledger.
    """
    from datetime import date

    from sovctl.compliance.signing import load_or_create
    from sovctl.compliance.verify_key import checked_key_name
    from sovctl.engine.standing_plan.requests import request
    from sovctl.support.errors import InputError

    checked_key_name(name)
    try:
        last = date.fromisoformat(expires)
    except ValueError:
        raise InputError(f"expected a day such as 2027-02-28, got {expires}", where="--expires") from None
    opened = open_scaled(site, state)
    with opened.state.exclusive("scaling plan"):
        made = request(opened, expires=last, key=load_or_create(key), name=name, now=datetime.now(UTC))
    for each in made.terms["pools"]:
        output.line(
            f"{each['pool']}: {each['minimum']} to {each['maximum']} replicas, {each['replicas']} deployed, "
            f"load time {each['load_time_s']:.0f} s, cooldown {each['cooldown_s']:.0f} s"
        )
    output.line(f"standing plan {made.sha256[:16]}, until {made.expires}, requested by {made.request.name}")
    output.info("next: a person of scaling.approvers runs `sovctl scaling approve`")


def approve(key: Key, site: SiteFile = DEFAULT, state: State = None) -> None:
    """Approve the requested standing plan, with a key of `scaling.approvers` that did not request it."""
    from sovctl.compliance.signing import load
    from sovctl.engine.standing_plan.requests import approve as approve_plan

    opened = open_scaled(site, state)
    with opened.state.exclusive("scaling approve"):
        made = approve_plan(opened, key=load(key), now=datetime.now(UTC))
    assert made.approval is not None
    output.line(f"standing plan {made.sha256[:16]}, until {made.expires}, approved by {made.approval.name}")


def revoke(
    reason: Annotated[str, typer.Option("--reason", help="Reason, for the ledger.")],
    site: SiteFile = DEFAULT,
    state: State = None,
) -> None:
    """Remove the standing plan. A run ends at its next decision; replicas stay as they are."""
    from sovctl.engine.standing_plan.requests import revoke as revoke_plan

    opened = open_scaled(site, state)
    with opened.state.exclusive("scaling revoke"):
        revoke_plan(opened, reason=reason, now=datetime.now(UTC))
    output.line("the standing plan is revoked")


def status(site: SiteFile = DEFAULT, state: State = None, as_json: AsJson = False) -> None:
    """Show the standing plan, the phases of replicas, and alerts. Exit code 5 if the plan is not in effect."""
    from sovctl.engine.standing_plan import plan_file
    from sovctl.engine.standing_plan import state as state_file
    from sovctl.engine.standing_plan.terms import terms_of
    from sovctl.support.errors import ExitCode

    opened = open_scaled(site, state)
    found, terms = plan_file.read(opened.state.root), terms_of(opened.spec, opened.loaded.catalog)
    assert opened.spec.scaling is not None
    approvers, today = opened.spec.scaling.approvers, datetime.now(UTC).date()
    problem = plan_file.problem(found, terms, approvers=approvers, today=today)
    current = state_file.load(opened.state.root, found.terms)
    phases = {str(each): phase.value for each, phase in sorted(current.fleet.phases.items())}
    if as_json:
        names = {"requested_by": found.request.name, "approved_by": found.approval.name if found.approval else None}
        output.document(
            {"plan_sha256": found.sha256, "expires": found.expires, **names, "in_effect": not problem,
             "problem": problem, "phases": phases, "alerts": current.alerts, "terms": found.terms}
        )  # fmt: skip
    else:
        approved = f"approved by {found.approval.name}" if found.approval else "not approved"
        output.line(
            f"standing plan {found.sha256[:16]}, until {found.expires}, requested by {found.request.name}, {approved}"
        )
        rows = [(name, phase, found.terms["positions"][name]["node"]) for name, phase in phases.items()]
        output.table(("REPLICA", "PHASE", "NODE"), rows)
        for pool, text in sorted(current.alerts.items()):
            output.line(f"{output.style('ALERT', 'red')}  {pool}: {text}")
        if problem:
            output.line(f"{output.style('NOT IN EFFECT', 'red')}  {problem}")
    if problem:
        raise typer.Exit(ExitCode.STALE)
