"""Requests of Anthropic's messages as requests of OpenAI's chat completions. Pure.

| messages | chat completions |
|---|---|
| `system` | a message of `system` |
| blocks `tool_result` | messages of `tool`, each in its place |
| blocks `tool_use`, with `input` as an object | `tool_calls`, with `arguments` as a string |
| blocks `image`, `document` | `image_url`, `file`; a document of text becomes text after its title |
| `tool_choice`: auto, none, any, tool | auto, none, required, a function |
| `disable_parallel_tool_use` | `parallel_tool_calls: false` |
| `max_tokens` | `max_completion_tokens` |
| `stop_sequences` | `stop` |
| `output_config.effort`, or the budget of `thinking` | `reasoning_effort` |
| `output_config.format` | `response_format` with a JSON schema |

Source: types of anthropic 2.12 and openai 3.52 (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..content import json_text, objects_in, parts_of, string_in, text_of
from ..fields import FieldRules
from ..translation import Body, Inexpressible, RequestOptions

_RULES = FieldRules(
    renamed={
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_completion_tokens",
        "stop_sequences": "stop",
        "cache_salt": "cache_salt",  # for pools
        "chat_template_kwargs": "chat_template_kwargs",
    },
    read=frozenset(
        {
            *("model", "messages", "system", "tools", "tool_choice", "stream", "thinking"),
            *("output_config", "output_format"),
        }
    ),
    dropped=frozenset({"metadata", "cache_control"}),  # bookkeeping, and speed
    neutral={"service_tier": ("auto", "standard_only"), "speed": ("standard",), "top_k": (), "inference_geo": ()},
)
_MESSAGE = FieldRules(read=frozenset({"role", "content"}))
_TOOL = FieldRules(
    renamed={"name": "name", "description": "description", "strict": "strict"},
    read=frozenset({"type", "input_schema"}),
    dropped=frozenset({"cache_control", "eager_input_streaming"}),  # speed
    neutral={"defer_loading": (False,)},
)
_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
# Lowest budget of thinking tokens by effort (LiteLLM, constants.py, DEFAULT_REASONING_EFFORT_*; read 2026-11).
_BUDGETS = ((4096, "high"), (2048, "medium"), (0, "low"))
_FORMAT_NAME = "answer"  # OpenAI requires a name for a schema


def chat_request(body: Mapping[str, Any], _options: RequestOptions) -> Body:
    """Return a request of chat completions.

    Raises:
        Inexpressible: a field has no equivalent.
    """
    made = _RULES.apply(body)
    messages = [*_system(body.get("system"))]
    for index, message in enumerate(objects_in(body.get("messages"), "messages")):
        messages += _messages(message, f"messages[{index}]")
    made |= {"model": body.get("model"), "messages": messages}
    if body.get("stream"):
        made |= {"stream": True, "stream_options": {"include_usage": True}}
    if tools := [_tool(tool, f"tools[{index}]") for index, tool in enumerate(objects_in(body.get("tools"), "tools"))]:
        made["tools"] = tools
    return made | _tool_choice(body.get("tool_choice")) | _output(body)


def _system(system: Any) -> Iterator[Body]:
    parts = parts_of(system, "system")
    texts = [_text_part(part, f"system[{number}]") for number, part in enumerate(parts)]
    if texts:
        yield {"role": "system", "content": _shortest(texts)}


def _messages(message: Body, where: str) -> Iterator[Body]:
    _MESSAGE.apply(message, where=f"{where}.")
    blocks, role = parts_of(message.get("content"), f"{where}.content"), message.get("role")
    if role == "assistant":
        yield _assistant(blocks, where)
        return
    if role not in ("user", "system"):
        raise Inexpressible(f"{where}.role")
    parts: list[Body] = []
    for number, block in enumerate(blocks):
        place = f"{where}.content[{number}]"
        if block.get("type") != "tool_result":
            parts += _part(block, place)
            continue
        if parts:
            yield {"role": role, "content": _shortest(parts)}
            parts = []
        yield _result(block, place)
    if parts or not blocks:
        yield {"role": role, "content": _shortest(parts)}


def _assistant(blocks: list[Body], where: str) -> Body:
    texts: list[Body] = []
    calls: list[Body] = []
    for number, block in enumerate(blocks):
        place = f"{where}.content[{number}]"
        match block.get("type"):
            case "text":
                texts.append(_text_part(block, place))
            case "tool_use":
                if not isinstance(block.get("input"), dict):
                    raise Inexpressible(f"{place}.input")
                arguments = json_text(block["input"], f"{place}.input")
                function = {"name": string_in(block, "name", place), "arguments": arguments}
                calls.append({"id": string_in(block, "id", place), "type": "function", "function": function})
            case "thinking" | "redacted_thinking":
                pass  # signed for Anthropic; no other model reads it
            case _:
                raise Inexpressible(f"{place}.type")
    made: Body = {"role": "assistant", "content": _shortest(texts) if texts or not calls else None}
    return made | {"tool_calls": calls} if calls else made


def _result(block: Body, where: str) -> Body:
    """Return the message of a tool's result. It has no field for `is_error`, which the text states as well."""
    parts = parts_of(block.get("content"), f"{where}.content")
    texts = [_text_part(part, f"{where}.content[{number}]") for number, part in enumerate(parts)]
    return {
        "role": "tool",
        "tool_call_id": string_in(block, "tool_use_id", where),
        "content": _shortest(texts),
    }


def _shortest(parts: list[Body]) -> Any:
    """Return a single text as a string, which every server reads; else the parts."""
    if not parts:
        return ""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _text_part(block: Body, where: str) -> Body:
    if block.get("type") != "text":
        raise Inexpressible(f"{where}.type")
    return {"type": "text", "text": text_of(block, where)}


def _part(block: Body, where: str) -> Iterator[Body]:
    match block.get("type"):
        case "text":
            yield _text_part(block, where)
        case "image":
            yield {"type": "image_url", "image_url": {"url": _url(block, where)}}
        case "document":
            yield from _document(block, where)
        case _:
            raise Inexpressible(f"{where}.type")


def _url(block: Body, where: str) -> str:
    match block.get("source"):
        case {"type": "base64", "media_type": str(kind), "data": str(data)}:
            return f"data:{kind};base64,{data}"
        case {"type": "url", "url": str(url)}:
            return url
    raise Inexpressible(f"{where}.source")


def _document(block: Body, where: str) -> Iterator[Body]:
    if isinstance(cited := block.get("citations"), dict) and cited.get("enabled"):
        raise Inexpressible(f"{where}.citations")
    for name in ("title", "context"):
        if isinstance(text := block.get(name), str):
            yield {"type": "text", "text": text}
    match block.get("source"):
        case {"type": "text", "data": str(text)}:
            yield {"type": "text", "text": text}
        case {"type": "content", "content": content}:
            for number, part in enumerate(parts_of(content, f"{where}.source.content")):
                yield _text_part(part, f"{where}.source.content[{number}]")
        case {"type": "base64", "media_type": "application/pdf" as kind, "data": str(data)}:
            yield {"type": "file", "file": {"filename": "document.pdf", "file_data": f"data:{kind};base64,{data}"}}
        case _:
            raise Inexpressible(f"{where}.source")


def _tool(tool: Body, where: str) -> Body:
    if tool.get("type", "custom") not in (None, "custom"):
        raise Inexpressible(f"{where}.type")  # a tool that Anthropic runs
    function = _TOOL.apply(tool, where=f"{where}.")
    if not isinstance(function.get("name"), str):
        raise Inexpressible(f"{where}.name")
    if (schema := tool.get("input_schema")) is not None:
        function["parameters"] = schema
    return {"type": "function", "function": function}


def _tool_choice(choice: Any) -> Body:
    if choice is None:
        return {}
    kind = choice.get("type") if isinstance(choice, dict) else None
    made: Body
    if kind == "tool":
        named = {"name": string_in(choice, "name", "tool_choice")}
        made = {"tool_choice": {"type": "function", "function": named}}
    elif isinstance(kind, str) and kind in _CHOICES:
        made = {"tool_choice": _CHOICES[kind]}
    else:
        raise Inexpressible("tool_choice")
    return made | {"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") else made


def _output(body: Mapping[str, Any]) -> Body:
    """Return the fields for the effort and the format of the answer."""
    made: Body = {}
    config = body.get("output_config") or {}
    if not isinstance(config, dict) or config.keys() - {"effort", "format"}:
        raise Inexpressible("output_config")
    effort = config.get("effort") or _effort(body.get("thinking"))
    if effort is not None:
        if not isinstance(effort, str) or effort not in _EFFORTS:
            raise Inexpressible("output_config.effort")
        made["reasoning_effort"] = effort
    wanted = config.get("format") or body.get("output_format")
    if wanted is not None:
        if not isinstance(wanted, dict) or not isinstance(schema := wanted.get("schema"), dict):
            raise Inexpressible("output_config.format")
        named = {"name": _FORMAT_NAME, "schema": schema, "strict": True}
        made["response_format"] = {"type": "json_schema", "json_schema": named}
    return made


def _effort(thinking: Any) -> str | None:
    match thinking:
        case None | {"type": "disabled" | "adaptive"}:
            return None
        case {"type": "enabled", "budget_tokens": int(budget)}:
            return next(effort for least, effort in _BUDGETS if budget >= least or least == 0)
    raise Inexpressible("thinking")
