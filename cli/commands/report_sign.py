"""`sovctl report sign`: the signature of a person over all files of a report."""

from pathlib import Path
from typing import Annotated

import typer

from .. import output

EPILOG = "Example: sovctl report sign .sovctl/reports/20261121T101500Z-3fa9 --key ~/officer.key --name officer.example"


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl report`."""
    group.command(epilog=EPILOG)(sign)


def sign(
    folder: Annotated[Path, typer.Argument(metavar="REPORT", help="Folder of the report, on any machine.")],
    key: Annotated[Path, typer.Option(help="Private key of the signer, mode 0600; created if absent.")],
    name: Annotated[str, typer.Option(help="Name of the signer in the public key, such as officer.example.")],
) -> None:
    """Verify a report, and sign all its files as a person. Needs no site and no ledger key.

    Writes signatures/<key id>.dsse.json in the report folder, and the public key next to a new private key. A second
    person signs on another machine, and only this file is copied into the report folder at the site.
    """
    from datetime import UTC, datetime

    from sovctl.compliance.audit.report_folder import read_report
    from sovctl.compliance.audit.sign_off import sign_report
    from sovctl.compliance.signing import load_or_create
    from sovctl.support.atomic_files import write_atomic

    read_report(folder)  # before a key is created
    is_new = not key.exists()
    signer = load_or_create(key)
    vkey = key.with_suffix(".vkey")
    if is_new:
        write_atomic(vkey, signer.public.vkey(name) + "\n")
        output.info(f"created {key} and {vkey}; give the .vkey file to the auditors")
    path = sign_report(folder, signer, name=name, time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    output.line(f"signed  {path}")
    output.line(f"verify  sovctl audit verify {folder} --signer-key {vkey}")
