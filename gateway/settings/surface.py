"""The APIs that callers may use and upstreams can serve: the words of every `surfaces`."""

from __future__ import annotations

from enum import StrEnum


class SurfaceName(StrEnum):
    """One API; which paths belong to it is told in `gateway.surfaces`. `GET /v1/models` is open to every caller."""

    CHAT = "chat.completions"
    CHAT_BATCH = "chat.completions.batch"  # vLLM's: many conversations in one request
    COMPLETIONS = "completions"
    RESPONSES = "responses"
    MESSAGES = "messages"  # Anthropic's, with its token counting
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    SCORE = "score"
    TRANSCRIPTIONS = "audio.transcriptions"
    TRANSLATIONS = "audio.translations"
    TOKENIZE = "tokenize"  # vLLM's, and its way back
