"""Request of a pool's probe, by the task of its server. The probe requires a complete answer, not only a status."""

from __future__ import annotations

from typing import Any

from ...spec import Pool
from ..context import Context

_PING = "ping"
_CHAT = {"messages": [{"role": "user", "content": _PING}], "max_tokens": 2}
_TRANSCRIPTION = {"response_format": "json", "max_completion_tokens": 2}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {"path": "/chat/completions", "body": _CHAT, "answer": "choices"},
    "embedding": {"path": "/embeddings", "body": {"input": _PING}, "answer": "data"},
    "reranker": {"path": "/rerank", "body": {"query": _PING, "documents": [_PING]}, "answer": "results"},
    "asr": {"path": "/audio/transcriptions", "body": _TRANSCRIPTION, "answer": "text", "silence_s": 1},
}
"""By task: path below `/v1`, fields in addition to `model`, and the key of a complete answer. `silence_s`: length of
the audio file, seconds. Source: OpenAI-compatible server of vLLM 0.32.0; only `chat` was run."""


def probe_request(context: Context, pool: Pool) -> dict[str, Any]:
    """Return the request of `REQUESTS` for the task of a pool's server."""
    return REQUESTS[served_task(context, pool)]


def served_task(context: Context, pool: Pool) -> str:
    """Return the task of a pool's server, a key of `REQUESTS`."""
    return pool.pooling.served_role(context.models[context.model(pool.model).catalog].role)
