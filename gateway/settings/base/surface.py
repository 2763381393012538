"""Names of the client APIs, for every `surfaces` key."""

from __future__ import annotations

from enum import StrEnum


class SurfaceName(StrEnum):
    """A client API. `gateway/surfaces/` maps paths to APIs. Every caller may use `GET /v1/models`."""

    CHAT = "chat.completions"
    CHAT_BATCH = "chat.completions.batch"  # vLLM: several conversations in one request
    COMPLETIONS = "completions"
    RESPONSES = "responses"
    MESSAGES = "messages"  # Anthropic, including token counting
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    SCORE = "score"
    TRANSCRIPTIONS = "audio.transcriptions"
    TRANSLATIONS = "audio.translations"
    REALTIME = "realtime"  # vLLM: transcription over a WebSocket
    TOKENIZE = "tokenize"  # vLLM, including detokenization
