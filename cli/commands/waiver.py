"""`sovctl waiver`: accepted failures of checks, from site.yaml and a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from datetime import date

    from sovctl.compliance.controls.exceptions import WaiverText

SiteFile = Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")]
WaiverFile = Annotated[Path | None, typer.Option("--waivers", help="Further YAML file of waivers and attestations.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DEFAULT = Path("site.yaml")


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Accepted failures of checks: who approved them, and until when.")
    app.add_typer(group, name="waiver")
    group.command("list", epilog="Example: sovctl waiver list site.yaml")(list_waivers)
    group.command(epilog="Example: sovctl waiver show W-1 site.yaml")(show)
    group.command(epilog="Example: sovctl waiver check site.yaml --days 30")(check)


def list_waivers(site: SiteFile = DEFAULT, waivers: WaiverFile = None, as_json: AsJson = False) -> None:
    """List all waivers with state, last day, scope and persons."""
    from ..views import waivers as view

    found, today = _waivers(site, waivers), _today()
    if as_json:
        output.document({"waivers": [view.as_json(each, today) for each in found]})
        return
    if not found:
        output.info("no waivers: neither in compliance.waivers of site.yaml nor in a file")
        return
    output.table(view.HEADINGS, [view.row(each, today) for each in found])


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the waiver.")],
    site: SiteFile = DEFAULT,
    waivers: WaiverFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one waiver with its reason and compensating control."""
    from sovctl.support.errors import InputError
    from sovctl.support.suggestions import nearest

    from ..views import waivers as view

    found = {each.id: each for each in _waivers(site, waivers)}
    if name not in found:
        near = nearest(name, list(found))
        raise InputError(
            f"unknown waiver {name}",
            where="ID",
            hint=f"did you mean {near}?" if near else "list them with `sovctl waiver list`",
        )
    waiver, today = found[name], _today()
    if as_json:
        output.document(view.as_json(waiver, today))
        return
    for label, value in zip(view.HEADINGS, view.row(waiver, today), strict=True):
        output.line(f"{label.lower():13} {value}")
    output.line(f"{'approved':13} {waiver.approved}")
    output.line(f"{'reason':13} {waiver.reason}")
    output.line(f"{'compensating':13} {waiver.compensating}")


def check(
    site: SiteFile = DEFAULT,
    waivers: WaiverFile = None,
    days: Annotated[int, typer.Option(min=0, help="Also report waivers that end within this many days.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Validate all waivers. Exit code 1 if one is not in effect today, or ends within `--days`."""
    from ..views import waivers as view

    found, today = _waivers(site, waivers), _today()
    due = [each for each in found if not each.counts_on(today) or (each.expires - today).days < days]
    if as_json:
        output.document({"checked": len(found), "due": [view.as_json(each, today) for each in due]})
    else:
        for each in due:
            output.line(f"{each.id}: {view.state_of(each, today)}, valid from {each.approved} to {each.expires}")
        output.line(f"{len(found)} waivers: {len(found) - len(due)} in effect, {len(due)} to renew or remove")
    if due:
        raise typer.Exit(1)


def _waivers(site: Path, file: Path | None) -> tuple[WaiverText, ...]:
    from sovctl.engine.checks.runner.compliance_inputs import load_inputs

    return load_inputs(site / "site.yaml" if site.is_dir() else site, waiver_file=file).exceptions.texts


def _today() -> date:
    from datetime import UTC, datetime

    return datetime.now(UTC).date()
