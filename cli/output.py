"""Output of all commands: results to standard output, messages to standard error.

- Colours and progress appear only on a terminal, and colours not if NO_COLOR is set (https://no-color.org).
- `--json` prints one JSON document, and nothing else, on standard output.
- A message starts in lower case and has no full stop.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_UNLIMITED = 1 << 20  # characters of a line that is not written to a terminal
VERDICT_STYLES = {"PASS": "green", "WARN": "yellow", "FAIL": "red", "UNKNOWN": "red", "N/A": "dim"}


def prepare() -> None:
    """Make the standard streams writable.

    A closed stream becomes /dev/null, so that no opened file receives its descriptor. A character that the terminal's
    encoding lacks is printed as an escape sequence.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def has_colour(stream: Any = None) -> bool:
    """Return whether `stream` (default: standard output) is a terminal and NO_COLOR is unset or empty."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style(text: str, name: str, stream: Any = None) -> str:
    """Return `text` in a style of `_STYLES` if `stream` has colour, else unchanged."""
    return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if has_colour(stream) else text


def line(text: str = "") -> None:
    """Print one line of the result."""
    sys.stdout.write(text + "\n")


def line_now(text: str) -> None:
    """Print one line of a result that continues, without buffering."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def info(text: str) -> None:
    """Print one line to standard error. A write error is ignored."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def document(value: Any) -> None:
    """Print the result as one JSON document with sorted keys, in parts, because a plan can have 70 MB."""
    parts = json.JSONEncoder(indent=2, sort_keys=True, ensure_ascii=False).iterencode(value)
    while text := "".join(islice(parts, 1 << 16)):
        sys.stdout.write(text)
    sys.stdout.write("\n")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table. On a terminal, its last column is cut at the width of the terminal.

    Elsewhere lines have their full length, so that programs and tests read complete values.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for number, heading in enumerate(headings, 1):
        grid.add_column(Text(heading), no_wrap=number < len(headings))  # rich shortens only columns without no_wrap
    for row in rows:
        cells = [Text(str(cell), no_wrap=True, overflow="ellipsis") for cell in row]
        grid.add_row(*cells, style=_row_style(str(row[0])))
    console = Console(
        file=sys.stdout,
        force_terminal=is_terminal,
        color_system="standard" if has_colour() else None,
        width=shutil.get_terminal_size().columns if is_terminal else _UNLIMITED,
    )
    with console.capture() as printed:
        console.print(grid)
    for text in printed.get().splitlines():
        line(text.rstrip())


def _row_style(first: str) -> str | None:
    """Return the colour of a row whose first cell is a verdict that is not PASS."""
    return VERDICT_STYLES[first] if first != "PASS" and first in VERDICT_STYLES else None


def problem(message: str, *, hint: str = "") -> None:
    """Print an error and its hint."""
    info(f"{style('sovctl:', 'red', sys.stderr)} {message}")
    if hint:
        info(f"{style('hint:', 'cyan', sys.stderr)} {hint}")


def hint(text: str) -> None:
    """Print one action for the user."""
    info(f"{style('hint:', 'cyan', sys.stderr)} {text}")


def can_ask() -> bool:
    """Return whether standard input and standard error are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def progress(text: str) -> None:
    """Print the current step, replacing the line before. Prints nothing if standard error is not a terminal."""
    if _can_write_over():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{text[:width]}")
        sys.stderr.flush()


def progress_done() -> None:
    """Erase the line of `progress`."""
    if _can_write_over():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _can_write_over() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
