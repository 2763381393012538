"""OpenAI's embeddings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..body.json_texts import Path
from ..domain.errors import Code, Refused
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .chat import PARTS
from .completions import has_tokens, is_text_or_tokens
from .surface import Surface, is_objects


class Embeddings(Surface):
    """`POST /v1/embeddings`; vLLM also accepts `messages` instead of `input`.

    A value has the same token in all embeddings of one client, so that a question finds the document that contains it.
    Vectors are passed unchanged.
    """

    name = "embeddings"
    family = SurfaceName.EMBEDDINGS
    paths = ("/v1/embeddings",)
    path = "embeddings"
    parts = PARTS
    media = ("messages", "input")
    answer_list = "data"
    has_text = False
    has_stream = False

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not (is_text_or_tokens(body.get("input")) or is_objects(body.get("messages"))):
            raise Refused(Code.INVALID_REQUEST, param="input")

    def prose(self, path: Path) -> Path | None:
        if path[0] == "messages":
            return None if path[-1] in ("role", "type") else path[:2]
        return path if path[0] == "input" else None

    def obstacles(self, body: Mapping[str, Any]) -> Collection[Obstacle]:
        return {Obstacle.TOKEN_IDS} if has_tokens(body.get("input")) else ()

    def beginning(self, _body: Mapping[str, Any]) -> list[Any]:
        return [self.name]
