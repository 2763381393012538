"""OpenAI's completions: text continuation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..body.json_texts import Path
from ..domain.errors import Code, Refused
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.model_strings import Added, added_to_choices
from .answers.replacement_answer import ChoicesEnding, Ending
from .answers.restoration import Restoration
from .chat import FIELDS, asks_for_json, choices_in
from .streams.choices import ChoiceStream
from .surface import EventStream, Surface


class Completions(Surface):
    """`POST /v1/completions`."""

    name = "completions"
    family = SurfaceName.COMPLETIONS
    paths = ("/v1/completions",)
    path = "completions"
    media = ()
    answer_list = "choices"
    fields = FIELDS

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not (is_text_or_tokens(body.get("prompt")) or "prompt_embeds" in body):
            raise Refused(Code.INVALID_REQUEST, param="prompt")

    def prose(self, path: Path) -> Path | None:
        return path if path[0] in ("prompt", "suffix") else None

    def obstacles(self, body: Mapping[str, Any]) -> Collection[Obstacle]:
        found = set()
        if has_tokens(body.get("prompt")):
            found.add(Obstacle.TOKEN_IDS)
        if body.get("prompt_embeds"):
            found.add(Obstacle.ENCODED)
        return found

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        # A later turn repeats the text without a separator, so each prompt begins a conversation.
        return [body.get("user"), body.get("prompt")]

    def wants_json(self, body: Mapping[str, Any]) -> bool:
        return asks_for_json(body)

    def stream(self, restoration: Restoration) -> EventStream:
        return ChoiceStream(restoration, payload="text", fields=FIELDS)

    def ending(self, body: Mapping[str, Any]) -> Ending:
        prompt = body.get("prompt")
        prompts = [prompt]
        if isinstance(prompt, list) and not all(isinstance(item, int) for item in prompt):  # one prompt, as token ids
            prompts = prompt
        return ChoicesEnding("text_completion", choices=len(prompts) * choices_in(body))

    def added(self, event: Mapping[str, Any]) -> Added:
        return added_to_choices(event, "text", FIELDS)


def is_text_or_tokens(value: Any) -> bool:
    """Return whether the value is a string or a list of strings, token ids or lists of token ids."""
    return isinstance(value, str | list)


def has_tokens(value: Any) -> bool:
    """Return whether a prompt, or a part of it, consists of token ids, which only its model can decode."""
    return isinstance(value, list) and any(isinstance(item, int | list) for item in value)
