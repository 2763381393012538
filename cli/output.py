"""All output goes through here: results to standard output, everything else to standard error.

Rules: colours only on a terminal and never under NO_COLOR; progress only on a terminal, plain lines elsewhere;
`--json` prints one JSON document and nothing else on standard output; no capital at the start of a message, no full
stop at its end.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
VERDICT_STYLES = {"PASS": "green", "WARN": "yellow", "FAIL": "red", "UNKNOWN": "red", "N/A": "dim"}


def prepare() -> None:
    """Make the standard streams fit to be written to, whatever the shell, cron or an old terminal left of them.

    What is closed becomes /dev/null, so that neither a message fails nor a file of ours gets the number of a stream;
    what a terminal has no character for is shown as its code.
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
    """True when `stream` (standard output by default) is a terminal and NO_COLOR is unset or empty."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style(text: str, name: str, stream: Any = None) -> str:
    """`text` in one of the names of `_STYLES`, where the stream can show it."""
    return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if has_colour(stream) else text


def line(text: str = "") -> None:
    """One line of result."""
    sys.stdout.write(text + "\n")


def info(text: str) -> None:
    """One line for the person, not for the pipe; lost where nobody can read it, which changes no exit code."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def document(value: Any) -> None:
    """One JSON document, keys sorted, as the whole result."""
    sys.stdout.write(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, widest: int | None = None) -> None:
    """Columns as wide as their content; the last one is cut, with an ellipsis, at the terminal's edge.

    Args:
        widest: total width; the terminal's when it is one, else unlimited.
    """
    body = [[str(cell) for cell in row] for row in rows]
    widths = [max([len(h), *(len(row[i]) for row in body)]) for i, h in enumerate(headings)]
    limit = widest or (shutil.get_terminal_size().columns if sys.stdout.isatty() else 0)
    for index, row in enumerate([list(headings), *body]):
        text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        if limit and len(text) > limit:
            text = text[: limit - 1] + "…"
        line(style(text, "bold") if index == 0 else _coloured_verdict(text))


def _coloured_verdict(text: str) -> str:
    first = text.split(" ", 1)[0]
    return style(text, VERDICT_STYLES[first]) if first in VERDICT_STYLES and VERDICT_STYLES[first] != "green" else text


def problem(message: str, *, hint: str = "") -> None:
    """An error, with the one thing to try."""
    info(f"{style('sovctl:', 'red', sys.stderr)} {message}")
    if hint:
        info(f"{style('hint:', 'cyan', sys.stderr)} {hint}")


def can_ask() -> bool:
    """True when a person can answer: both input and messages are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def progress(text: str) -> None:
    """What is happening now: one line that is written over on a terminal that can, nothing elsewhere."""
    if _can_write_over():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{text[:width]}")
        sys.stderr.flush()


def progress_done() -> None:
    """Clear the line of `progress`."""
    if _can_write_over():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _can_write_over() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
