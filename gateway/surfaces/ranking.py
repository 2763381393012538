"""Rerank (the APIs of Jina and Cohere, as vLLM serves them) and vLLM's score: similarity of texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..body.json_texts import Path
from ..domain.errors import Code, Refused
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.fields import Fields
from .chat import PARTS
from .completions import has_tokens
from .surface import Surface

# The two sides of a comparison, in the field names of vLLM (docs of 0.32, "Score API"; read 2026-11).
_SIDES = (("text_1", "text_2"), ("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))
_SIDE_NAMES = frozenset(name for sides in _SIDES for name in sides)


class Rerank(Surface):
    """`POST /v1/rerank`; answers repeat the documents."""

    name = "rerank"
    family = SurfaceName.RERANK
    paths = ("/v1/rerank", "/v2/rerank", "/rerank")
    path = "rerank"
    parts = PARTS
    media = ("query", "documents")
    answer_list = "results"
    fields = Fields(left_alone=Surface.fields.left_alone, documents=frozenset({"document"}))
    is_written = False
    has_stream = False

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if "query" not in body:
            raise Refused(Code.INVALID_REQUEST, param="query")
        if not isinstance(body.get("documents"), list | dict):
            raise Refused(Code.INVALID_REQUEST, param="documents")

    def prose(self, path: Path) -> Path | None:
        return _side(path) if path[0] in ("query", "documents") else None

    def obstacles(self, body: Mapping[str, Any]) -> Collection[Obstacle]:
        return _token_ids(body["query"], body["documents"])

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        return [body.get("user"), body["query"], body["documents"]]


class Score(Surface):
    """`POST /v1/score`; answers contain numbers only."""

    name = "score"
    family = SurfaceName.SCORE
    paths = ("/v1/score", "/score")
    path = "score"
    parts = PARTS
    media = _SIDE_NAMES
    answer_list = "data"
    has_text = False
    has_stream = False

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not any(left in body and right in body for left, right in _SIDES):
            other = next((right for left, right in _SIDES if left in body), _SIDES[0][0])
            raise Refused(Code.INVALID_REQUEST, param=other)

    def prose(self, path: Path) -> Path | None:
        return _side(path) if path[0] in _SIDE_NAMES else None

    def obstacles(self, body: Mapping[str, Any]) -> Collection[Obstacle]:
        return _token_ids(*(body.get(name) for name in _SIDE_NAMES))

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        return [body.get("user"), *(body.get(name) for name in sorted(_SIDE_NAMES))]


def _side(path: Path) -> Path | None:
    """Return one prose path per text; the parts of a document share one."""
    return None if path[-1] == "type" else path[:2]


def _token_ids(*sides: Any) -> Collection[Obstacle]:
    """Return the obstacle of token ids, which only a model can decode; accepted as for embeddings and completions."""
    return {Obstacle.TOKEN_IDS} if any(map(has_tokens, sides)) else ()
