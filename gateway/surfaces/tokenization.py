"""vLLM's tokenize and detokenize. Token ids are specific to a model, so clouds do not serve them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..body.json_texts import Path
from ..domain.errors import Code, Refused, UpstreamFailed
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.restoration import Restoration
from .chat import PARTS
from .surface import Surface, is_objects


class Tokenize(Surface):
    """`POST /tokenize`: a prompt or messages in, token ids out."""

    name = "tokenize"
    family = SurfaceName.TOKENIZE
    paths = ("/tokenize", "/v1/tokenize")
    path = "../tokenize"  # outside /v1 in vLLM
    parts = PARTS
    has_text = False
    has_stream = False
    is_salted = False
    uses_tokens = False

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not (isinstance(body.get("prompt"), str) or is_objects(body.get("messages"))):
            raise Refused(Code.INVALID_REQUEST, param="prompt")

    def prose(self, path: Path) -> Path | None:
        return path[:2] if path[0] in ("prompt", "messages") and path[-1] not in ("role", "type") else None

    def obstacles(self, _body: Mapping[str, Any]) -> Collection[Obstacle]:
        return {Obstacle.TOKEN_IDS}

    def beginning(self, _body: Mapping[str, Any]) -> list[Any]:
        return [self.name]

    def whole(self, answer: Any, _restoration: Restoration) -> dict[str, Any]:
        if not isinstance(answer, dict) or not isinstance(answer.get("tokens"), list):
            raise UpstreamFailed("protocol")
        return answer


class Detokenize(Tokenize):
    """`POST /detokenize`: token ids in, text out."""

    name = "detokenize"
    paths = ("/detokenize", "/v1/detokenize")
    path = "../detokenize"

    def check(self, body: Mapping[str, Any]) -> None:
        Surface.check(self, body)
        if not isinstance(body.get("tokens"), list):
            raise Refused(Code.INVALID_REQUEST, param="tokens")

    def whole(self, answer: Any, _restoration: Restoration) -> dict[str, Any]:
        if not isinstance(answer, dict) or not isinstance(answer.get("prompt"), str):
            raise UpstreamFailed("protocol")
        return answer
