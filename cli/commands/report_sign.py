"""`sovctl report sign`: the signature of a person over all files of a report."""

from pathlib import Path
from typing import Annotated, Any

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
    copy: Annotated[
        bool, typer.Option("--copy", help="The state folder is a copy outside the site: do not record the signature.")
    ] = False,
) -> None:
    """Verify a report, and sign all its files as a person. Needs no site and no ledger key.

    Writes signatures/<key id>.dsse.json in the report folder, and the public key next to a new private key. A second
    person signs on another machine, and only this file is copied into the report folder at the site. In the state
    folder of a site, the signature is recorded in the ledger before it is written.
    """
    from datetime import UTC, datetime

    from sovctl.compliance.audit.report_folder import read_report
    from sovctl.compliance.audit.sign_off import sign_report, state_of
    from sovctl.compliance.ledger.pending import record_or_leave
    from sovctl.compliance.signing import load_or_create
    from sovctl.support.atomic_files import write_atomic

    read_report(folder)  # before a key is created
    is_new = not key.exists()
    signer = load_or_create(key)
    vkey = key.with_suffix(".vkey")
    if is_new:
        write_atomic(vkey, signer.public.vkey(name) + "\n")
        output.info(f"created {key} and {vkey}; give the .vkey file to the auditors")
    state = None if copy else state_of(folder)

    def record(entry: dict[str, Any]) -> None:
        if state is not None:
            hint = "get write access to the folder; for a copy outside the site add --copy"
            record_or_leave(state / "ledger", entry, key_file=state / "keys" / "ledger.key", hint=hint)

    time = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    path = sign_report(folder, signer, name=name, time=time, record=record)
    output.line(f"signed  {path}")
    output.line(f"verify  sovctl audit verify {folder} --signer-key {vkey}")
