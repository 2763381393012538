"""`sovctl audit checkpoint`, `witness` and `add-cosignatures`: offline cosignatures of witnesses outside the site."""

from pathlib import Path
from typing import Annotated

import typer

from .. import output

ToQr = Annotated[
    str | None,
    typer.Option("--qr", metavar="TARGET", help="QR code of the text: terminal, FILE.svg or FILE.png."),
]


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl audit`."""
    group.command(epilog="Example: sovctl audit checkpoint --ledger .sovctl/ledger --old-size 120 -o request.txt")(
        checkpoint
    )
    group.command(epilog="Example: sovctl audit witness request.txt --folder ~/witness --log-key log.vkey")(witness)
    group.command("add-cosignatures", epilog="Example: sovctl audit add-cosignatures usb/checkpoint")(add_cosignatures)


def checkpoint(
    ledger: Annotated[Path, typer.Option(help="Folder of the ledger.")] = Path(".sovctl/ledger"),
    old_size: Annotated[
        int, typer.Option(min=0, help="Number of entries in the checkpoint that the witness signed last; 0 if none.")
    ] = 0,
    to: Annotated[Path | None, typer.Option("-o", "--output", help="Output file; default: standard output.")] = None,
    qr: ToQr = None,
) -> None:
    """Write a request for a witness: the newest checkpoint and its consistency proof."""
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.compliance.ledger.witness import request
    from sovctl.support.atomic_files import write_atomic

    text = request(LedgerReader(ledger), old_size=old_size)
    if qr:
        from ..views.qr_code import show_qr_code

        show_qr_code(text, qr)
    if to:
        write_atomic(to, text)
        output.info(f"wrote {to}; copy it to the witness and run there: sovctl audit witness {to}")
    elif not qr:
        output.line(text.rstrip("\n"))


def witness(
    asked: Annotated[
        Path,
        typer.Argument(
            metavar="REQUEST",
            help="Output file of `sovctl audit checkpoint`; - reads standard input, such as a scanned QR code.",
        ),
    ],
    folder: Annotated[Path, typer.Option(help="Folder with the key and the state of the witness.")] = Path("witness"),
    name: Annotated[str, typer.Option(help="Name of the witness in signatures.")] = "witness",
    rotation: Annotated[
        list[Path] | None,
        typer.Option(help="Record of a rotation of the log's key (audit rotate-key --out). Repeatable."),
    ] = None,
    log_key: Annotated[
        Path | None, typer.Option(help="Public key (.vkey) of the log; required for its first checkpoint, then stored.")
    ] = None,
    qr: ToQr = None,
) -> None:
    """Cosign a checkpoint if it extends the last one signed. Run this outside the site."""
    from sovctl.compliance.audit.inputs import read_key, read_record
    from sovctl.compliance.ledger.witness_memory import WitnessMemory

    memory = WitnessMemory(folder, name=name)
    kept = memory.sign(
        asked,
        log_key=read_key(log_key) if log_key else None,
        rotations=[read_record(path) for path in rotation or []],
    )
    if qr:
        from ..views.qr_code import show_qr_code

        show_qr_code(kept.read_text(), qr)
    output.line(str(kept))
    output.info(
        "keep this file; to verify the site's ledger: sovctl audit verify --ledger DIR --checkpoint FILE --key FILE"
    )


def add_cosignatures(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Checkpoints of witnesses; - reads standard input.")
    ],
    ledger: Annotated[Path, typer.Option(help="Folder of the ledger.")] = Path(".sovctl/ledger"),
) -> None:
    """Add cosignatures of witnesses to the ledger, so that the site can show a quorum."""
    from sovctl.compliance.ledger import cosigned

    merged = cosigned.add_cosignatures(ledger, files)
    names = ", ".join(line.name for line in merged.note.signatures if line.name != merged.origin)
    output.line(f"{merged.size} entries cosigned by {names}")
