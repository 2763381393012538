"""The table of arguments and options in every page of docs/commands, generated from the commands themselves.

python -m sovctl.cli.documentation docs/commands     # writes them; a test holds them current

A page has, for each command, the two marks `<!-- options: sovctl plan -->` and `<!-- end of options -->`; what stands
between them is ours, everything else belongs to whoever writes the page.
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

_BLOCK = re.compile(r"<!-- options: (?P<words>[a-z ]+) -->\n.*?<!-- end of options -->", re.DOTALL)
_LIST = re.compile(r"<list\[(\w+)\]>")  # typer's way of saying "may be given again"


def commands() -> dict[str, Any]:
    """Every command that does something, by the words that run it: `sovctl audit verify` and so on, in help's order."""
    import typer

    from .main import app

    return dict(_leaves("sovctl", typer.main.get_command(app)))


def _leaves(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
        return
    for name, each in below.items():
        is_default = name == getattr(command, "unless_named", None)
        yield from _leaves(words if is_default else f"{words} {name}", each)


def options(words: str) -> list[tuple[str, str]]:
    """Arguments and options of a command as `--help` has them: (how it is written, what it means with its default)."""
    command = commands()[words]
    context = command.make_context(words, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in command.params if not each.hidden]
    return [(_LIST.sub(r"<\1>", left), " ".join(right.split())) for left, right in filter(None, records)]


def table(words: str) -> str:
    """The options of a command in Markdown; a sentence when there are none."""
    rows = [f"| `{left}` | {_cell(right)} |" for left, right in options(words)]
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else "No options."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def renew(page: str, *, where: str = "") -> str:
    """A page with its tables made anew.

    Args:
        where: the page's name, for messages.

    Raises:
        InputError: a mark names no command.
    """
    known = commands()

    def block(found: re.Match[str]) -> str:
        words = found["words"]
        if words not in known:
            raise InputError(f"expected a command, got {words!r}", where=where, hint=f"one of {', '.join(known)}")
        return f"<!-- options: {words} -->\n{table(words)}\n<!-- end of options -->"

    return _BLOCK.sub(block, page)


def documented(page: str) -> list[str]:
    """The commands whose tables a page has."""
    return [found["words"] for found in _BLOCK.finditer(page)]


def main() -> None:
    """Renew every page of the folder that is named."""
    with handle_errors():
        if len(sys.argv) != 2:
            raise InputError("expected a folder", hint="python -m sovctl.cli.documentation docs/commands")
        for path in sorted(Path(sys.argv[1]).glob("*.md")):
            write_atomic(path, renew(path.read_text(), where=str(path)))


if __name__ == "__main__":
    main()
