"""OpenAI's responses.

The gateway is stateless: a request that refers to stored objects (an earlier response, a conversation, a
prompt, an item by its id, an answer to be fetched later) is rejected, because their content and owner cannot be
checked.
Upstreams are instructed to store nothing. See docs/decisions/0006-stateless-api.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ..body.json_texts import Path
from ..domain.errors import Code, Refused, UpstreamFailed
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.fields import Fields
from .answers.model_strings import Added, added_to_response
from .answers.replacement_answer import Ending, ResponseEnding
from .answers.restoration import Restoration
from .streams.response_stream import ResponseStream
from .surface import EventStream, Surface, is_objects

FIELDS = Fields(
    left_alone=frozenset(
        {
            *("id", "object", "type", "role", "status", "model", "usage", "logprobs", "call_id", "item_id"),
            *("previous_response_id", "encrypted_content", "service_tier", "sequence_number", "obfuscation", "phase"),
            *("data", "b64_json", "partial_image_b64"),  # base64
        }
    ),
    json=frozenset({"arguments"}),
    answer=frozenset({"text"}),
    # Of files and shells; and fields in which a response repeats the request: tools' parameters, the answer's schema.
    documents=frozenset({"attributes", "env", "parameters", "input_schema", "format"}),
    deltas={
        "response.output_text.delta": "text",
        "response.audio.transcript.delta": "transcript",
        "response.audio.delta": "data",
        "response.function_call_arguments.delta": "arguments",
        "response.mcp_call_arguments.delta": "arguments",
        "response.custom_tool_call_input.delta": "input",
    },
)

# Content part types in messages, tool outputs and reasoning (openai 3.52, `types/responses`; read 2026-11).
_PARTS: dict[str, Obstacle | None] = {
    "input_text": None,
    "output_text": None,
    "text": None,
    "refusal": None,
    "summary_text": None,
    "reasoning_text": None,
    "input_image": Obstacle.IMAGE,
    "computer_screenshot": Obstacle.IMAGE,
    "input_audio": Obstacle.AUDIO,
    "input_file": Obstacle.FILE,
}
_HOLDS_PARTS = frozenset({"content", "output", "summary"})
_NOT_PROSE = frozenset({"role", "type", "id", "call_id", "name", "status"})
_REMEMBERED = ("previous_response_id", "conversation", "prompt", "background")
_BY_ID = "item_reference"


class Responses(Surface):
    """`POST /v1/responses`."""

    name = "responses"
    family = SurfaceName.RESPONSES
    paths = ("/v1/responses",)
    path = "responses"
    parts = _PARTS
    media = ("input",)
    dropped = frozenset(
        {"user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "metadata", "cache_salt"}
    )
    told = {"store": False}  # noqa: RUF012 - constant
    repeated = frozenset({"user", "safety_identifier", "prompt_cache_key", "metadata"})
    answer_list = "output"
    fields = FIELDS

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        asked = body.get("input")
        items = asked if is_objects(asked) else []
        if any(body.get(name) for name in _REMEMBERED) or any(item.get("type") == _BY_ID for item in items):
            raise Refused(Code.STATE_NOT_KEPT)
        if not isinstance(asked, str) and not items:
            raise Refused(Code.INVALID_REQUEST, param="input")

    def prose(self, path: Path) -> Path | None:
        if path[0] == "instructions":
            return path
        if path[0] == "input" and path[-1] not in _NOT_PROSE:
            return path[:2]
        return None

    def is_part(self, path: Path) -> bool:
        return len(path) == 4 and path[0] == "input" and path[2] in _HOLDS_PARTS

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        asked = body.get("input")
        beginning: list[Any] = [body.get("user"), body.get("instructions")]
        for item in asked if isinstance(asked, list) else [{"role": "user", "content": asked}]:
            beginning.append(item)
            if item.get("role") == "user":
                break
        return beginning

    def max_answer_tokens(self, body: Mapping[str, Any]) -> int:
        asked = body.get("max_output_tokens")
        return asked if isinstance(asked, int) and asked > 0 else 0

    def wants_json(self, body: Mapping[str, Any]) -> bool:
        text = body.get("text")
        wanted = text.get("format") if isinstance(text, dict) else None
        return isinstance(wanted, dict) and wanted.get("type") in ("json_schema", "json_object")

    def whole(self, answer: Any, restoration: Restoration) -> dict[str, Any]:
        if isinstance(answer, dict) and answer.get("status") == "failed":
            raise UpstreamFailed("error-event")
        return {**super().whole(answer, restoration), **restoration.kept}

    def stream(self, restoration: Restoration) -> EventStream:
        return ResponseStream(restoration, FIELDS)

    def ending(self, _body: Mapping[str, Any]) -> Ending:
        return ResponseEnding()

    def added(self, event: Mapping[str, Any]) -> Added:
        return added_to_response(event, FIELDS)

    def error_event(self, code: Code, *, request_id: str) -> bytes:
        # The API's own event, and the `error` field that clients check in every stream.
        error = orjson.loads(self.error(code, request_id=request_id))["error"]
        flat = {"type": "error", "code": error["code"], "message": error["message"], "param": None}
        return b"event: error\ndata: " + orjson.dumps({**flat, "error": error}) + b"\n\n"
