"""`sovctl gateway edm build CSV --out FILE --key-file KEY`: an index of the institution's own people and companies.

Run where the list is; only the index and its key go to a gateway. Progress goes to standard error, the result to
standard output. A bad row is told by its line, never by its content.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import ExitCode, InputError
from sovctl.support.secret_files import KEY_BYTES, read_key


def add_words(parser: argparse.ArgumentParser) -> None:
    """Declare the words below `edm`."""
    words = parser.add_subparsers(dest="edm_word", required=True)
    about = "make an index of keyed hashes from a CSV file of customers, employees or companies"
    build = words.add_parser("build", help=about, description=about)
    build.add_argument("source", type=Path, metavar="CSV", help="UTF-8, one line of headers first")
    build.add_argument("--out", type=Path, required=True, metavar="FILE", help="the index; replaced as a whole")
    build.add_argument("--key-file", type=Path, required=True, metavar="KEY", help="32 bytes, hex; made when absent")
    build.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=HEADER",
        help="where a header is not understood by itself",
    )
    build.add_argument(
        "--delimiter", default="", metavar="CHARACTER", help="between columns; else found from the headers"
    )
    build.add_argument(
        "--skip-invalid-rows", action="store_true", help="leave them out of the index; they are not protected"
    )
    build.add_argument("--json", action="store_true", help="one JSON document")


def run(options: argparse.Namespace) -> int:
    """Run one of the words; the exit code.

    Raises:
        SovctlError: the list or the key can't be used; the index is as it was.
    """
    from ..detect.edm.index.build import build_index

    if len(options.delimiter) > 1:
        raise InputError(f"expected one character, got {len(options.delimiter)}", where="--delimiter")
    built = build_index(
        options.source,
        options.out,
        _key(options.key_file),
        built_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        columns=_columns(options.column),
        delimiter=options.delimiter,
        skip_invalid_rows=options.skip_invalid_rows,
        progress=lambda rows: _tell(f"{rows} rows"),
    )
    for line, why in built.bad:
        _tell(f"{options.source}: line {line}: left out: {why}")
    made = {name: built.header[name] for name in ("people", "companies", "built_at", "sha256")}
    made |= {"index_file": str(options.out), "left_out": len(built.bad)}
    lines = [json.dumps(made, indent=2)] if options.json else [f"{name}: {value}" for name, value in made.items()]
    sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.OK


def _key(path: Path) -> bytes:
    if not path.exists():
        write_atomic(path, secrets.token_hex(KEY_BYTES) + "\n", mode=0o600)
        _tell(f"{path}: made; gateways need it beside the index")
    return read_key(path)


def _columns(given: list[str]) -> dict[str, str]:
    columns = {}
    for each in given:
        field, equals, header = each.partition("=")
        if not equals or not header or field in columns:
            raise InputError("expected FIELD=HEADER, each field once, got something else", where="--column")
        columns[field] = header
    return columns


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
