"""Anthropic's messages and token counting.

**Thinking is not changed**, because it is signed, and Anthropic rejects changed text. In an answer it
contains the tokens that the model wrote; a request that carries signed or hidden thinking is processed on-prem, because
its
content cannot be replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ..body.json_texts import Path
from ..domain.errors import Code, Refused, UpstreamFailed, sovctl_fields, status_and_message
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.fields import Fields
from .answers.model_strings import Added, added_to_message
from .answers.replacement_answer import Ending, MessageEnding
from .answers.restoration import Restoration
from .streams.message_stream import MessageStream
from .surface import EventStream, Surface, is_objects

FIELDS = Fields(
    left_alone=frozenset(
        {
            *("id", "type", "role", "model", "usage", "stop_reason", "tool_use_id", "index", "container"),
            *("thinking", "signature", "data", "encrypted_content", "encrypted_index"),
        }
    ),
    json=frozenset({"partial_json"}),
    answer=frozenset({"text"}),
    documents=frozenset({"input"}),
    unsplit=frozenset({"citation"}),
)

# Block types (anthropic 2.12, `types/content_block_param.py`; read 2026-11). Results of server tools count as unknown.
_BLOCKS: dict[str, Obstacle | None] = {
    "text": None,
    "tool_use": None,
    "tool_result": None,
    "search_result": None,
    "image": Obstacle.IMAGE,
    "document": Obstacle.FILE,
    "thinking": Obstacle.SIGNED,
    "redacted_thinking": Obstacle.SIGNED,
}
_TEXT_SOURCES = frozenset({"text", "content"})  # of a document: inline text, or blocks
_NOT_PROSE = frozenset({"role", "type", "id", "tool_use_id", "name", "media_type"})
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}")
_BETA = re.compile(
    r"[a-z]{1,20}(?:-(?:[a-z]{1,20}|\d{1,3}[a-z]?)){0,6}-20\d\d-\d\d-\d\d"
)  # such as `context-1m-2025-08-07`
_OLDEST = "2023-06-01"  # supported by every server; Anthropic rejects requests without a version

# HTTP status -> error type of Anthropic (docs, "Errors"; read 2026-11).
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


class Messages(Surface):
    """`POST /v1/messages`."""

    name = "messages"
    family = SurfaceName.MESSAGES
    paths = ("/v1/messages",)
    path = "messages"
    parts = _BLOCKS
    media = ("messages", "system")
    dropped = frozenset({"metadata", "cache_salt"})
    client_headers = ("anthropic-version", "anthropic-beta")
    answer_list = "content"
    fields = FIELDS

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not is_objects(body.get("messages")):
            raise Refused(Code.INVALID_REQUEST, param="messages")

    def prose(self, path: Path) -> Path | None:
        if path[0] == "system":
            return None if path[-1] in _NOT_PROSE else ("system",)
        return path[:2] if path[0] == "messages" and path[-1] not in _NOT_PROSE else None

    def is_part(self, path: Path) -> bool:
        if len(path) < 2 or not isinstance(path[-1], int) or self.is_argument(path):
            return False
        return path[0] == "system" if len(path) == 2 else path[0] == "messages" and path[-2] == "content"

    def is_argument(self, path: Path) -> bool:
        return path[:1] == ("messages",) and "input" in path[4:]

    def obstacle(self, part: Mapping[str, Any]) -> Obstacle | None:
        source = part.get("source")
        if part.get("type") == "document" and isinstance(source, dict) and source.get("type") in _TEXT_SOURCES:
            return None
        return super().obstacle(part)

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        beginning: list[Any] = [body.get("metadata"), body.get("system")]
        for message in body["messages"]:
            beginning.append(message)
            if message.get("role") == "user":
                break
        return beginning

    def passed_on(self, headers: Mapping[str, str], _body: bytes) -> dict[str, str]:
        version, betas = headers.get("anthropic-version", ""), headers.get("anthropic-beta", "").split(",")
        known = [beta for beta in map(str.strip, betas) if _BETA.fullmatch(beta)]
        return {
            "anthropic-version": version if _VERSION.fullmatch(version) else _OLDEST,
            **({"anthropic-beta": ",".join(known)} if known else {}),
        }

    def wants_json(self, body: Mapping[str, Any]) -> bool:
        config = body.get("output_config")
        wanted = (config.get("format") if isinstance(config, dict) else None) or body.get("output_format")
        return isinstance(wanted, dict) and wanted.get("type") == "json_schema"

    def stream(self, restoration: Restoration) -> EventStream:
        return MessageStream(restoration, FIELDS)

    def ending(self, _body: Mapping[str, Any]) -> Ending | None:
        return MessageEnding()

    def added(self, event: Mapping[str, Any]) -> Added:
        return added_to_message(event, FIELDS)

    def error(self, code: Code, *, request_id: str, param: str | None = None, reasons: Sequence[str] = ()) -> bytes:
        status, message = status_and_message(code, param, reasons)
        error = {
            "type": _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error"),
            "message": message,
            "sovctl": sovctl_fields(code, request_id=request_id, reasons=reasons),
        }
        return orjson.dumps({"type": "error", "error": error, "request_id": request_id})

    def error_event(self, code: Code, *, request_id: str) -> bytes:
        return b"event: error\ndata: " + self.error(code, request_id=request_id) + b"\n\n"


class CountTokens(Messages):
    """`POST /v1/messages/count_tokens`."""

    name = "messages.count_tokens"
    paths = ("/v1/messages/count_tokens",)
    path = "messages/count_tokens"
    has_text = False
    has_stream = False
    is_salted = False
    uses_tokens = False

    def ending(self, _body: Mapping[str, Any]) -> None:
        return None

    def whole(self, answer: Any, _restoration: Restoration) -> dict[str, Any]:
        if not isinstance(answer, dict) or not isinstance(answer.get("input_tokens"), int):
            raise UpstreamFailed("protocol")
        return answer
