"""`sovctl gateway edm build CSV --out FILE --key-file KEY`: builds an index of the institution's people and companies.

Run it where the list is; only the index and its key are copied to a gateway. Progress is printed to standard error, the
result to standard output. An invalid row is reported by its line number, without its content.
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


def add_subcommands(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands of `edm`."""
    subparsers = parser.add_subparsers(dest="edm_command", required=True)
    about = "make an index of keyed hashes from a CSV file of customers, employees or companies"
    build = subparsers.add_parser("build", help=about, description=about)
    build.add_argument("source", type=Path, metavar="CSV", help="UTF-8, one line of headers first")
    build.add_argument("--out", type=Path, required=True, metavar="FILE", help="the index; replaced as a whole")
    build.add_argument("--key-file", type=Path, required=True, metavar="KEY", help="32 bytes, hex; created if absent")
    build.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=HEADER",
        help="field of a header that is not recognized",
    )
    build.add_argument(
        "--delimiter", default="", metavar="CHARACTER", help="column delimiter; detected from the headers by default"
    )
    build.add_argument(
        "--skip-invalid-rows", action="store_true", help="leave them out of the index; they are not protected"
    )
    build.add_argument("--json", action="store_true", help="one JSON document")


def run(options: argparse.Namespace) -> int:
    """Run a subcommand; return the exit code.

    Raises:
        SovctlError: the list or the key is unusable; the index is unchanged.
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
        _tell(f"{options.source}: line {line}: skipped: {why}")
    made = {name: built.header[name] for name in ("people", "companies", "built_at", "sha256")}
    made |= {"index_file": str(options.out), "left_out": len(built.bad)}
    lines = [json.dumps(made, indent=2)] if options.json else [f"{name}: {value}" for name, value in made.items()]
    sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.OK


def _key(path: Path) -> bytes:
    if not path.exists():
        write_atomic(path, secrets.token_hex(KEY_BYTES) + "\n", mode=0o600)
        _tell(f"{path}: created; gateways need it and the index")
    return read_key(path)


def _columns(given: list[str]) -> dict[str, str]:
    columns = {}
    for each in given:
        field, equals, header = each.partition("=")
        if not equals or not header or field in columns:
            raise InputError("expected FIELD=HEADER, each field once", where="--column")
        columns[field] = header
    return columns


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
