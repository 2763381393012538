"""`sovctl waiver`: accepted failures of checks, from site.yaml and a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .. import output
from . import waiver_sign
from .waiver_sign import DEFAULT, SiteFile, WaiverFile, named_waiver, read_inputs

if TYPE_CHECKING:
    from datetime import date

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Accepted failures of checks: who approved them, and until when.")
    app.add_typer(group, name="waiver")
    group.command("list", epilog="Example: sovctl waiver list site.yaml")(list_waivers)
    group.command(epilog="Example: sovctl waiver show W-1 site.yaml")(show)
    group.command(epilog="Example: sovctl waiver check site.yaml --days 30")(check)
    waiver_sign.register(group)


def list_waivers(site: SiteFile = DEFAULT, waivers: WaiverFile = None, as_json: AsJson = False) -> None:
    """List all waivers with state, last day, scope and persons."""
    from ..views import waivers as view

    exceptions, today = read_inputs(site, waivers).exceptions, _today()
    found, unsigned = exceptions.texts, exceptions.unsigned()
    if as_json:
        output.document({"waivers": [view.as_json(each, today, unsigned) for each in found]})
        return
    if not found:
        output.info("no waivers: neither in compliance.waivers of site.yaml nor in a file")
        return
    output.table(view.HEADINGS, [view.row(each, today, unsigned) for each in found])


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the waiver.")],
    site: SiteFile = DEFAULT,
    waivers: WaiverFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one waiver with its reason and compensating control."""
    from ..views import waivers as view

    exceptions, today = read_inputs(site, waivers).exceptions, _today()
    waiver, unsigned = named_waiver(exceptions, name), exceptions.unsigned()
    if as_json:
        output.document(view.as_json(waiver, today, unsigned))
        return
    for label, value in zip(view.HEADINGS, view.row(waiver, today, unsigned), strict=True):
        output.line(f"{label.lower():13} {value}")
    output.line(f"{'approved':13} {waiver.approved}")
    output.line(f"{'reason':13} {waiver.reason}")
    output.line(f"{'compensating':13} {waiver.compensating}")
    if problem := unsigned.get(waiver.id):
        output.line(f"{'signatures':13} {problem}")


def check(
    site: SiteFile = DEFAULT,
    waivers: WaiverFile = None,
    days: Annotated[int, typer.Option(min=0, help="Also report waivers that end within this many days.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Validate all waivers. Exit code 1 if one is not in effect today, or ends within `--days`."""
    from ..views import waivers as view

    exceptions, today = read_inputs(site, waivers).exceptions, _today()
    found, unsigned = exceptions.texts, exceptions.unsigned()
    due = [
        each for each in found if not each.counts_on(today) or (each.expires - today).days < days or each.id in unsigned
    ]
    if as_json:
        output.document({"checked": len(found), "due": [view.as_json(each, today, unsigned) for each in due]})
    else:
        for each in due:
            output.line(
                f"{each.id}: {view.state_of(each, today, unsigned)}, valid from {each.approved} to {each.expires}"
            )
        output.line(f"{len(found)} waivers: {len(found) - len(due)} in effect, {len(due)} to renew or remove")
    if due:
        raise typer.Exit(1)


def _today() -> date:
    from datetime import UTC, datetime

    return datetime.now(UTC).date()
