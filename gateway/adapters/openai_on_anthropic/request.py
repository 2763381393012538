"""Requests of OpenAI's chat completions as requests of Anthropic's messages. Pure.

| chat completions | messages |
|---|---|
| messages of `system` and `developer` | blocks of `system`, in their order |
| messages of `user` and `tool` without another one between | one message of `user`, results of tools first |
| `tool_calls`, with `arguments` as a string | blocks `tool_use`, with `input` as an object |
| `image_url`, `file` with a PDF | blocks `image`, `document` |
| `tool_choice`: auto, none, required, a function | auto, none, any, tool |
| `parallel_tool_calls: false` | `disable_parallel_tool_use` |
| `max_completion_tokens`, `max_tokens` | `max_tokens`; the upstream's `default_max_tokens` if absent |
| `stop` | `stop_sequences` |
| `reasoning_effort` | `output_config.effort`; `none` disables thinking |
| `response_format` with a JSON schema | `output_config.format` |

Source: types of openai 3.52 and anthropic 2.12; "OpenAI SDK compatibility" of Anthropic's documentation, which also
moves system messages to the beginning, and reads no `seed` (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..content import data_url, objects_in, parts_of, string_in, text_of
from ..fields import FieldRules
from ..translation import Body, Inexpressible, RequestOptions, arguments_of

_RULES = FieldRules(
    renamed={"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "stream": "stream"},
    read=frozenset(
        {
            *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens"),
            *("max_completion_tokens", "stop", "response_format", "reasoning_effort", "stream_options"),
        }
    ),
    dropped=frozenset(
        {
            "seed",  # OpenAI guarantees no repeatable answer
            "prediction",  # only speeds up an answer
            *("user", "safety_identifier", "metadata", "store"),  # the provider's bookkeeping
            *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "cache_salt"),  # speed
            "include_reasoning",
        }
    ),
    neutral={
        "n": (1,),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "logit_bias": ({},),
        "frequency_penalty": (0,),
        "presence_penalty": (0,),
        "modalities": (["text"],),
        "service_tier": ("auto", "default"),
        "verbosity": ("medium",),
        "functions": ([],),
        "function_call": ("none", "auto"),
    },
)
_MESSAGE = FieldRules(
    read=frozenset({"role", "content", "tool_calls", "tool_call_id", "refusal"}),
    dropped=frozenset(
        {
            "name",  # of a speaker; Anthropic's own compatible API ignores it
            *("reasoning", "reasoning_content"),  # of earlier turns, which a model does not read again
            "annotations",  # of the model's earlier text
        }
    ),
    neutral={"function_call": (), "audio": ()},
)
_TOOL = FieldRules(renamed={"name": "name", "description": "description", "strict": "strict"}, read={"parameters"})
_EFFORTS = {"minimal": "low", **{each: each for each in ("low", "medium", "high", "xhigh", "max")}}
"""`output_config.effort` by `reasoning_effort`."""
_CHOICES: Mapping[str, str] = {"auto": "auto", "none": "none", "required": "any"}
_MOST_HOT = 1  # Anthropic's temperature is from 0 to 1, OpenAI's from 0 to 2
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"


def messages_request(body: Mapping[str, Any], options: RequestOptions) -> Body:
    """Return a request of messages.

    Raises:
        Inexpressible: a field has no equivalent.
    """
    made = _RULES.apply(body)
    if (heat := made.get("temperature")) is not None and not (
        isinstance(heat, int | float) and not isinstance(heat, bool) and 0 <= heat <= _MOST_HOT
    ):
        raise Inexpressible("temperature")
    system, messages = _messages(objects_in(body.get("messages"), "messages"))
    if not messages:
        raise Inexpressible("messages")
    made |= {"model": options.model, "messages": messages, "max_tokens": _max_tokens(body, options)}
    if system:
        made["system"] = system
    if tools := [_tool(tool, f"tools[{index}]") for index, tool in enumerate(objects_in(body.get("tools"), "tools"))]:
        made["tools"] = tools
    if (choice := _tool_choice(body, has_tools=bool(tools))) is not None:
        made["tool_choice"] = choice
    if stop := _stop(body.get("stop")):
        made["stop_sequences"] = stop
    return made | _output(body)


def _max_tokens(body: Mapping[str, Any], options: RequestOptions) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        if (most := body.get(name)) is not None:
            if type(most) is not int or most < 1:
                raise Inexpressible(name)
            return most
    return options.max_tokens


def _stop(stop: Any) -> list[str]:
    stops = [stop] if isinstance(stop, str) else [] if stop is None else stop
    if not isinstance(stops, list) or not all(isinstance(each, str) for each in stops):
        raise Inexpressible("stop")
    return stops


def _output(body: Mapping[str, Any]) -> Body:
    """Return the fields for the effort and the format of the answer."""
    made: Body = {}
    config: Body = {}
    if (effort := body.get("reasoning_effort")) is not None:
        if effort == "none":
            made["thinking"] = {"type": "disabled"}
        elif isinstance(effort, str) and effort in _EFFORTS:
            config["effort"] = _EFFORTS[effort]
        else:
            raise Inexpressible("reasoning_effort")
    wanted = body.get("response_format")
    if wanted is not None and wanted != {"type": "text"}:
        schema = wanted.get("json_schema") if isinstance(wanted, dict) and wanted.get("type") == "json_schema" else None
        if not isinstance(schema, dict) or not isinstance(schema.get("schema"), dict):
            raise Inexpressible("response_format")
        config["format"] = {"type": "json_schema", "schema": schema["schema"]}
    return made | {"output_config": config} if config else made


def _tool(tool: Body, where: str) -> Body:
    if tool.get("type") != "function" or not isinstance(function := tool.get("function"), dict):
        raise Inexpressible(f"{where}.type")
    made = _TOOL.apply(function, where=f"{where}.function.")
    if not isinstance(made.get("name"), str):
        raise Inexpressible(f"{where}.function.name")
    parameters = function.get("parameters")
    return made | {"input_schema": parameters or {"type": "object", "properties": {}}}


def _tool_choice(body: Mapping[str, Any], *, has_tools: bool) -> Body | None:
    choice, is_parallel = body.get("tool_choice"), body.get("parallel_tool_calls")
    if not has_tools and (choice is None or choice in ("auto", "none")):
        return None
    made: Body | None = None
    if isinstance(choice, str) and choice in _CHOICES:
        made = {"type": _CHOICES[choice]}
    elif isinstance(choice, dict) and choice.get("type") == "function":
        made = {"type": "tool", "name": string_in(choice.get("function"), "name", "tool_choice.function")}
    elif choice is not None:
        raise Inexpressible("tool_choice")
    if is_parallel is False and (made is None or made["type"] != "none"):
        made = {**(made or {"type": "auto"}), "disable_parallel_tool_use": True}
    return made


def _messages(messages: list[Body]) -> tuple[list[Body], list[Body]]:
    """Return the blocks of `system`, and the messages."""
    system: list[Body] = []
    made: list[Body] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        _MESSAGE.apply(message, where=f"{where}.")
        role = message.get("role")
        if role in ("system", "developer"):
            system += [_text(part, f"{where}.content") for part in parts_of(message.get("content"), f"{where}.content")]
            continue
        if role == "assistant":
            blocks, role_made = _assistant(message, where), "assistant"
        elif role == "tool":
            blocks, role_made = [_result(message, where)], "user"
        elif role == "user":
            parts = parts_of(message.get("content"), f"{where}.content")
            blocks = [_block(part, f"{where}.content[{number}]") for number, part in enumerate(parts)]
            role_made = "user"
        else:
            raise Inexpressible(f"{where}.role")
        blocks = [block for block in blocks if block.get("text") != ""]  # Anthropic rejects empty texts
        if not blocks:
            continue
        if made and made[-1]["role"] == role_made == "user":  # results of one turn of tools belong to one message
            made[-1]["content"] += blocks
        else:
            made.append({"role": role_made, "content": blocks})
    return [block for block in system if block["text"]], made


def _assistant(message: Body, where: str) -> list[Body]:
    blocks = []
    for number, part in enumerate(parts_of(message.get("content"), f"{where}.content")):
        name = "refusal" if part.get("type") == "refusal" else "text"
        blocks.append(_text(part, f"{where}.content[{number}]", name=name))
    if (refusal := message.get("refusal")) is not None:
        blocks.append({"type": "text", "text": text_of({"text": refusal}, f"{where}.refusal")})
    for number, call in enumerate(objects_in(message.get("tool_calls"), f"{where}.tool_calls")):
        place = f"{where}.tool_calls[{number}]"
        function = call.get("function")
        if call.get("type", "function") != "function" or not isinstance(function, dict):
            raise Inexpressible(f"{place}.type")
        arguments = arguments_of(function.get("arguments"))
        if arguments is None:
            raise Inexpressible(f"{place}.function.arguments")
        name = string_in(function, "name", f"{place}.function")
        blocks.append({"type": "tool_use", "id": string_in(call, "id", place), "name": name, "input": arguments})
    return blocks


def _result(message: Body, where: str) -> Body:
    parts = parts_of(message.get("content"), f"{where}.content")
    texts = [_text(part, f"{where}.content[{number}]") for number, part in enumerate(parts)]
    call = string_in(message, "tool_call_id", where)
    return {"type": "tool_result", "tool_use_id": call, "content": [text for text in texts if text["text"]]}


def _text(part: Body, where: str, *, name: str = "text") -> Body:
    if part.get("type") != name:
        raise Inexpressible(f"{where}.type")
    return {"type": "text", "text": text_of(part, where, name=name)}


def _block(part: Body, where: str) -> Body:
    match part.get("type"):
        case "text":
            return _text(part, where)
        case "image_url":
            url = string_in(part.get("image_url"), "url", f"{where}.image_url")
            return {"type": "image", "source": _image(url, where)}
        case "file":
            data = data_url(string_in(part.get("file"), "file_data", f"{where}.file"))
            if data is None or data[0] != _PDF:
                raise Inexpressible(f"{where}.file.file_data")
            return {"type": "document", "source": {"type": "base64", "media_type": _PDF, "data": data[1]}}
    raise Inexpressible(f"{where}.type")


def _image(url: str, where: str) -> Body:
    if (data := data_url(url)) is None:
        if url[:5].lower() == "data:":
            raise Inexpressible(f"{where}.image_url.url")
        return {"type": "url", "url": url}
    if data[0] not in _IMAGES:
        raise Inexpressible(f"{where}.image_url.url")
    return {"type": "base64", "media_type": data[0], "data": data[1]}
