"""`sovctl audit checkpoint export` and `sovctl audit witness sign`: memory outside the site, carried by hand."""

from pathlib import Path
from typing import Annotated

import typer

from .. import output


def register(group: typer.Typer) -> None:
    """Add both words to `sovctl audit`."""
    checkpoints = typer.Typer(no_args_is_help=True, help="What the site gives to a witness.")
    witnesses = typer.Typer(no_args_is_help=True, help="What a witness does, on a machine of his own.")
    group.add_typer(checkpoints, name="checkpoint")
    group.add_typer(witnesses, name="witness")

    @checkpoints.command(
        epilog="Example: sovctl audit checkpoint export --ledger .sovctl/ledger --since 120 -o ask.txt"
    )
    def export(
        ledger: Annotated[Path, typer.Option(help="The ledger's folder.")] = Path(".sovctl/ledger"),
        since: Annotated[int, typer.Option(min=0, help="Entries that the witness signed last; 0 the first time.")] = 0,
        to: Annotated[Path | None, typer.Option("-o", "--output", help="File; standard output otherwise.")] = None,
    ) -> None:
        """Write the newest checkpoint with the proof that it extends what the witness saw."""
        from sovctl.compliance.ledger.reader import LedgerReader
        from sovctl.compliance.ledger.witness import request
        from sovctl.support.atomic_files import write_atomic

        text = request(LedgerReader(ledger), old_size=since)
        if to:
            write_atomic(to, text)
            output.info(f"wrote {to}; carry it to the witness: sovctl audit witness sign {to}")
        else:
            output.line(text.rstrip("\n"))

    @witnesses.command(epilog="Example: sovctl audit witness sign ask.txt --folder ~/witness --log-key log.vkey")
    def sign(
        asked: Annotated[Path, typer.Argument(metavar="REQUEST", help="What `checkpoint export` wrote.")],
        folder: Annotated[Path, typer.Option(help="The witness's memory and key.")] = Path("witness"),
        name: Annotated[str, typer.Option(help="Name of the witness in signatures.")] = "witness",
        log_key: Annotated[
            Path | None, typer.Option(help="The log's public key (.vkey); needed the first time, kept then.")
        ] = None,
    ) -> None:
        """Sign a checkpoint that extends the last one; refuse any other."""
        from sovctl.compliance.audit.inputs import read_key
        from sovctl.compliance.ledger.witness_memory import WitnessMemory

        memory = WitnessMemory(folder, name=name)
        kept = memory.sign(asked, log_key=read_key(log_key) if log_key else None)
        output.line(str(kept))
        output.info(
            "keep it; later: sovctl audit verify --ledger DIR --checkpoint FILE --key FILE, on the site's ledger"
        )
