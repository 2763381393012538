"""The `sovctl` command: registers the commands of `cli/commands/`, and runs the command line."""

from __future__ import annotations

import importlib
import keyword
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from sovctl.support.errors import ExitCode

from . import output
from .error_handler import handle_errors

# In the order of a first use.
COMMANDS = (
    "init",
    "validate",
    "doctor",
    "plan",
    "apply",
    "drift",
    "facts",
    "verify",
    "evaluate",
    "report",
    "waiver",
    "evidence",
    "fabric",
    "monitoring",
    "scaling",
    "golden",
    "node",
    "size",
    "bootstrap",
    "inventory",
    "lock",
    "export",
    "catalog",
    "models",
    "bundle",
    "import",
    "mirror",
    "audit",
    "gateway",
    "rag",
    "lab",
)


_RENAMED_OPTIONS = {
    "--since": "--old-size",
    "--skip-bad-rows": "--skip-invalid-rows",
    "--overlap": "--grace-period",
    "--valid-for": "--expires-in",
    "--renew": "--new-key",
}


class _Escaped(Exception):
    """Wraps an exception that typer would turn into an exit code, so that `handle_errors` receives it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _escape() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, BrokenPipeError) as error:
        raise _Escaped(error) from None


class _RootGroup(TyperGroup):
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _escape():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _escape():
            return super().invoke(ctx)


app = typer.Typer(
    name="sovctl",
    cls=_RootGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="Sovereign on-prem LLM deployment: from one site.yaml to a verified site and an auditable report.",
    epilog="Start with: sovctl init --preset lab  ·  then: sovctl plan site.yaml  ·  docs: docs/README.md",
)


def _version(wanted: bool) -> None:
    if wanted:
        from sovctl import __version__

        typer.echo(f"sovctl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_version, is_eager=True
    ),
) -> None:
    pass


for _name in COMMANDS:
    _module = f"{_name}_" if keyword.iskeyword(_name) else _name
    importlib.import_module(f"sovctl.cli.commands.{_module}").register(app)


# Typer may vendor its own copy of click, so the base class of its usage errors cannot be imported by name.
UsageProblem: Any = next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")


def _show_usage(error: Any) -> None:
    """Print a usage error in the format of all other errors."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    if (option := getattr(error, "option_name", "")) in _RENAMED_OPTIONS:
        output.problem(f"option {option} was renamed", hint=f"use {_RENAMED_OPTIONS[option]}")
        return
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "sovctl"
    message = error.format_message().rstrip(".")
    output.problem(message[:1].lower() + message[1:], hint=f"{command} --help")


@cache
def command() -> Any:
    """Return the tree of all commands."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command of the process arguments, and exit."""
    output.prepare()
    with handle_errors():
        try:
            result = command()(standalone_mode=False)
            sys.stdout.flush()  # raises BrokenPipeError here rather than in the interpreter's flush at exit
        except _Escaped as escaped:
            raise escaped.error from None
        except typer.Abort:
            raise KeyboardInterrupt from None
        except UsageProblem as error:
            _show_usage(error)
            sys.exit(ExitCode.BAD_INPUT)
        sys.exit(result if isinstance(result, int) else ExitCode.OK)
