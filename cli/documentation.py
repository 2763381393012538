"""Generates the tables of arguments and options in docs/commands from the commands.

python -m sovctl.cli.documentation docs/commands     # updates the pages; a test fails if one is outdated

For each command, a page has the two marks `<!-- options: sovctl plan -->` and `<!-- end of options -->`. Only the text
between the marks is generated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from .error_handler import handle_errors

_BLOCK = re.compile(r"<!-- options: (?P<words>[a-z -]+) -->\n.*?<!-- end of options -->", re.DOTALL)
_LIST = re.compile(r"<list\[(\w+)\]>")  # typer's notation for a repeatable option


def commands() -> dict[str, Any]:
    """Return all visible commands by full name (`sovctl audit verify`), in the order of the help."""
    import typer

    from .main import app

    return dict(_leaves("sovctl", typer.main.get_command(app)))


def _leaves(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if command.hidden:
        return
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
        return
    for name, each in below.items():
        is_default = name == getattr(command, "default_command", None)
        yield from _leaves(words if is_default else f"{words} {name}", each)


def options(words: str) -> list[tuple[str, str]]:
    """Return (syntax, meaning with default) of each argument and option of a command, as in `--help`."""
    command = commands()[words]
    context = command.make_context(words, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in command.params if not each.hidden]
    return [(_LIST.sub(r"<\1>", left), " ".join(right.split())) for left, right in filter(None, records)]


def table(words: str) -> str:
    """Return the options of a command as a Markdown table, or the text `No options.`."""
    rows = [f"| `{left}` | {_cell(right)} |" for left, right in options(words)]
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else "No options."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def updated(page: str, *, where: str = "") -> str:
    """Return a page with current tables.

    Args:
        where: name of the page, for error messages.

    Raises:
        InputError: a mark names an unknown command.
    """
    known = commands()

    def block(found: re.Match[str]) -> str:
        words = found["words"]
        if words not in known:
            raise InputError(f"unknown command {words!r}", where=where, hint=f"use one of {', '.join(known)}")
        return f"<!-- options: {words} -->\n{table(words)}\n<!-- end of options -->"

    return _BLOCK.sub(block, page)


def documented(page: str) -> list[str]:
    """Return the commands whose tables a page contains."""
    return [found["words"] for found in _BLOCK.finditer(page)]


def main() -> None:
    """Update all pages in the folder given as argument."""
    with handle_errors():
        if len(sys.argv) != 2:
            raise InputError("missing argument: a folder", hint="python -m sovctl.cli.documentation docs/commands")
        for path in sorted(Path(sys.argv[1]).glob("*.md")):
            write_atomic(path, updated(path.read_text(), where=str(path)))


if __name__ == "__main__":
    main()
