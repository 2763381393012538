"""Passages in a request, by the id with which an answer cites them. Pure; takes linear time.

| form | id |
|---|---|
| `documents` of the request: objects with `text`, `content` or `snippet`, or strings | `id`, else the position from 1 |
| the same list under `documents`, `passages`, `sources`, `results`, `chunks` in a tool's JSON result | as above |
| `<source id="kb-7">...</source>`, also `<document>`, `<passage>`, with `id` or `index` | that value |
| a line that begins with `[1] `, up to the next such line or an empty one | `1` |

Text of the model is skipped: messages of the assistant and calls of tools. Passages with the same id are joined.

    passages_of(body)       # {"1": "The rate is 4 %.", "kb-7": "..."}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import orjson

_LISTS = ("documents", "passages", "sources", "results", "chunks")
_TEXTS = ("text", "content", "snippet", "passage", "page_content", "body")
_IDS = ("id", "doc_id", "document_id", "source_id", "index", "number", "source")
_MAX_DEPTH = 128  # twice the nesting of a request, for JSON in its strings; deeper passages are ignored
_MODELS_OWN = frozenset({"assistant", "model"})
_CALLS = frozenset({"tool_use", "function_call", "reasoning", "thinking"})

_ID = r"[\w.:#/-]{1,40}"
_TAG = re.compile(
    rf"<(source|document|passage)\b[^<>]{{0,200}}?\b(?:id|index)[ ]?=[ ]?[\"']?({_ID})[\"']?[^<>]{{0,200}}>"
)
_LINE = re.compile(rf"(?m)^[ \t]*\[({_ID})\][ \t:]+")
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")


def passages_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the passages of a request by id."""
    found: dict[str, str] = {}
    for name, text in _passages(body, _MAX_DEPTH):
        found[name] = f"{found[name]}\n{text}" if name in found else text
    return found


def _passages(value: Any, depth_left: int) -> Iterator[tuple[str, str]]:
    if not depth_left:
        return
    if isinstance(value, str):
        yield from _in_text(value, depth_left - 1)
    elif isinstance(value, list):
        for item in value:
            yield from _passages(item, depth_left - 1)
    elif isinstance(value, Mapping):
        if value.get("role") in _MODELS_OWN or value.get("type") in _CALLS:
            return
        for key, item in value.items():
            if key in _LISTS and isinstance(item, list):
                yield from _listed(item)
            elif key != "tool_calls":
                yield from _passages(item, depth_left - 1)


def _in_text(text: str, depth_left: int) -> Iterator[tuple[str, str]]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            decoded = orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
        else:
            yield from _listed(decoded) if isinstance(decoded, list) else _passages(decoded, depth_left)
            return
    if "<" in text:
        yield from _tagged(text)
    if "[" in text:
        yield from _by_lines(text)


def _listed(items: list[Any]) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items, start=1):
        if isinstance(item, str):
            yield str(number), item
        elif isinstance(item, Mapping):
            texts = [_plain(item[key]) for key in ("title", *_TEXTS) if key in item]
            named = next((item[key] for key in _IDS if isinstance(item.get(key), str | int)), number)
            if any(texts):
                yield str(named), "\n".join(filter(None, texts))


def _plain(value: Any) -> str:
    """Return a text, or the joined texts of its parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [value]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    position, unclosed = 0, set[str]()
    while (tag := _TAG.search(text, position)) is not None:
        position = tag.end()
        if tag.group(1) in unclosed:
            continue
        end = text.find(f"</{tag.group(1)}>", position)
        if end < 0:
            unclosed.add(tag.group(1))
            continue
        yield tag.group(2), text[position:end].strip()
        position = end


def _by_lines(text: str) -> Iterator[tuple[str, str]]:
    marks = list(_LINE.finditer(text))
    for mark, following in pairwise([*marks, None]):
        assert mark is not None
        end = following.start() if following is not None else len(text)
        gap = _EMPTY_LINE.search(text, mark.end(), end)
        yield mark.group(1), text[mark.end() : gap.start() if gap else end].strip()
