"""`sovctl report siem`: entries of a ledger and findings as events for a SIEM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.siem.event import Event

EPILOG = (
    "Examples: sovctl report siem --format ocsf --out events.jsonl  ·  "
    "sovctl report siem --format cef --findings --syslog 10.20.0.7:6514 --ca-file siem-ca.pem"
)


class SiemFormat(StrEnum):
    """Formats of events."""

    OCSF = "ocsf"
    ECS = "ecs"
    CEF = "cef"


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl report`."""
    group.command(epilog=EPILOG)(siem)


def siem(
    format_name: Annotated[
        SiemFormat, typer.Option("--format", help="ocsf: OCSF 1.3.0, ecs: ECS 8.17, JSON lines. cef: CEF 0.")
    ],
    site: Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")] = Path("site.yaml"),
    state: Annotated[Path | None, typer.Option(help="State folder; default: .sovctl next to site.yaml.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; default: standard output.")] = None,
    syslog: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Send the events to this syslog receiver instead.")
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="Authority of the receiver's certificate: send over TLS.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="Certificate for a receiver that requires one.")] = None,
    key: Annotated[Path | None, typer.Option(help="Key of the certificate.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Folder of another ledger, such as a gateway's; default: the site's.")
    ] = None,
    from_index: Annotated[int, typer.Option("--from-index", min=0, help="First entry of the ledger.")] = 0,
    findings: Annotated[bool, typer.Option("--findings", help="Only verdicts FAIL and UNKNOWN.")] = False,
) -> None:
    """Write entries of the site's ledger, or of a gateway's, as OCSF, ECS or CEF, to a file or over syslog.

    The next index is printed to standard error, for `--from-index` of the next call.
    """
    import socket
    from datetime import UTC, datetime

    from sovctl import __version__
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.compliance.siem import cef, ecs, ocsf
    from sovctl.compliance.siem.event import event_of
    from sovctl.compliance.siem.syslog import message, parse_address, send
    from sovctl.compliance.verdict import Verdict
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.support.atomic_files import write_atomic
    from sovctl.support.errors import InputError

    if (certificate is None) != (key is None) or (certificate is not None and ca_file is None):
        raise InputError("expected --certificate, --key and --ca-file together", where="--certificate")
    render: Callable[..., str] = {"ocsf": ocsf.line, "ecs": ecs.line, "cef": cef.line}[format_name]
    if ledger is None:
        ledger = SiteState.of_site(site / "site.yaml" if site.is_dir() else site, state).ledger
    reader = LedgerReader(ledger)
    size, origin = reader.checkpoint.size, reader.checkpoint.origin

    def events() -> Iterator[Event]:
        for entry in reader.entries(start=min(from_index, size)):
            event = event_of(origin, entry.leaf_index, entry.record)
            if entry.leaf_index < size and (not findings or event.verdict in (Verdict.FAIL, Verdict.UNKNOWN)):
                yield event

    lines = ((each, render(each, tool_version=__version__)) for each in events())
    if syslog is not None:
        address, port = parse_address(syslog)
        now, host = datetime.now(UTC), socket.gethostname()
        count = send(
            (message(event, text, host=host, sent=now) for event, text in lines),
            address=address,
            port=port,
            ca_file=ca_file,
            identity=(certificate, key) if certificate is not None and key is not None else None,
        )
        output.info(f"{count} events sent to {syslog}")
    elif out is not None:
        write_atomic(out, "".join(f"{text}\n" for _, text in lines), mode=0o600)
    else:
        for _, text in lines:
            output.line(text)
    output.info(f"next: --from-index {size}")
