"""Answers of OpenAI's chat completions as answers of Anthropic's messages. Pure.

| `finish_reason` | `stop_reason` |
|---|---|
| `stop`, unknown ones | `end_turn` |
| `length` | `max_tokens` |
| `tool_calls`, `function_call` | `tool_use` |
| `content_filter`, and any refusal | `refusal` |

Reasoning is omitted, because Anthropic's clients return it signed, and no other upstream can sign it. Fields of content
filters (Azure) are omitted. Source: openai 3.52, `types/chat` (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..translation import AnswerOptions, Body, arguments_of, count_in, protocol_error

_STOP_REASONS = {
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


def message_answer(answer: Mapping[str, Any], options: AnswerOptions) -> Body:
    """Return an answer of messages.

    Raises:
        UpstreamFailed: it is not an answer of chat completions with one choice.
    """
    match answer.get("choices"):
        case [{"message": dict(message)} as choice]:
            pass
        case _:
            raise protocol_error()
    blocks: list[Body] = []
    refusal = message.get("refusal")
    for text in (message.get("content"), refusal):
        if text is not None and not isinstance(text, str):
            raise protocol_error()
        if text:
            blocks.append({"type": "text", "text": text})
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise protocol_error()
    blocks += map(_tool_use, calls)
    usage = answer.get("usage")
    return {
        "id": options.answer_id,
        "type": "message",
        "role": "assistant",
        "model": answer.get("model", ""),
        "content": blocks,
        "stop_reason": stop_reason(choice.get("finish_reason"), is_refusal=bool(refusal), has_calls=bool(calls)),
        "stop_sequence": None,
        "usage": message_usage(usage if isinstance(usage, dict) else {}),
    }


def stop_reason(finish_reason: Any, *, is_refusal: bool, has_calls: bool) -> str:
    """Return the stop reason of a finish reason. Some servers end calls of tools with `stop`."""
    if is_refusal:
        return "refusal"
    reason = _STOP_REASONS.get(str(finish_reason), "end_turn")
    return "tool_use" if has_calls and reason == "end_turn" else reason


def message_usage(usage: Mapping[str, Any]) -> Body:
    """Return a usage of messages. OpenAI counts cached tokens as part of the prompt, Anthropic apart."""
    details = usage.get("prompt_tokens_details")
    cached = details if isinstance(details, dict) else {}
    read, written = count_in(cached, "cached_tokens"), count_in(cached, "cache_write_tokens")
    return {
        "input_tokens": max(0, count_in(usage, "prompt_tokens") - read - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": count_in(usage, "completion_tokens"),
    }


def _tool_use(call: Any) -> Body:
    match call:
        case {"id": str(number), "function": {"name": str(name), "arguments": text}}:
            arguments = arguments_of(text)
            if arguments is not None:
                return {"type": "tool_use", "id": number, "name": name, "input": arguments}
    raise protocol_error()
