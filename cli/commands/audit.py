"""`sovctl audit`: verify ledgers, evidence and reports."""

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output
from . import audit_witness


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(
        no_args_is_help=True, help="Verify ledgers, evidence and reports; exchange checkpoints with a witness."
    )
    app.add_typer(group, name="audit")
    audit_witness.register(group)

    @group.command(epilog="Example: sovctl audit verify .sovctl --checkpoint kept/checkpoint --key kept/log.vkey")
    def verify(
        target: Annotated[
            Path, typer.Argument(metavar="TARGET", help="Folder of a report, of a site, of its state, or of a ledger.")
        ] = Path(),
        ledger: Annotated[Path | None, typer.Option(help="Folder of a ledger, instead of TARGET.")] = None,
        checkpoint: Annotated[
            list[Path] | None, typer.Option(help="Checkpoint kept outside the site: its file, or a report. Repeatable.")
        ] = None,
        key: Annotated[
            Path | None, typer.Option(help="Public key (.vkey) of the ledger, kept outside the site.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    ) -> None:
        """Verify the ledger, evidence and reports of a site, and list every inconsistency."""
        from sovctl.compliance.audit.inputs import read_checkpoint, read_key
        from sovctl.compliance.audit.ledger import audit_ledger
        from sovctl.compliance.audit.site import audit
        from sovctl.compliance.report.verify_report import shown

        given = read_key(key) if key else None
        kept = [read_checkpoint(path) for path in checkpoint or []]
        result = audit_ledger(ledger, key=given, kept=kept) if ledger else audit(target, key=given, kept=kept)
        if as_json:
            output.document(result.as_json())
        else:
            for finding in result.findings:
                output.line(f"{output.style('FINDING', 'red')}  {shown(finding)}")
            for label, texts in (("checked", result.facts), ("note", result.notes), ("limit", result.limits)):
                for text in dict.fromkeys(texts):
                    output.line(f"{label:7}  {shown(text)}")
            count = len(result.findings)
            output.line("OK: no findings" if not count else f"NOT OK: {count} finding{'s' if count > 1 else ''}")
        if result.findings:
            raise typer.Exit(ExitCode.FAILURE)
