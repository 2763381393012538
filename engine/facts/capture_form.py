"""Form of a capture: types and ranges of all values, before a parser reads them.

A capture is the output of `node_probe.py` on a node, or a file that an operator gave. Errors name the node and the
field, such as `node n1: commands.holds.stdout`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from sovctl.support.errors import SovctlError

MAX_INTEGER = 2**63 - 1
"""Largest integer of a capture: sizes and times of Linux have 64 bits."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER <= value <= MAX_INTEGER


def _is_code(value: Any) -> bool:
    return value is None or (_is_integer(value) and -255 <= value <= 255)


def _is_utc(value: Any) -> bool:
    try:
        return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).year >= 2000
    except (ValueError, TypeError):
        return False


_Field = tuple[Callable[[Any], bool], str]
_TEXT: _Field = (_is_text, "a text")
_INTEGER: _Field = (_is_integer, "an integer of 64 bits")
_COMMAND: dict[str, _Field] = {"exit_code": (_is_code, "an exit code or null"), "stdout": _TEXT, "stderr": _TEXT}
_FILE: dict[str, _Field] = {
    "sha256": _TEXT,
    "mode": _TEXT,
    "link": _TEXT,
    "uid": _INTEGER,
    "gid": _INTEGER,
    "size": _INTEGER,
    "mtime_ns": _INTEGER,
    "unreadable": (lambda value: isinstance(value, bool), "true or false"),
}


def check_form(capture: Mapping[str, Any]) -> None:
    """Check the form of a capture.

    Raises:
        SovctlError: a value has another type, or is out of range; contains the first one.
    """
    for field, expected, value in _problems(capture):
        raise SovctlError(
            f"the capture has an unknown format: expected {expected}, got {_kind(value)}",
            where=f"node {capture.get('node')}: {field}",
            hint="run the command again; if the error persists, check the node",
        )


def _problems(capture: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield field, expected form and value."""
    if not _is_utc(capture.get("captured")):
        yield "captured", "a UTC time such as 2026-11-21T09:00:00Z", capture.get("captured")
    for part in ("commands", "files", "texts"):
        if not isinstance(capture.get(part), dict):
            yield part, "an object", capture.get(part)
            return
    for name, answer in capture["commands"].items():
        if not isinstance(answer, dict):
            yield f"commands.{name}", "an object", answer
            continue
        for key, (is_valid, expected) in _COMMAND.items():
            if not is_valid(answer.get(key)):
                yield f"commands.{name}.{key}", expected, answer.get(key)
    for path, entry in capture["files"].items():
        if not isinstance(entry, dict):
            yield f"files.{path}", "an object", entry
            continue
        for key, value in entry.items():
            is_valid, expected = _FILE.get(key, (lambda _: False, "a known key"))
            if not is_valid(value):
                yield f"files.{path}.{key}", expected, value
    for path, text in capture["texts"].items():
        if text is not None and not _is_text(text):
            yield f"texts.{path}", "a text or null", text


def _kind(value: Any) -> str:
    """Describe a value without its content, which can be large."""
    names = {type(None): "nothing", bool: "true or false", str: "another text", list: "a list", dict: "an object"}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a fraction" if isinstance(value, float) and math.isfinite(value) else "a number out of range"
    return names.get(type(value), "another type")
