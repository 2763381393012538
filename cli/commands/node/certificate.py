"""`sovctl node certificate|verify-certificate|packet`: certificates of nodes, and copies for a repair service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from ... import output
from .opening import DEFAULT, Json, Site, State, issuer_on, operations_on

Name = Annotated[str, typer.Argument(metavar="NODE", help="Name of a node.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("certificate", epilog="Example: sovctl node certificate n1")(certificate)
    group.command("verify-certificate", epilog="Example: sovctl node verify-certificate n1.json --key kept/log.vkey")(
        verify_certificate
    )
    group.command("packet", epilog="Example: sovctl node packet n1 --out n1-repair.zip")(packet)


def certificate(node: Name, site: Site = DEFAULT, state: State = None, as_json: Json = False) -> None:
    """Show the certificate of a node: level, expiry, parts and results; exit code 1 if it is not valid."""
    from datetime import UTC, datetime

    from sovctl.compliance.signing import load
    from sovctl.engine.lifecycle import certificate_store

    root = issuer_on(site, state).root
    signed = certificate_store.read(root / certificate_store.FOLDER / f"{node}.json")
    key = load(root / "keys" / "ledger.key").public
    problems = certificate_store.problems_of(root, node, key, now=datetime.now(UTC))
    _show(signed, problems, as_json=as_json)


def verify_certificate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Certificate of a node, also a sanitized copy.")],
    key: Annotated[Path, typer.Option("--key", help="Public key (.vkey) of the site's ledger, kept outside the site.")],
    as_json: Json = False,
) -> None:
    """Verify a certificate offline: signature, fingerprint of the parts, expiry and results."""
    from datetime import UTC, datetime

    from sovctl.compliance.audit.inputs import read_key
    from sovctl.engine.lifecycle import certificate_store
    from sovctl.engine.lifecycle.node_certificate import problems

    signed = certificate_store.read(file)
    _show(signed, problems(signed, read_key(key)[1], now=datetime.now(UTC)), as_json=as_json)


def packet(
    node: Name,
    out: Annotated[Path, typer.Option("--out", help="File to write: a ZIP archive.")],
    site: Site = DEFAULT,
    state: State = None,
) -> None:
    """Write a packet for a repair service: certificate, results and outputs, with pseudonyms for names and serials."""
    from sovctl.engine.checks.runner.repair_packet import write

    with operations_on(site, state, "packet") as operations:
        count = write(issuer_on(site, state), node, *operations.newest_run(), out)
    output.line(f"{out}: certificate and {count} outputs, with pseudonyms for names, addresses and serial numbers")


def _show(signed: dict[str, object], problems: list[str], *, as_json: bool) -> None:
    from sovctl.engine.lifecycle.node_certificate import document_of

    document = document_of(signed)
    if as_json:
        output.document({**document, "is_valid": not problems, "problems": problems})
    else:
        simulated = " (simulated hardware)" if document["simulated"] else ""
        output.line(f"node {document['node']}, {document['platform']}{simulated}: level {document['level']}")
        output.line(f"issued {document['issued']}, expires {document['expires']}, run {document['run']}")
        rows = [tuple(str(part[name] or "-") for name in ("kind", "place", "model", "serial", "firmware"))
                for part in document["parts"]]  # fmt: skip
        output.table(("KIND", "PLACE", "MODEL", "SERIAL", "FIRMWARE"), rows)
        output.line(f"{len(document['results'])} results; fingerprint {document['fingerprint'][:16]}")
        for each in problems:
            output.line(f"{output.style('NOT VALID', 'red')}  {each}")
    if problems:
        raise typer.Exit(ExitCode.FAILURE)
