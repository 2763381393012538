"""OpenAI's chat completions, and vLLM's batch API for several conversations in one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..body.json_texts import Path
from ..domain.errors import Code, Refused
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.fields import Fields
from .answers.model_strings import Added, added_to_choices
from .answers.replacement_answer import ChoicesEnding, Ending
from .answers.restoration import Restoration
from .streams.choices import ChoiceStream
from .surface import EventStream, Surface, is_objects

FIELDS = Fields(
    left_alone=frozenset(
        {
            *("id", "object", "model", "created", "usage", "type", "role", "finish_reason", "stop_reason", "format"),
            *("logprobs", "prompt_logprobs", "service_tier", "system_fingerprint"),
            "data",  # of spoken audio, base64: a different split of the chunks would break it
        }
    ),
    json=frozenset({"arguments"}),
    answer=frozenset({"content", "text"}),
    unsplit=frozenset({"name"}),  # of a function
)

_NOT_PROSE = frozenset({"role", "type", "id", "tool_call_id", "name"})
_MAX_CHOICES = 128  # OpenAI's limit (API reference, "n"; read 2026-11)
_SPEAKERS = frozenset({"user", "assistant", "system", "developer"})

# Content part types of OpenAI and vLLM.
PARTS: dict[str, Obstacle | None] = {
    "text": None,
    "refusal": None,
    "image_url": Obstacle.IMAGE,
    "input_image": Obstacle.IMAGE,
    "input_audio": Obstacle.AUDIO,
    "audio_url": Obstacle.AUDIO,
    "file": Obstacle.FILE,
    "input_file": Obstacle.FILE,
}


class ChatCompletions(Surface):
    """`POST /v1/chat/completions`."""

    name = "chat.completions"
    family = SurfaceName.CHAT
    paths = ("/v1/chat/completions",)
    path = "chat/completions"
    parts = PARTS
    dropped = frozenset({"user", "safety_identifier", "prompt_cache_key", "metadata", "store", "cache_salt"})
    answer_list = "choices"
    fields = FIELDS

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not is_objects(body.get("messages")):
            raise Refused(Code.INVALID_REQUEST, param="messages")

    def prose(self, path: Path) -> Path | None:
        if path[0] == "prediction":  # of the answer: "Predicted Outputs" of OpenAI
            return path[:1] if path[-1] not in _NOT_PROSE else None
        return path[:2] if path[0] == "messages" and path[-1] not in _NOT_PROSE else None

    def is_person(self, path: Path, body: Mapping[str, Any]) -> bool:
        return (
            len(path) == 3
            and path[2] == "name"
            and path[0] == "messages"
            and body["messages"][path[1]].get("role") in _SPEAKERS
        )

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        return [body.get("user"), *_until_user(body["messages"])]

    def max_answer_tokens(self, body: Mapping[str, Any]) -> int:
        asked = body.get("max_completion_tokens")
        return asked if isinstance(asked, int) and asked > 0 else super().max_answer_tokens(body)

    def wants_json(self, body: Mapping[str, Any]) -> bool:
        return asks_for_json(body)

    def stream(self, restoration: Restoration) -> EventStream:
        return ChoiceStream(restoration, payload="delta", fields=FIELDS)

    def ending(self, body: Mapping[str, Any]) -> Ending:
        return ChoicesEnding("chat.completion", choices=choices_in(body))

    def added(self, event: Mapping[str, Any]) -> Added:
        return added_to_choices(event, "delta", FIELDS)


class ChatBatch(ChatCompletions):
    """`POST /v1/chat/completions/batch`: `messages` is a list of conversations; one choice each; not streamed.

    vLLM, docs of 0.32, "Chat Completions batch API" (read 2026-11).
    """

    name = "chat.completions.batch"
    family = SurfaceName.CHAT_BATCH
    paths = ("/v1/chat/completions/batch",)
    path = "chat/completions/batch"
    has_stream = False

    def check(self, body: Mapping[str, Any]) -> None:
        Surface.check(self, body)
        conversations = body.get("messages")
        if not isinstance(conversations, list) or not all(map(is_objects, conversations)):
            raise Refused(Code.INVALID_REQUEST, param="messages")

    def prose(self, path: Path) -> Path | None:
        return path[:3] if path[0] == "messages" and path[-1] not in _NOT_PROSE else None

    def is_person(self, path: Path, body: Mapping[str, Any]) -> bool:
        return (
            len(path) == 4
            and path[3] == "name"
            and path[0] == "messages"
            and body["messages"][path[1]][path[2]].get("role") in _SPEAKERS
        )

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        return [body.get("user"), *(_until_user(messages) for messages in body["messages"])]

    def ending(self, body: Mapping[str, Any]) -> Ending:
        return ChoicesEnding("chat.completion", choices=len(body.get("messages", "1")))


def choices_in(body: Mapping[str, Any]) -> int:
    """Return the number of requested choices."""
    asked = body.get("n")
    return asked if isinstance(asked, int) and 1 <= asked <= _MAX_CHOICES else 1


def asks_for_json(body: Mapping[str, Any]) -> bool:
    """Return whether OpenAI's or vLLM's fields request an answer that is a JSON document."""
    wanted, structured = body.get("response_format"), body.get("structured_outputs")
    return (
        (isinstance(wanted, dict) and wanted.get("type") in ("json_schema", "json_object"))
        or bool(body.get("guided_json"))
        or (isinstance(structured, dict) and bool(structured.get("json") or structured.get("json_object")))
    )


def _until_user(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    beginning = []
    for message in messages:
        beginning.append(message)
        if message.get("role") == "user":
            break
    return beginning
