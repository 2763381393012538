"""Strict YAML parser that returns plain values and their line numbers: site.yaml, a catalogue, waivers.

Restrictions, for safety and to avoid surprising values:

- Scalars follow the core schema of YAML 1.2: `NO`, `12:30` and dates are strings. A number with a leading zero is a
  string, because parsers interpret it differently.
- A duplicate key is a problem.
- Anchors, aliases, merge keys and tags are rejected, because they can multiply values.
- Invisible characters are rejected: control characters and bidirectional controls.
- Limits: 1 MiB, 16 levels, 100,000 values.

    text = read_file(Path("waivers.yaml"), what="the waivers")     # or an error with file, line and remedy
    text = read_text(b"pools:\\n- name: chat\\n")
    text.value                       # {"pools": [{"name": "chat"}]}
    text.line("pools[0].name")       # 2
    text.line("pools[chat].name")    # 2: items are found by name too
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .atomic_files import read_error_reason
from .errors import InputError, Problem, SpecError

MAX_BYTES = 1 << 20  # a site of 10,000 nodes is about 600 KB
MAX_DEPTH = 16  # the deepest field of the spec is at 6
MAX_VALUES = 100_000
MAX_DIGITS = 18  # integers of the spec are below 2^53; longer digit sequences are strings

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# YAML 1.2.2, 10.3.2, tag resolution of the core schema; without octal, infinity and leading zeros.
_SCALARS: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"|~|null|Null|NULL"), lambda text: None),  # noqa: ARG005 - every row has the same shape
    (re.compile(r"true|True|TRUE|false|False|FALSE"), lambda text: text.lower() == "true"),
    (re.compile(rf"[-+]?(0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})"), int),
    (re.compile(rf"0x[0-9a-fA-F]{{1,{MAX_DIGITS - 4}}}"), lambda text: int(text, 16)),
    (re.compile(r"[-+]?(0|[1-9][0-9]{0,14})?\.[0-9]{1,15}([eE][-+]?[0-9]{1,2})?"), float),
    (re.compile(r"[-+]?(0|[1-9][0-9]{0,14})(\.[0-9]{0,15})?[eE][-+]?[0-9]{1,2}"), float),
)

# Control characters except tab and line feed, and bidirectional controls (Unicode TR 36, 3.5; CVE-2021-42574).
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# Messages of libyaml, and hints for them.
_SYNTAX_HINTS = (
    ("tab character", "indent with spaces, not tabs"),
    ("cannot start any token", "indent with spaces, not tabs, and put text that starts with @ ` % or & in quotes"),
    (
        "mapping values are not allowed",
        "put text that contains a colon and a space in quotes, or check the indentation",
    ),
    ("did not find expected key", "check the indentation of this line and the one above"),
    ("did not find expected '-'", "check the indentation: the items of a list start in one column"),
    ("unexpected end of stream", "close the quote or bracket that was opened above"),
    ("expected ',' or", "close the bracket, or put a comma between the items"),
)


class YamlSyntaxError(Exception):
    """Invalid or unsupported YAML. `where` of the problem is "line", "line:column" or empty."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem

    def placed(self, path: Path) -> Problem:
        """Return the problem with the path of the file."""
        where = ":".join(filter(None, (str(path), self.problem.where)))
        return Problem(self.problem.message, where=where, hint=self.problem.hint)


@dataclass(frozen=True)
class YamlText:
    """Plain values and their line numbers.

    Args:
        value: dicts, lists, str, int, float, bool, None; None for an empty file.
        lines: line number, from 1, of every path such as `pools[0].name`; for a mapping entry, the line of its key.
        problems: duplicate and invalid keys, in the order of the file; `where` is a path.
    """

    value: Any
    lines: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def line(self, path: str) -> int:
        """Return the line of a path, or of its nearest parent in the file."""
        path = self.by_index(path)
        while path and path not in self.lines:
            path = parent(path)
        return self.lines.get(path, 1)

    def placed(self, path: Path, problem: Problem) -> Problem:
        """Return a problem with file and line added to the path in its `where`."""
        where = f"{path}:{self.line(problem.where)}"
        return Problem(
            problem.message, where=f"{where}: {problem.where}" if problem.where else where, hint=problem.hint
        )

    def by_index(self, path: str) -> str:
        """Return a path with item names replaced by indices: `pools[chat].model` becomes `pools[0].model`."""
        found, value = "", self.value
        for step in steps(path):
            key: str | int = step
            if isinstance(value, list) and isinstance(step, str):
                names = [item.get("name") if isinstance(item, dict) else None for item in value]
                key = names.index(step) if step in names else step
            found = join(found, key)
            value = _child(value, key)
        return found


def join(path: str, step: str | int) -> str:
    """Return `path` extended by a key or an index."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def steps(path: str) -> list[str | int]:
    """Return the steps of a path: `pools[0].name` is "pools", 0, "name"."""
    found = re.findall(r"\[([^\]]*)\]|([^.\[\]]+)", path)
    return [key or (int(item) if item.isdecimal() else item) for item, key in found]


def parent(path: str) -> str:
    """Return `path` without its last step; empty at the top level."""
    return path[: max(path.rfind("."), path.rfind("["), 0)]


def _child(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None


def read_text(data: bytes) -> YamlText:
    """Parse YAML.

    Raises:
        YamlSyntaxError: too large, not UTF-8, invalid or unsupported YAML.
    """
    if len(data) > MAX_BYTES:
        raise _syntax_error(f"expected at most {MAX_BYTES} bytes, got more", "", "split the file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _syntax_error("expected UTF-8, got another encoding", str(line), "save the file as UTF-8") from None
    try:
        return _Reader(yaml.parse(text, Loader=_Loader)).document()
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _syntax_error("control character in the file", str(line), "remove it") from None
    except yaml.MarkedYAMLError as error:
        raise _libyaml_error(error) from None
    except yaml.YAMLError:
        raise _syntax_error("invalid YAML", "", "write keys and values as in examples/") from None


def read_file(path: Path, *, what: str, hint: str = "") -> YamlText:
    """Read and parse a file. Duplicate keys are returned in `problems`.

    Args:
        what: description of the file, such as "the waivers".
        hint: action if the file does not exist.

    Raises:
        InputError: unreadable file.
        SpecError: invalid or unsupported YAML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = read_error_reason(error)
        raise InputError(f"unreadable: {reason}", where=str(path), hint=hint) from None
    try:
        return read_text(data)
    except YamlSyntaxError as error:
        raise SpecError([error.placed(path)], what=what) from None


def _libyaml_error(error: yaml.MarkedYAMLError) -> YamlSyntaxError:
    words = error.problem or "cannot be read"
    mark = error.problem_mark or error.context_mark
    hint = next((hint for part, hint in _SYNTAX_HINTS if part in words), "compare with the examples")
    opened = f", in the block that starts on line {error.context_mark.line + 1}" if error.context_mark else ""
    where = f"{mark.line + 1}:{mark.column + 1}" if mark else ""
    return _syntax_error(f"invalid YAML: {words}{opened}", where, hint)


def _syntax_error(message: str, where: str, hint: str) -> YamlSyntaxError:
    return YamlSyntaxError(Problem(message, where=where, hint=hint))


class _Reader:
    """Builds values and line numbers from the events of libyaml, and rejects unsupported YAML."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._lines: dict[str, int] = {}
        self._problems: list[Problem] = []
        self._count = 0

    def document(self) -> YamlText:
        value: Any = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _at(event, "expected one document, got a second one", "remove the `---` between them")
                value = self._value(next(self._events), "", 0)
        return YamlText(value, self._lines, tuple(self._problems))

    def _value(self, event: Any, path: str, depth: int) -> Any:
        self._require_supported(event, depth)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path, depth)
        if _UNSEEN.search(event.value):
            raise _at(event, "invisible characters in the value", "type the value again")
        return resolve(event.value) if event.implicit[0] else event.value

    def _mapping(self, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        first: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                self._require_supported(event, depth)
                raise _at(event, "expected a string as key, got a list or a mapping", "write `key: value`")
            self._require_supported(event, depth)
            key = event.value
            if not key.isprintable():
                raise _at(event, "invisible characters in the key", "type the key again")
            where = join(path, key)
            if key in found:
                self._problems.append(
                    Problem(
                        f"duplicate key, on lines {first[key]} and {line}",
                        where=where,
                        hint="remove one of the two",
                    )
                )
                self._value(next(self._events), f"{where}(again)", depth + 1)
                continue
            first[key] = self._lines[where] = line
            found[key] = self._value(next(self._events), where, depth + 1)
        return found

    def _sequence(self, path: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            where = join(path, len(found))
            self._lines[where] = event.start_mark.line + 1
            found.append(self._value(event, where, depth + 1))
        return found

    def _require_supported(self, event: Any, depth: int) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise _at(event, f"expected at most {MAX_VALUES} values, got more", "split the file")
        if depth > MAX_DEPTH:
            raise _at(event, f"expected at most {MAX_DEPTH} levels, got more", "compare with the examples")
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise _at(event, "anchors and aliases are not supported", "repeat the value")
        if event.tag:
            raise _at(event, "tags (!) are not supported", "remove the tag, or put the text in quotes")


def _at(event: Any, message: str, hint: str) -> YamlSyntaxError:
    return _syntax_error(message, f"{event.start_mark.line + 1}:{event.start_mark.column + 1}", hint)


def resolve(text: str) -> Any:
    """Return the value of a scalar without quotes: None, bool, int, float, or the string."""
    for pattern, convert in _SCALARS:
        if pattern.fullmatch(text):
            return convert(text)
    return text
