"""`sovctl report diff`: controls and results that differ between two reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.report.difference import Difference

EPILOG = "Example: sovctl report diff .sovctl/reports/20261120T101500Z-3fa9 .sovctl/reports/20261121T101500Z-77b0"


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl report`."""
    group.command(epilog=EPILOG)(diff)


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Folder of the earlier report.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Folder of the later report.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the controls and results that differ between two reports of one framework. Exits with 2 if any differ."""
    from sovctl.compliance.audit.report_folder import read_report
    from sovctl.compliance.report.difference import difference
    from sovctl.support.errors import ExitCode

    found = difference(read_report(before), read_report(after))
    if as_json:
        output.document(found.as_json())
    else:
        _show(found)
    if not found.is_empty:
        raise typer.Exit(ExitCode.CHANGES)


def _show(found: Difference) -> None:
    for label, document in (("before", found.before), ("after", found.after)):
        mark = "  SIMULATED" if document["simulated"] else ""
        output.line(f"{label:7} {document['run']['id']}  {document['summary']['sentence']}{mark}")
    if found.before["pack"]["sha256"] != found.after["pack"]["sha256"]:
        output.line("note    the framework or its checks differ between the two reports")
    for heading, changes in (("CONTROL", found.controls), ("RESULT", found.results)):
        if changes:
            output.line()
            output.table(
                (heading, "BEFORE", "AFTER", "REASON"),
                [(each.name, each.before or "-", each.after or "-", "; ".join(each.reasons)) for each in changes],
            )
    if found.is_empty:
        output.line("no differences")
