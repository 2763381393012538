"""`sovctl audit`: verify ledgers, evidence and reports, and write the verifier for auditors."""

from pathlib import Path
from typing import Annotated

import typer

from .. import output
from . import audit_log, audit_subject, audit_upkeep, audit_witness


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Verify, search and prove ledgers, evidence and reports; exchange checkpoints; erase a subject.",
    )
    app.add_typer(group, name="audit")
    group.command(epilog="Example: sovctl audit verify .sovctl --checkpoint kept/checkpoint --key kept/log.vkey")(
        verify
    )
    group.command(epilog="Example: sovctl audit verifier --out sovctl-verify.pyz")(verifier)
    audit_log.register(group)
    audit_witness.register(group)
    audit_upkeep.register(group)
    audit_subject.register(group)


def verify(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="Folder of a report, of a site, of its state or of a ledger, or a proof."
        ),
    ] = Path(),
    ledger: Annotated[Path | None, typer.Option(help="Folder of a ledger, instead of TARGET.")] = None,
    checkpoint: Annotated[
        list[Path] | None, typer.Option(help="Checkpoint kept outside the site: its file, or a report. Repeatable.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Public key (.vkey) of the ledger, kept outside the site.")] = None,
    witness_key: Annotated[
        list[Path] | None, typer.Option(help="Public key (.vkey) of a witness, kept outside the site. Repeatable.")
    ] = None,
    witnesses: Annotated[
        int | None, typer.Option(help="Cosignatures that a checkpoint needs; default: one of each witness key.")
    ] = None,
    witness_policy: Annotated[
        Path | None, typer.Option(help="Witness policy (C2SP tlog-policy) with the quorum, instead of keys.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Time of the copy, such as 2026-11-28T10:00:00Z, or now: detects silence since.")
    ] = None,
    signer_key: Annotated[
        list[Path] | None, typer.Option(help="Public key (.vkey) of a person that signs reports. Repeatable.")
    ] = None,
    signers: Annotated[
        int | None, typer.Option(help="Persons that must have signed each report; default: all signer keys.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Verify the ledger, evidence and reports of a site, and list every inconsistency."""
    from sovctl.compliance.audit import command

    result = command.verify(
        target,
        ledger=ledger,
        key=key,
        checkpoints=checkpoint,
        witness_keys=witness_key,
        witnesses=witnesses,
        as_of=as_of,
        witness_policy=witness_policy,
        signer_keys=signer_key,
        signers=signers,
    )
    if as_json:
        output.document(result.as_json())
    else:
        for label, text in result.lines():
            shown_label = output.style(label, "red") if label == "FINDING" else f"{label:7}"
            output.line(f"{shown_label}  {text}" if label else text)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def verifier(
    out: Annotated[Path, typer.Option(help="Output file.")] = Path("sovctl-verify.pyz"),
) -> None:
    """Write the verifier for auditors: one file that runs on a plain Python 3.11 or newer, without packages."""
    from sovctl.compliance.report.verifier_archive import build
    from sovctl.support.atomic_files import write_atomic
    from sovctl.support.plain_json import sha256_hex

    content = build()
    write_atomic(out, content, mode=0o755)
    output.line(f"{sha256_hex(content)}  {out}")
    output.info(f"run it with: python3 {out} FOLDER --checkpoint FILE --key FILE")
