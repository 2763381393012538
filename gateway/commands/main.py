"""`python -m sovctl.gateway init|serve|check|explain|keys|vault|edm`: the gateway as a program of its own.

`sovctl gateway` runs exactly this. The command line of sovctl may not import the gateway's modules, and a node that
only runs a gateway needs no more than this. Whatever goes wrong ends in words and an exit code; what is our own mistake
in its kind and place, without its message, which may hold text.
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
from sovctl.support.keyboard_interrupt import exit_on_interrupt
from sovctl.support.os_errors import os_error_message

from ..telemetry import log
from . import edm as edm_command
from . import keys as keys_command
from . import vault as vault_command

_CONFIG = Path("/etc/sovctl/gateway.yaml")


class _Parser(argparse.ArgumentParser):
    """One whose errors are as all others."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message.removeprefix("argument "), hint=f"{self.prog} --help")


def main(arguments: list[str] | None = None) -> int:
    """Run one of the words; the exit code."""
    try:
        options = _parser().parse_args(arguments)
        code = _WORDS[options.word](options)
        sys.stdout.flush()  # a reader that went away is noticed here, not by the interpreter after us
        return code
    except SpecError as error:
        for problem in error.problems:
            _complain(problem)
        return error.exit_code
    except SovctlError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        _complain(SovctlError("interrupted; nothing is half written, the same command can be run again"))
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of the output goes nowhere
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - the door: nothing may pass as a traceback
        if (refused := os_error_message(error)) is not None:
            _complain(refused)
            return refused.exit_code
        _complain(SovctlError(f"our mistake: {log.describe(error)}", hint="please report it, with what you had said"))
        return ExitCode.INTERNAL


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sovctl gateway", description="The tokenizing gateway.")
    words = parser.add_subparsers(dest="word", required=True)
    for word, about in (
        ("serve", "serve until stopped"),
        ("check", "try settings, keys, detector, vault and ledger, and say what works"),
        ("explain", "say where a request would go and why, without sending it"),
    ):
        sub = words.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=_CONFIG, metavar="FILE")
        if word != "serve":
            sub.add_argument("--json", action="store_true", help="one JSON document")
        if word == "explain":
            sub.add_argument("--client", metavar="NAME", help="whose request it is; anyone's when absent")
            sub.add_argument("--path", default="/v1/chat/completions", help="where it would be sent")
            sub.add_argument("request", type=Path, metavar="REQUEST.json", help="- for standard input")
    _add_init(words.add_parser("init", help="make a gateway on this machine, without a site around it"))
    keys_command.add_words(words.add_parser("keys", help="clients and API keys of this machine"), _CONFIG)
    vault_command.add_words(words.add_parser("vault", help="the vault's keys, while gateways serve"), _CONFIG)
    edm_command.add_words(words.add_parser("edm", help="the site's own people and companies, as keyed hashes"))
    return parser


def _add_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--cloud", metavar="URL", help="what sees tokens only; OpenAI-compatible, ends in /v1")
    parser.add_argument("--cloud-model", metavar="NAME", help="what the cloud calls the model")
    parser.add_argument("--cloud-key-file", type=Path, metavar="FILE", help="our API key there, a file with mode 0600")
    parser.add_argument("--pool", metavar="URL", help="a model server of your own, which may see raw text")
    parser.add_argument("--pool-model", metavar="NAME", help="what the pool calls the model")
    parser.add_argument("--serve-as", default="assistant", metavar="NAME", help="the model name clients ask for")
    parser.add_argument("--languages", default="en", metavar="LIST", help="languages that may leave, such as en,de")
    parser.add_argument(
        "--surfaces",
        default="chat.completions",
        metavar="LIST",
        help="APIs that they serve, such as responses,messages",
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
    _print(f"wrote {config}, with keys of its own beside it")
    _print(f"key of client app, shown once: {key}")
    _print(f"start it: sovctl gateway serve --config {config}")
    for url in (options.cloud, options.pool):
        if url and not urlsplit(url).path.strip("/"):
            sys.stderr.write(f"note: {url} has no path; most servers of this API want one that ends in /v1\n")
    return ExitCode.OK


def _serve(options: argparse.Namespace) -> int:
    gc.disable()  # nothing of what a start makes is garbage; `parts` turns it on again, before the first request
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the server takes it: a reload that comes early ends nothing
    from ..settings import load_settings

    settings = load_settings(options.config)  # before the second that the detector's libraries take
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


_WORDS = {
    "init": _init,
    "serve": _serve,
    "check": _check,
    "explain": _explain,
    "keys": keys_command.run,
    "vault": vault_command.run,
    "edm": edm_command.run,
}


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


def _complain(error: SovctlError) -> None:
    sys.stderr.write(f"sovctl: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
