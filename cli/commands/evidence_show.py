"""`sovctl evidence show`: all fields of one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.evidence.store import StoredEvidence
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.engine.site.state_folder import SiteState

EPILOG = "Examples: sovctl evidence show 3fa9c0de1b2a  ·  sovctl evidence show 3fa9c0de1b2a site.yaml --json"
RecordId = Annotated[
    str, typer.Argument(metavar="ID", help="First digits of the SHA-256 of the record, at least 6: `evidence list`.")
]
SiteFile = Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")]
State = Annotated[Path | None, typer.Option(help="State folder; default: .sovctl next to site.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DEFAULT = Path("site.yaml")
_LEAST_DIGITS = 6


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl evidence`."""
    group.command("show", epilog=EPILOG)(show)


def show(name: RecordId, site: SiteFile = DEFAULT, state: State = None, as_json: AsJson = False) -> None:
    """Show all fields of one record, with raw output, ledger entry, controls, waivers and plan of action.

    Also shows a step of an apply: its line in the journal, its ledger entry, its plan and the operator of the plan.
    Refuses a record if its file, raw output, population or ledger entry was altered, and records of earlier releases.
    """
    from sovctl.compliance.evidence.layout import RAW
    from sovctl.compliance.evidence.lookup import find

    from ..views import evidence as view

    paths, reader = opened(site, state)
    if _shows_step(paths, reader, name, as_json=as_json):
        return
    found = find(paths.evidence, reader, name)
    raw_file = str(paths.evidence / RAW / found.evidence.raw_sha256)
    links = list(_links(site, paths, found))
    if as_json:
        output.document(view.as_json(found, raw_file=raw_file) | {"links": dict(links)})
        return
    _print_fields(view.fields(found, raw_file=raw_file, links=links))


def _shows_step(paths: SiteState, reader: LedgerReader, name: str, *, as_json: bool) -> bool:
    """Show the step of an apply with this id. Returns False for other ids."""
    from sovctl.compliance.evidence.apply_steps import find_step, plan_entry

    from ..views import apply_steps as view

    step = find_step(paths.journal, reader, name) if len(name) >= _LEAST_DIGITS else None
    if step is None:
        return False
    journal, plan = str(paths.journal / f"{step.run}.jsonl"), plan_entry(reader, step.plan_sha256)
    if as_json:
        output.document(view.with_plan(step, journal, plan))
    else:
        _print_fields(view.fields(step, journal, plan))
    return True


def _print_fields(fields: Iterable[tuple[str, str]]) -> None:
    for label, value in fields:
        first, *further = value.splitlines() or [""]
        output.line(f"{label:15} {first}")
        for line in further:
            output.line(f"{'':15} {line}")


def opened(site: Path, state: Path | None) -> tuple[SiteState, LedgerReader]:
    """Return the state folder of a site, and its ledger.

    Raises:
        InputError: the site has no ledger.
    """
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.support.errors import InputError

    paths = SiteState.of_site(site_file(site), state)
    if not paths.ledger.is_dir():
        raise InputError("no evidence found", where=str(paths.root), hint="run `sovctl verify` first")
    return paths, LedgerReader(paths.ledger)


def site_file(site: Path) -> Path:
    """Return the path of site.yaml, also for its folder."""
    return site / "site.yaml" if site.is_dir() else site


def _links(site: Path, paths: SiteState, found: StoredEvidence) -> Iterator[tuple[str, str]]:
    """Yield controls and waivers from the current site.yaml, and the row of the plan of action of the run's report."""
    from datetime import UTC, datetime

    from sovctl.compliance.audit.report_folder import read_report
    from sovctl.engine.checks.registry import FORMER_IDS
    from sovctl.engine.checks.runner.compliance_inputs import load_inputs
    from sovctl.support.errors import InputError

    check, target = found.evidence.check_id, found.evidence.target
    current = FORMER_IDS.get(check, check)
    if site_file(site).is_file():
        inputs, today = load_inputs(site_file(site)), datetime.now(UTC).date()
        for pack in inputs.packs:
            named = [each.id for each in pack.controls if each.mapping and current in each.mapping.checks]
            yield f"of {pack.name}", ", ".join(named) or "none"
        own = [each for each in inputs.exceptions.texts if current in each.checks and target in each.targets]
        in_effect = [f"{each.id} until {each.expires}" for each in own if each.counts_on(today)]
        yield "waivers", ", ".join(in_effect) or "none"
    rows: set[str] = set()
    for folder in sorted(paths.reports.glob(f"{found.run_id}*")):
        try:
            poam = read_report(folder).get("poam", [])
        except InputError:
            continue  # `sovctl audit verify` names it
        rows |= {f"{row['id']} ({row['kind']})" for row in poam if row["check"] == check and target in row["targets"]}
    yield "plan of action", ", ".join(sorted(rows)) or "no row in a report of this run"
