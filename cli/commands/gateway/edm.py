"""`sovctl gateway edm`: build an index for exact data match; runs `python -m sovctl.gateway edm`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer


def make(become: Callable[..., NoReturn]) -> typer.Typer:
    """Return the command group; every command ends in `become`."""
    edm = typer.Typer(
        name="edm",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Exact data match: index of known people and companies, as keyed hashes.",
        epilog="Example: sovctl gateway edm build customers.csv --out customers.edm --key-file edm.key",
    )

    @edm.callback()
    def _words() -> None:
        pass

    @edm.command(
        "build", epilog="Example: sovctl gateway edm build customers.csv --out customers.edm --key-file edm.key"
    )
    def build(
        source: Annotated[
            Path, typer.Argument(metavar="CSV", help="CSV file in UTF-8; its first line has the headers.")
        ],
        out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Index file; replaced if present.")],
        key_file: Annotated[
            Path, typer.Option("--key-file", metavar="KEY", help="Key file: 32 bytes in hex; created if absent.")
        ],
        column: Annotated[
            list[str] | None,
            typer.Option(
                "--column", metavar="FIELD=HEADER", help="Field of a column whose header is not recognized; repeatable."
            ),
        ] = None,
        delimiter: Annotated[
            str,
            typer.Option(
                "--delimiter", metavar="CHARACTER", help="Column delimiter; default: derived from the headers."
            ),
        ] = "",
        skip_invalid_rows: Annotated[
            bool, typer.Option("--skip-invalid-rows", help="Omit invalid rows; their values are not protected.")
        ] = False,
        json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    ) -> None:
        """Build an index of keyed hashes from a CSV file of customers, employees or companies."""
        options = [f"--out={out}", f"--key-file={key_file}", *(f"--column={each}" for each in column or [])]
        options += [f"--delimiter={delimiter}"] if delimiter else []
        options += [*(["--skip-invalid-rows"] if skip_invalid_rows else []), *(["--json"] if json else [])]
        become("edm", "build", *options, "--", str(source))

    return edm
