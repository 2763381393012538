"""Annotated documents, one JSON object a line: texts with the spans of their identifiers.

    {"text": "Write to anna@example.com", "language": "en", "spans": [{"start": 9, "end": 25, "type": "EMAIL"}]}

Positions count characters of `text`. Types are whatever the set calls them. `categories` lists the special categories
of personal data that the text mentions next to a person, such as `["HEALTH"]`; `set` is the name of its set. Keys that
are not listed are left alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError, Problem, SpecError

_SHOWN = 50  # problems of one file; the rest is counted


@dataclass(frozen=True, slots=True)
class Span:
    """One identifier."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Document:
    """One text."""

    text: str
    language: str
    spans: tuple[Span, ...]
    categories: frozenset[str] | None = None
    """Special categories of personal data; None if the set does not annotate them."""
    set: str = ""
    """Name of the set, for false hits by set."""


def read_documents(path: Path) -> list[Document]:
    """Return every document of a file.

    Raises:
        InputError: the file can't be read, or has no documents.
        SpecError: everything wrong in it, each problem with its line; never with its text.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"expected a readable file, got: {error.strerror}", where=str(path)) from error
    documents: list[Document] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        wrong, document = _document(line)
        problems += [Problem(each, where=f"{path}:{number}") for each in wrong]
        if document is not None:
            documents.append(document)
    if problems:
        more = len(problems) - _SHOWN
        rest = [Problem(f"expected no problem, got {more} more like these", where=str(path))] if more > 0 else []
        raise SpecError([*problems[:_SHOWN], *rest])
    if not documents:
        raise InputError("expected at least one document, got none", where=str(path))
    return documents


def _document(line: bytes) -> tuple[list[str], Document | None]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return ["expected UTF-8, got other bytes"], None
    except (json.JSONDecodeError, RecursionError):
        return ["expected one JSON object, got something else"], None
    if not isinstance(found, dict):
        return [f"expected one JSON object, got {type(found).__name__}"], None
    wrong = [
        f"{name}: expected {wanted.__name__}, got {_named(found, name)}"
        for name, wanted in (("text", str), ("language", str), ("spans", list))
        if not isinstance(found.get(name), wanted)
    ]
    if wrong:
        return wrong, None
    spans: list[Span] = []
    for index, each in enumerate(found["spans"]):
        problem = _span_problem(each, len(found["text"]))
        if problem:
            wrong.append(f"spans[{index}]{problem}")
        else:
            spans.append(Span(each["start"], each["end"], each["type"]))
    categories = found.get("categories")
    if categories is not None and not (isinstance(categories, list) and all(isinstance(c, str) for c in categories)):
        wrong.append("categories: expected a list of str, got another value")
    if wrong:
        return wrong, None
    ordered = tuple(sorted(spans, key=lambda s: (s.start, s.end, s.type)))
    named = None if categories is None else frozenset(categories)
    return [], Document(found["text"], found["language"], ordered, named, str(found.get("set", "")))


def _span_problem(span: Any, length: int) -> str | None:
    if not isinstance(span, dict):
        return f": expected an object, got {type(span).__name__}"
    for name in ("start", "end"):
        if not isinstance(span.get(name), int) or isinstance(span.get(name), bool):
            return f".{name}: expected an int, got {_named(span, name)}"
    if not isinstance(span.get("type"), str) or not span["type"]:
        return f".type: expected a str, got {_named(span, 'type')}"
    if not 0 <= span["start"] < span["end"] <= length:
        return f": expected 0 <= start < end <= {length}, got {span['start']} and {span['end']}"
    return None


def _named(holder: dict[str, Any], name: str) -> str:
    return type(holder[name]).__name__ if name in holder else "nothing"
