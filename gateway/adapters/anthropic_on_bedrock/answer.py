"""Answers of Bedrock's Converse as answers of Anthropic's messages. Pure.

| `stopReason` | `stop_reason` |
|---|---|
| `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `model_context_window_exceeded` | the same |
| `guardrail_intervened`, `content_filtered` | `refusal` |
| `malformed_model_output`, `malformed_tool_use` | the answer is invalid |

Source: Amazon Bedrock API reference, Converse, "Response Elements", and `TokenUsage` (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..translation import AnswerOptions, Body, count_in, object_in, protocol_error

_STOP_REASONS = {
    **{each: each for each in ("end_turn", "tool_use", "max_tokens", "stop_sequence", "model_context_window_exceeded")},
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}


def message_answer(answer: Mapping[str, Any], options: AnswerOptions) -> Body:
    """Return an answer of messages.

    Raises:
        UpstreamFailed: it is not an answer of Converse.
    """
    content = object_in(object_in(dict(answer), "output"), "message").get("content")
    if not isinstance(content, list):
        raise protocol_error()
    usage = answer.get("usage")
    return {
        **message_head(options),
        "content": [_block(block) for block in content],
        "stop_reason": stop_reason(answer.get("stopReason")),
        "usage": message_usage(usage if isinstance(usage, dict) else {}),
    }


def count_answer(answer: Mapping[str, Any], _options: AnswerOptions) -> Body:
    """Return an answer of Anthropic's token counting.

    Raises:
        UpstreamFailed: it is not an answer of CountTokens.
    """
    if type(count := answer.get("inputTokens")) is not int:
        raise protocol_error()
    return {"input_tokens": count}


def message_head(options: AnswerOptions) -> Body:
    """Return the fields with which a message begins."""
    return {
        "id": options.answer_id,
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": message_usage({}),
    }


def stop_reason(reason: Any) -> str:
    """Return Anthropic's stop reason.

    Raises:
        UpstreamFailed: the model's output is malformed, or the reason unknown.
    """
    if (made := _STOP_REASONS.get(str(reason))) is None:
        raise protocol_error()
    return made


def message_usage(usage: Mapping[str, Any]) -> Body:
    """Return a usage of messages; both APIs count cached tokens apart."""
    return {
        "input_tokens": count_in(usage, "inputTokens"),
        "cache_creation_input_tokens": count_in(usage, "cacheWriteInputTokens"),
        "cache_read_input_tokens": count_in(usage, "cacheReadInputTokens"),
        "output_tokens": count_in(usage, "outputTokens"),
    }


def _block(block: Any) -> Body:
    match block:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"toolUse": {"toolUseId": str(use), "name": str(name), "input": dict(arguments)}}:
            return {"type": "tool_use", "id": use, "name": name, "input": arguments}
        case {"reasoningContent": {"reasoningText": {"text": str(text)} as said}}:
            return {"type": "thinking", "thinking": text, "signature": said.get("signature") or ""}
        case {"reasoningContent": {"redactedContent": str(data)}}:
            return {"type": "redacted_thinking", "data": data}
    raise protocol_error()
