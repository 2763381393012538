"""Answers of Anthropic's messages as answers of OpenAI's chat completions. Pure.

| `stop_reason` | `finish_reason` |
|---|---|
| `end_turn`, `stop_sequence`, `pause_turn`, unknown ones | `stop` |
| `max_tokens`, `model_context_window_exceeded` | `length` |
| `tool_use` | `tool_calls` |
| `refusal` | `content_filter` |

Thinking becomes `reasoning_content`, as vLLM names it. Its signature, hidden thinking and citations have no equivalent
and are omitted. Source: anthropic 2.12, `types/message.py`, `types/usage.py` (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..translation import AnswerOptions, Body, arguments_text, count_in, protocol_error

FINISH_REASONS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
OMITTED = frozenset({"redacted_thinking"})
"""Types of blocks that are omitted."""


def chat_answer(answer: Mapping[str, Any], options: AnswerOptions) -> Body:
    """Return an answer of chat completions.

    Raises:
        UpstreamFailed: it is not an answer of messages.
    """
    blocks = answer.get("content")
    if not isinstance(blocks, list) or answer.get("type") != "message":
        raise protocol_error()
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Body] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "thinking", "thinking": str(thought)}:
                thoughts.append(thought)
            case {"type": "tool_use", "id": str(call), "name": str(name), "input": dict(arguments)}:
                function = {"name": name, "arguments": arguments_text(arguments)}
                calls.append({"id": call, "type": "function", "function": function})
            case {"type": str(kind)} if kind in OMITTED:
                pass
            case _:
                raise protocol_error()
    message: Body = {"role": "assistant", "content": "".join(texts) if texts or not calls else None, "refusal": None}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": finish_reason(answer.get("stop_reason")),
    }
    usage = answer.get("usage")
    return {
        "id": options.answer_id,
        "object": "chat.completion",
        "created": options.created_s,
        "model": answer.get("model", ""),
        "choices": [choice],
        "usage": chat_usage(usage if isinstance(usage, dict) else {}),
    }


def finish_reason(stop_reason: Any) -> str:
    """Return the finish reason of a stop reason."""
    return FINISH_REASONS.get(str(stop_reason), "stop")


def chat_usage(usage: Mapping[str, Any]) -> Body:
    """Return a usage of chat completions. Anthropic counts cached tokens apart, OpenAI as part of the prompt."""
    read, written = count_in(usage, "cache_read_input_tokens"), count_in(usage, "cache_creation_input_tokens")
    prompt, completion = count_in(usage, "input_tokens") + read + written, count_in(usage, "output_tokens")
    details = usage.get("output_tokens_details")
    thinking = count_in(details, "thinking_tokens") if isinstance(details, dict) else 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": thinking},
    }
