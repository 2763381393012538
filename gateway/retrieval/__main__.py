"""`python -m sovctl.gateway.retrieval serve|migrate|reembed|check --config /etc/sovctl/retrieval.yaml`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import NoReturn

from sovctl.support.errors import ExitCode, InputError, SovctlError, SpecError
from sovctl.support.processes.keyboard_interrupt import exit_on_interrupt
from sovctl.support.secret_files import read_key

from ..telemetry import log
from .database.checks import check_database
from .database.migration import migrate
from .database.reembedding import reembed
from .server import serve
from .settings import RetrievalSettings, load_settings

_CONFIG = Path("/etc/sovctl/retrieval.yaml")
_SUPERUSER_DSN = "postgresql://postgres@/sovctl_retrieval?host=/run/sovctl-retrieval-database"


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors have sovctl's format."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message.removeprefix("argument "), hint=f"{self.prog} --help")


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; return the exit code."""
    try:
        options = _parser().parse_args(arguments)
        return _COMMANDS[options.command](load_settings(options.config), options)
    except SpecError as error:
        for problem in error.problems:
            _complain(problem)
        return error.exit_code
    except SovctlError as error:
        _complain(error)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - last error handler: no traceback is printed
        _complain(SovctlError(f"internal error: {log.describe(error)}", hint="please report it, with the command"))
        return ExitCode.INTERNAL


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m sovctl.gateway.retrieval", description="Retrieval service.")
    subparsers = parser.add_subparsers(dest="command", required=True)
    for word, about in (
        ("serve", "serve until stopped"),
        ("migrate", "create or update the database as a superuser; prints changed or unchanged"),
        ("reembed", "compute absent vectors of `embedding` and `embedding_next`"),
        ("check", "check rights and row-level security in the database"),
    ):
        sub = subparsers.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=_CONFIG, metavar="FILE")
        if word == "migrate":
            sub.add_argument("--dsn", default=_SUPERUSER_DSN, help="DSN of a superuser, by default %(default)s")
    return parser


def _serve(settings: RetrievalSettings, _: argparse.Namespace) -> int:
    serve(settings)
    return ExitCode.OK


def _migrate(settings: RetrievalSettings, options: argparse.Namespace) -> int:
    key = read_key(settings.claim_key_file)
    changed = asyncio.run(migrate(options.dsn, claim_key=key, collections=settings.collections, models=settings.models))
    sys.stdout.write("changed\n" if changed else "unchanged\n")
    return ExitCode.OK


def _reembed(settings: RetrievalSettings, _: argparse.Namespace) -> int:
    for collection, model, count in asyncio.run(reembed(settings)):
        sys.stdout.write(f"{collection}: {count} vectors of {model}\n")
    return ExitCode.OK


def _check(settings: RetrievalSettings, _: argparse.Namespace) -> int:
    results = asyncio.run(check_database(settings))
    for result in results:
        sys.stdout.write(f"{'passed' if result.is_passed else 'failed'}  {result.name}\n")
    return ExitCode.OK if all(result.is_passed for result in results) else ExitCode.FAILURE


def _complain(error: SovctlError) -> None:
    sys.stderr.write(f"sovctl: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))


_COMMANDS = {"serve": _serve, "migrate": _migrate, "reembed": _reembed, "check": _check}

if __name__ == "__main__":
    with exit_on_interrupt():
        code = main()
    sys.exit(code)
