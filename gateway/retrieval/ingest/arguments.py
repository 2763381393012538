"""Arguments of the commands of `sovctl rag`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from sovctl.support.errors import InputError

from .. import chunks

CONFIG = Path("/etc/sovctl/rag.yaml")


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors have sovctl's format."""

    def error(self, message: str) -> NoReturn:
        """Raise the problem of the arguments."""
        raise InputError(message.removeprefix("argument "), hint=f"{self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    root = Parser(prog="sovctl rag", description="Documents for retrieval.")
    commands = root.add_subparsers(dest="command", required=True)

    def add(name: str, about: str, *, collection: bool = True) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about)
        made.add_argument("--config", type=Path, default=CONFIG, metavar="FILE")
        made.add_argument("--json", action="store_true", help="one JSON document")
        if collection:
            made.add_argument("--collection", required=True, metavar="NAME")
        return made

    def add_source(made: argparse.ArgumentParser) -> None:
        made.add_argument("--groups-file", type=Path, required=True, metavar="FILE", help="CSV or JSON")
        made.add_argument("--root", type=Path, metavar="FOLDER", help="folder to which source ids are relative")
        made.add_argument("--jobs", type=_number(1, 64), default=2, metavar="COUNT")
        made.add_argument("--chunk-tokens", type=_number(50, 4_000), default=chunks.TARGET_TOKENS, metavar="COUNT")
        made.add_argument("path", type=Path, metavar="PATH")

    add_source(add("ingest", "store new and changed documents of a folder"))
    reconcile = add("reconcile", "compare a folder and its groups with the service")
    add_source(reconcile)
    reconcile.add_argument("--apply", action="store_true", help="apply the differences")
    reconcile.add_argument("--allow-deletions", action="store_true", help="delete more than half of the documents")
    add("list", "list the documents of a collection")
    delete = add("delete", "delete documents with their chunks")
    delete.add_argument("source", nargs="+", metavar="SOURCE")
    groups = add("groups", "replace the groups of a document")
    groups.add_argument("--allow", action="append", default=[], metavar="GROUP")
    groups.add_argument("--deny", action="append", default=[], metavar="GROUP")
    groups.add_argument("source", metavar="SOURCE")
    directory = add("directory", "replace all memberships by an export", collection=False)
    directory.add_argument("--subject-attribute", default="uid", metavar="NAME")
    directory.add_argument("--subject-prefix", default="", metavar="TEXT")
    directory.add_argument("--dry-run", action="store_true")
    directory.add_argument("export", type=Path, metavar="EXPORT")
    search = add("search", "search through the gateway")
    search.add_argument("--results", type=int, default=5, metavar="COUNT")
    search.add_argument("query", metavar="QUERY")
    return root


def _number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected {low} to {high}, got {text}")
        return value

    return read
