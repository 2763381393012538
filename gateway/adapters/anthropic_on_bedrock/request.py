"""Requests of Anthropic's messages as requests of Bedrock's Converse. Pure.

| messages | Converse |
|---|---|
| `system` | `system`, blocks of text |
| blocks `text`, `image`, `document` | `text`, `image`, `document`, with the media type as `format` |
| blocks `tool_use`, `tool_result` | `toolUse`, `toolResult`; `is_error` as `status` |
| `cache_control` of a block or tool | omitted; it only changes speed and price |
| `tools`, `tool_choice`: auto, any, tool | `toolConfig`; `none` only without tools in the request |
| `max_tokens`, `temperature`, `top_p`, `stop_sequences` | `inferenceConfig` |
| `output_config.format` | `outputConfig.textFormat`, with the schema as a string |
| `top_k`, `thinking`, `output_config.effort` | `additionalModelRequestFields`, for models of Anthropic |

Converse was chosen over the OpenAI-compatible API, because it serves every model of Bedrock that reads messages.
Source: Amazon Bedrock API reference, Converse (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..content import json_text, objects_in, parts_of, string_in, text_of
from ..fields import FieldRules
from ..translation import Body, Inexpressible, RequestOptions

_INFERENCE = FieldRules(
    renamed={
        "max_tokens": "maxTokens",
        "temperature": "temperature",
        "top_p": "topP",
        "stop_sequences": "stopSequences",
    },
    read=frozenset(
        {
            *("model", "messages", "system", "tools", "tool_choice", "stream", "output_config", "output_format"),
            *("thinking", "top_k"),
        }
    ),
    dropped=frozenset({"metadata", "cache_control", "cache_salt"}),
    neutral={"service_tier": ("auto", "standard_only"), "speed": ("standard",), "inference_geo": ()},
)
_MESSAGE = FieldRules(read=frozenset({"role", "content"}))
_TOOL = FieldRules(
    renamed={"name": "name", "description": "description", "strict": "strict"},
    read=frozenset({"type", "input_schema"}),
    dropped=frozenset({"cache_control", "eager_input_streaming"}),
    neutral={"defer_loading": (False,)},
)
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_ANTHROPIC = "anthropic."
"""Part of the names of Anthropic's models, with and without the prefix of an inference profile."""
_FORMAT_NAME = "answer"


def converse_request(body: Mapping[str, Any], options: RequestOptions) -> Body:
    """Return a request of Converse, without the model, which is in the path.

    Raises:
        Inexpressible: a field has no equivalent.
    """
    inference = _INFERENCE.apply(body)
    made: Body = {**_conversation(body), "inferenceConfig": inference}
    config = body.get("output_config") or {}
    if not isinstance(config, dict) or config.keys() - {"effort", "format"}:
        raise Inexpressible("output_config")
    if (wanted := config.get("format") or body.get("output_format")) is not None:
        made["outputConfig"] = {"textFormat": _format(wanted)}
    more = {name: body[name] for name in ("top_k", "thinking") if body.get(name) is not None}
    if config.get("effort") is not None:
        more["output_config"] = {"effort": config["effort"]}
    if more:
        if _ANTHROPIC not in options.model:
            raise Inexpressible(min(more))
        made["additionalModelRequestFields"] = more
    return made


def count_request(body: Mapping[str, Any], _options: RequestOptions) -> Body:
    """Return a request of CountTokens for a request of messages.

    Raises:
        Inexpressible: a field has no equivalent.
    """
    _INFERENCE.apply(body)
    return {"input": {"converse": _conversation(body)}}


def _conversation(body: Mapping[str, Any]) -> Body:
    made: Body = {"messages": []}
    documents = iter(range(1, 1 << 30))
    for index, message in enumerate(objects_in(body.get("messages"), "messages")):
        where = f"messages[{index}]"
        _MESSAGE.apply(message, where=f"{where}.")
        role = message.get("role")
        if role not in ("user", "assistant"):
            raise Inexpressible(f"{where}.role")
        blocks = parts_of(message.get("content"), f"{where}.content")
        content = [
            part
            for number, block in enumerate(blocks)
            for part in _parts(block, f"{where}.content[{number}]", documents)
        ]
        made["messages"].append({"role": role, "content": content})
    system = parts_of(body.get("system"), "system")
    if system:
        made["system"] = [_text(block, f"system[{number}]") for number, block in enumerate(system)]
    if tools := _tool_config(body):
        made["toolConfig"] = tools
    return made


def _parts(block: Body, where: str, documents: Iterator[int]) -> Iterator[Body]:
    match block.get("type"):
        case "text":
            yield _text(block, where)
        case "image":
            yield {"image": _image(block, where)}
        case "document":
            yield from _document(block, where, documents)
        case "tool_use":
            if not isinstance(block.get("input"), dict):
                raise Inexpressible(f"{where}.input")
            use = {"toolUseId": string_in(block, "id", where), "name": string_in(block, "name", where)}
            yield {"toolUse": {**use, "input": block["input"]}}
        case "tool_result":
            content: list[Body] = []
            for number, each in enumerate(parts_of(block.get("content"), f"{where}.content")):
                if each.get("type") not in ("text", "image", "document"):
                    raise Inexpressible(f"{where}.content[{number}].type")
                content += _parts(each, f"{where}.content[{number}]", documents)
            result: Body = {"toolUseId": string_in(block, "tool_use_id", where), "content": content or [{"text": " "}]}
            yield {"toolResult": result | ({"status": "error"} if block.get("is_error") else {})}
        case "thinking":
            signed = {"text": text_of(block, where, name="thinking"), "signature": string_in(block, "signature", where)}
            yield {"reasoningContent": {"reasoningText": signed}}
        case "redacted_thinking":
            yield {"reasoningContent": {"redactedContent": string_in(block, "data", where)}}
        case _:
            raise Inexpressible(f"{where}.type")


def _text(block: Body, where: str) -> Body:
    if block.get("type") != "text":
        raise Inexpressible(f"{where}.type")
    return {"text": text_of(block, where)}


def _image(block: Body, where: str) -> Body:
    match block.get("source"):
        case {"type": "base64", "media_type": str(kind), "data": str(data)} if kind in _IMAGES:
            return {"format": _IMAGES[kind], "source": {"bytes": data}}
    raise Inexpressible(f"{where}.source")


def _document(block: Body, where: str, documents: Iterator[int]) -> Iterator[Body]:
    """Yield a document under a neutral name, because names may contain few characters; its title is text before it."""
    if isinstance(cited := block.get("citations"), dict) and cited.get("enabled"):
        raise Inexpressible(f"{where}.citations")
    for name in ("title", "context"):
        if isinstance(text := block.get(name), str):
            yield {"text": text}
    match block.get("source"):
        case {"type": "text", "data": str(text)}:
            yield {"text": text}
        case {"type": "content", "content": content}:
            for number, part in enumerate(parts_of(content, f"{where}.source.content")):
                yield _text(part, f"{where}.source.content[{number}]")
        case {"type": "base64", "media_type": "application/pdf", "data": str(data)}:
            yield {"document": {"format": "pdf", "name": f"document-{next(documents)}", "source": {"bytes": data}}}
        case _:
            raise Inexpressible(f"{where}.source")


def _tool_config(body: Mapping[str, Any]) -> Body:
    tools = [_tool(tool, f"tools[{index}]") for index, tool in enumerate(objects_in(body.get("tools"), "tools"))]
    choice = body.get("tool_choice")
    if not tools:
        if choice is not None and choice != {"type": "none"}:
            raise Inexpressible("tool_choice")
        return {}
    match choice:
        case None:
            return {"tools": tools}
        case {"disable_parallel_tool_use": True}:
            raise Inexpressible("tool_choice.disable_parallel_tool_use")
        case {"type": "auto" | "any" as kind}:
            return {"tools": tools, "toolChoice": {kind: {}}}
        case {"type": "tool", "name": str(name)}:
            return {"tools": tools, "toolChoice": {"tool": {"name": name}}}
    raise Inexpressible("tool_choice")


def _tool(tool: Body, where: str) -> Body:
    if tool.get("type", "custom") not in (None, "custom"):
        raise Inexpressible(f"{where}.type")
    spec = _TOOL.apply(tool, where=f"{where}.")
    if not isinstance(spec.get("name"), str):
        raise Inexpressible(f"{where}.name")
    return {"toolSpec": {**spec, "inputSchema": {"json": tool.get("input_schema") or {"type": "object"}}}}


def _format(wanted: Any) -> Body:
    if not isinstance(wanted, dict) or not isinstance(schema := wanted.get("schema"), dict):
        raise Inexpressible("output_config.format")
    named = {"name": _FORMAT_NAME, "schema": json_text(schema, "output_config.format")}
    return {"type": "json_schema", "structure": {"jsonSchema": named}}
