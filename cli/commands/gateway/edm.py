"""`sovctl gateway edm`: build; passed on to `python -m sovctl.gateway`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer


def make(become: Callable[..., NoReturn]) -> typer.Typer:
    """The words, which end in `become`."""
    edm = typer.Typer(
        name="edm",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="The site's own people and companies, as keyed hashes.",
        epilog="Example: sovctl gateway edm build customers.csv --out customers.edm --key-file edm.key",
    )

    @edm.callback()
    def _words() -> None:
        pass

    @edm.command(
        "build", epilog="Example: sovctl gateway edm build customers.csv --out customers.edm --key-file edm.key"
    )
    def build(
        source: Annotated[Path, typer.Argument(metavar="CSV", help="UTF-8, one line of headers first.")],
        out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The index; replaced as a whole.")],
        key_file: Annotated[Path, typer.Option("--key-file", metavar="KEY", help="32 bytes, hex; made when absent.")],
        column: Annotated[
            list[str] | None,
            typer.Option("--column", metavar="FIELD=HEADER", help="Where a header is not understood by itself."),
        ] = None,
        delimiter: Annotated[
            str, typer.Option("--delimiter", metavar="CHARACTER", help="Between columns; else found from the headers.")
        ] = "",
        skip_bad_rows: Annotated[
            bool, typer.Option("--skip-bad-rows", help="Leave them out of the index; they are not protected.")
        ] = False,
        json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    ) -> None:
        """Make an index of keyed hashes from a CSV file. Of customers, employees or companies."""
        options = [f"--out={out}", f"--key-file={key_file}", *(f"--column={each}" for each in column or [])]
        options += [f"--delimiter={delimiter}"] if delimiter else []
        options += [*(["--skip-bad-rows"] if skip_bad_rows else []), *(["--json"] if json else [])]
        become("edm", "build", *options, "--", str(source))

    return edm
