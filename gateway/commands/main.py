"""`python -m sovctl.gateway init|serve|check|explain|keys|vault|subject|servers|edm`: the gateway's own command line.

`sovctl gateway` runs this program. sovctl's command line must not import the gateway's modules, and a node that
only runs a gateway needs nothing else. Every error ends in a message and an exit code. An internal error is reported
with its
type and position, without its message, which may contain text.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from sovctl.support.errors import ExitCode, InputError, SovctlError, SpecError
from sovctl.support.os_errors import os_error_message
from sovctl.support.processes.keyboard_interrupt import exit_on_interrupt

from ..telemetry import log
from . import edm as edm_command
from . import keys as keys_command
from . import servers as servers_command
from . import subject as subject_command
from . import vault as vault_command

_CONFIG = Path("/etc/sovctl/gateway.yaml")


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors have sovctl's format."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message.removeprefix("argument "), hint=f"{self.prog} --help")


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; return the exit code."""
    try:
        options = _parser().parse_args(arguments)
        code = _COMMANDS[options.command](options)
        sys.stdout.flush()  # detect a closed pipe here instead of in the interpreter's shutdown
        return code
    except SpecError as error:
        for problem in error.problems:
            _complain(problem)
        return error.exit_code
    except SovctlError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        _complain(SovctlError("interrupted; no file is incomplete, so the command can be repeated"))
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the remaining output
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - last error handler: no traceback is printed
        if (refused := os_error_message(error)) is not None:
            _complain(refused)
            return refused.exit_code
        _complain(SovctlError(f"internal error: {log.describe(error)}", hint="please report it, with the command"))
        return ExitCode.INTERNAL


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sovctl gateway", description="Gateway that replaces identifiers with tokens.")
    subparsers = parser.add_subparsers(dest="command", required=True)
    for word, about in (
        ("serve", "serve until stopped"),
        ("check", "check settings, keys, detector, vault and ledger; contacts no upstream"),
        ("explain", "show the decision for a request and its reasons, without sending it"),
    ):
        sub = subparsers.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=_CONFIG, metavar="FILE")
        if word != "serve":
            sub.add_argument("--json", action="store_true", help="one JSON document")
        if word == "explain":
            sub.add_argument(
                "--client", metavar="NAME", help="client of the request; without it, a client without permissions"
            )
            sub.add_argument("--path", default="/v1/chat/completions", help="path of the request")
            sub.add_argument("request", type=Path, metavar="REQUEST.json", help="- for standard input")
    _add_init(subparsers.add_parser("init", help="create a gateway on this machine, without a site"))
    keys_command.add_subcommands(
        subparsers.add_parser("keys", help="manage clients and API keys of this machine"), _CONFIG
    )
    vault_command.add_subcommands(
        subparsers.add_parser("vault", help="manage the vault's keys while gateways serve"), _CONFIG
    )
    subject_command.add_subcommands(
        subparsers.add_parser("subject", help="erase or copy the data about one subject"), _CONFIG
    )
    servers_command.add_subcommands(
        subparsers.add_parser("servers", help="drain servers of pools while gateways serve"), _CONFIG
    )
    edm_command.add_subcommands(subparsers.add_parser("edm", help="index of people and companies, as keyed hashes"))
    return parser


def _add_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--cloud", metavar="URL", help="upstream that receives tokens only; OpenAI-compatible, ends in /v1"
    )
    parser.add_argument("--cloud-model", metavar="NAME", help="model name at the cloud")
    parser.add_argument(
        "--cloud-key-file", type=Path, metavar="FILE", help="API key of the cloud, a file with mode 0600"
    )
    parser.add_argument("--pool", metavar="URL", help="your own model server, which may receive the original text")
    parser.add_argument("--pool-model", metavar="NAME", help="model name at the pool")
    parser.add_argument("--serve-as", default="assistant", metavar="NAME", help="model name for clients")
    parser.add_argument("--languages", default="en", metavar="LIST", help="languages that may leave, such as en,de")
    parser.add_argument(
        "--surfaces",
        default="chat.completions",
        metavar="LIST",
        help="APIs of cloud and pool, such as responses,messages",
    )
    parser.add_argument("--port", type=int, default=8443, help="on 127.0.0.1")


def _init(options: argparse.Namespace) -> int:
    from .init import init

    key = init(
        options.folder,
        serve_as=options.serve_as,
        languages=options.languages.split(","),
        port=options.port,
        cloud=options.cloud,
        cloud_model=options.cloud_model,
        cloud_key_file=options.cloud_key_file,
        pool=options.pool,
        pool_model=options.pool_model,
        surfaces=options.surfaces.split(","),
    )
    config = options.folder / "gateway.yaml"
    _print(f"wrote {config} and its keys in the same folder")
    _print(f"key of client app, shown once: {key}")
    _print(f"start it: sovctl gateway serve --config {config}")
    for url in (options.cloud, options.pool):
        if url and not urlsplit(url).path.strip("/"):
            sys.stderr.write(f"note: {url} has no path; most servers of this API need a path that ends in /v1\n")
    return ExitCode.OK


def _serve(options: argparse.Namespace) -> int:
    gc.disable()  # the start creates no garbage; `components` enables the collector before the first request
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the server handles it: an early reload ends nothing
    from ..settings import load_settings

    settings = load_settings(options.config)  # before the detector's libraries, whose import takes a second
    with exit_on_interrupt():
        from ..runtime.server import serve

    serve(settings, config=options.config)
    return ExitCode.OK


def _check(options: argparse.Namespace) -> int:
    from ..settings import load_settings

    settings = load_settings(options.config)
    with exit_on_interrupt():
        from .check import run_checks

    results = run_checks(settings)
    if options.json:
        _print(json.dumps([{"check": r.name, "verdict": r.verdict, "detail": r.detail} for r in results], indent=2))
    else:
        for result in results:
            _print(f"{result.verdict:<8}{result.name:<12}{result.detail}")
    return ExitCode.OK if all(result.verdict == "PASS" for result in results) else ExitCode.FAILURE


def _explain(options: argparse.Namespace) -> int:
    from ..settings import load_settings

    settings = load_settings(options.config)
    with exit_on_interrupt():
        from .explain import explain, in_words

    told = explain(settings, options.request, client=options.client, path=options.path)
    for line in [json.dumps(told, indent=2, sort_keys=True)] if options.json else in_words(told):
        _print(line)
    return ExitCode.OK


_COMMANDS = {
    "init": _init,
    "serve": _serve,
    "check": _check,
    "explain": _explain,
    "keys": keys_command.run,
    "vault": vault_command.run,
    "subject": subject_command.run,
    "servers": servers_command.run,
    "edm": edm_command.run,
}


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


def _complain(error: SovctlError) -> None:
    sys.stderr.write(f"sovctl: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
