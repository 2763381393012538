"""`sovctl audit heartbeat`, `rotate-key`, `prune` and `tiles`: upkeep of a ledger."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .. import output

Ledger = Annotated[Path, typer.Option(help="Folder of the ledger.")]
KeyFile = Annotated[
    Path | None, typer.Option(help="Private key of the ledger; default: keys/ledger.key next to its folder.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_DEFAULT = Path(".sovctl/ledger")


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl audit`."""
    group.command(epilog="Example: sovctl audit heartbeat --interval 300")(heartbeat)
    group.command("rotate-key", epilog="Example: sovctl audit rotate-key --out rotation.json")(rotate_key)
    group.command(epilog="Example: sovctl audit prune site.yaml")(prune)
    group.command(epilog="Example: sovctl audit tiles --out /mnt/usb/log")(tiles)


def heartbeat(
    ledger: Ledger = _DEFAULT,
    interval: Annotated[
        int, typer.Option(min=0, max=86_400, help="Seconds until the next heartbeat; 0: none is expected.")
    ] = 300,
    key_file: KeyFile = None,
) -> None:
    """Append the state of the clock. Run it from a timer: a longer gap is a finding of `audit verify`."""
    import time

    from sovctl.compliance.ledger.clock_state import read_clock
    from sovctl.compliance.ledger.pending import count, record_or_leave
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.compliance.ledger.upkeep import heartbeat_record

    LedgerReader(ledger)
    record = heartbeat_record({"type": "heartbeat"}, interval, time.time(), read_clock(), queue_depth=count(ledger))
    if not record_or_leave(ledger, record, key_file=_key_of(ledger, key_file)):
        output.info("the heartbeat is appended by the process that writes the ledger")


def rotate_key(
    ledger: Ledger = _DEFAULT,
    key_file: KeyFile = None,
    reason: Annotated[str, typer.Option(help="planned or compromised.")] = "planned",
    out: Annotated[Path | None, typer.Option(help="Also write the record for witnesses to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Replace the key of a ledger. The old key signs the new one in the log, and is deleted."""
    import getpass

    from sovctl.compliance.ledger.rotate import rotate
    from sovctl.support.atomic_files import write_atomic

    record = rotate(ledger, _key_of(ledger, key_file), reason=reason, operator=getpass.getuser())
    if out:
        write_atomic(out, json.dumps(record, indent=1, sort_keys=True) + "\n")
    if as_json:
        output.document(record)
    else:
        output.line(str(record["new_vkey"]))
        output.info("give the new log.vkey and this record to auditors and witnesses; certify nodes again if required")


def prune(
    site: Annotated[Path, typer.Argument(help="Path of site.yaml, which states compliance.retention_days.")] = Path(
        "site.yaml"
    ),
    state: Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Move evidence, reports and journals here; default: delete them.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be pruned, and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Remove the content of entries, evidence, reports and journals that are older than the retention. Hashes stay."""
    from datetime import UTC, datetime

    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.compliance.ledger.store import Ledger as OpenLedger
    from sovctl.compliance.retention.prune_site import SiteFolders, plan_pruning, prune_site
    from sovctl.compliance.signing import load
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation import load as spec_file

    days = spec_file.load(site).spec.compliance.retention_days
    paths = SiteState.of_site(site, state)
    folders = SiteFolders(paths.evidence, paths.reports, paths.journal)
    reader = LedgerReader(paths.ledger)
    planned = plan_pruning(reader, folders, days=days, now=datetime.now(UTC))
    if not dry_run:
        key = load(paths.keys / "ledger.key")
        with (
            paths.exclusive("audit prune"),
            OpenLedger.open(paths.ledger, origin=reader.checkpoint.origin, key=key) as ledger,
        ):
            prune_site(ledger, folders, planned, archive=archive)
    if as_json:
        output.document(planned.as_json() | {"is_dry_run": dry_run})
        return
    done = "would prune" if dry_run else "pruned"
    output.line(
        f"{done} {planned.size - planned.pruned_before} entries older than {days} days, and {planned.files} files"
    )


def tiles(
    out: Annotated[Path, typer.Option(help="Folder of the tiles; existing tiles are kept.")],
    ledger: Ledger = _DEFAULT,
    as_json: Json = False,
) -> None:
    """Write the ledger as static files that other implementations read (C2SP tlog-tiles)."""
    from dataclasses import asdict

    from sovctl.compliance.tlog.tiles import write_tiles

    counts = write_tiles(ledger, out)
    if as_json:
        output.document(asdict(counts))
    else:
        output.line(f"{counts.size} entries: wrote {counts.hash_tiles} hash tiles and {counts.bundles} entry bundles")


def _key_of(ledger: Path, key_file: Path | None) -> Path:
    return key_file or ledger.parent / "keys" / "ledger.key"
