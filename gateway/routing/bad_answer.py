"""Finds faults in a complete answer for which another model is asked. Pure.

| fault | an alternative of the answer |
|---|---|
| `empty` | has no text, no tool call and no refusal |
| `truncated` | was cut off by length, though the request set no length |
| `unknown-tool` | calls a tool that the request does not offer |
| `invalid-json` | is not the JSON that the request asks for, or violates the schema of a strict tool's arguments |

    fault_in(answer, body, family=SurfaceName.CHAT, asked_tokens=0, wants_json=False, wanted={Fault.EMPTY}, check=check)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from ..release.asked import asked_schemas
from ..release.schema import SchemaCheck
from ..release.verdict import Verdict
from ..settings import Fault, SurfaceName


class Draft(NamedTuple):
    """One alternative of an answer."""

    text: str
    calls: Sequence[tuple[str, str]]
    """Name of each called tool, and the JSON of its arguments."""
    has_more: bool
    """Whether it has other content: a refusal, sound, or a call of the provider's tools."""
    is_cut: bool
    """Whether it ended because of its length."""


def fault_in(
    answer: Mapping[str, Any],
    body: Mapping[str, Any],
    *,
    family: SurfaceName,
    asked_tokens: int,
    wants_json: bool,
    wanted: Collection[Fault],
    check: SchemaCheck,
) -> Fault | None:
    """Return the first fault of an answer among `wanted`; None without one, and for surfaces without text.

    Args:
        answer: as the client would get it.
        body: body of the request.
        asked_tokens: most tokens of an answer that the client allows; 0 if it sets no limit.
        wants_json: True if the client asks for a JSON document.
        check: compiles and caches schemas.
    """
    read = _READERS.get(family)
    if read is None or not wanted:
        return None
    drafts = read(answer)
    if Fault.EMPTY in wanted and not all(each.text.strip() or each.calls or each.has_more for each in drafts or _NONE):
        return Fault.EMPTY
    if Fault.TRUNCATED in wanted and not asked_tokens and any(each.is_cut for each in drafts):
        return Fault.TRUNCATED
    names = _tools(body) if Fault.UNKNOWN_TOOL in wanted else None
    if names is not None and any(name not in names for each in drafts for name, _ in each.calls):
        return Fault.UNKNOWN_TOOL
    if Fault.INVALID_JSON in wanted and not _is_json(drafts, body, check, wants_json=wants_json):
        return Fault.INVALID_JSON
    return None


_NONE = (Draft("", (), has_more=False, is_cut=False),)


def _is_json(drafts: Sequence[Draft], body: Mapping[str, Any], check: SchemaCheck, *, wants_json: bool) -> bool:
    asked = asked_schemas(body)
    for draft in drafts:
        if not (draft.calls or draft.has_more):
            if asked.answer is not None:
                if check.judge(asked.answer, draft.text).verdict is Verdict.FAIL:
                    return False
            elif wants_json and not _parses(draft.text):
                return False
        for name, arguments in draft.calls:
            if name in asked.tools and check.judge(asked.tools[name], arguments).verdict is Verdict.FAIL:
                return False
    return True


def _parses(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _tools(body: Mapping[str, Any]) -> set[str] | None:
    """Return the names of the tools that a request offers; None if one has no name, because it may contain several."""
    names = set()
    for tool in (*_objects(body.get("tools")), *_objects(body.get("functions"))):
        inner = tool.get("function")
        name = (inner if isinstance(inner, dict) else tool).get("name")
        if not isinstance(name, str):
            return None
        names.add(name)
    return names


def _of_chat(answer: Mapping[str, Any]) -> list[Draft]:
    drafts = []
    for choice in _objects(answer.get("choices")):
        message = choice.get("message")
        said = message if isinstance(message, dict) else {}
        calls = [_call(inner) for call in _objects(said.get("tool_calls")) if (inner := _inner(call)) is not None]
        if isinstance(said.get("function_call"), dict):
            calls.append(_call(said["function_call"]))
        has_more = bool(said.get("refusal") or said.get("audio"))
        drafts.append(Draft(_text(said.get("content")), calls, has_more, choice.get("finish_reason") == "length"))
    return drafts


def _of_completion(answer: Mapping[str, Any]) -> list[Draft]:
    return [
        Draft(_text(choice.get("text")), (), has_more=False, is_cut=choice.get("finish_reason") == "length")
        for choice in _objects(answer.get("choices"))
    ]


def _of_response(answer: Mapping[str, Any]) -> list[Draft]:
    text, calls, has_more = "", [], False
    for item in _objects(answer.get("output")):
        kind = item.get("type")
        if kind == "message":
            for part in _objects(item.get("content")):
                text += _text(part.get("text"))
                has_more = has_more or part.get("type") not in ("output_text", "text")
        elif kind in ("function_call", "custom_tool_call"):
            calls.append(_call(item))
        else:
            has_more = has_more or kind != "reasoning"
    details = answer.get("incomplete_details")
    is_cut = isinstance(details, dict) and details.get("reason") == "max_output_tokens"
    return [Draft(text, calls, has_more, is_cut)]


def _of_message(answer: Mapping[str, Any]) -> list[Draft]:
    text, calls, has_more = "", [], False
    for block in _objects(answer.get("content")):
        kind = block.get("type")
        if kind == "text":
            text += _text(block.get("text"))
        elif kind == "tool_use":
            calls.append(_call(block))
        else:
            has_more = has_more or kind not in ("thinking", "redacted_thinking")
    return [Draft(text, calls, has_more, answer.get("stop_reason") == "max_tokens")]


_READERS: Mapping[SurfaceName, Callable[[Mapping[str, Any]], list[Draft]]] = {
    SurfaceName.CHAT: _of_chat,
    SurfaceName.CHAT_BATCH: _of_chat,
    SurfaceName.COMPLETIONS: _of_completion,
    SurfaceName.RESPONSES: _of_response,
    SurfaceName.MESSAGES: _of_message,
}


def _inner(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    inner = call.get("function", call.get("custom"))
    return inner if isinstance(inner, dict) else None


def _call(call: Mapping[str, Any]) -> tuple[str, str]:
    arguments = call.get("arguments", call.get("input"))
    return _text(call.get("name")), arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in _objects(value))
    return value if isinstance(value, str) else ""
