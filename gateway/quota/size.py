"""How large a request is, by its surface: bytes that are read, prompts and answers. Pure; more is safe, less is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..settings.surface import SurfaceName

_WITHOUT_ANSWER = frozenset({SurfaceName.EMBEDDINGS, SurfaceName.RERANK, SurfaceName.SCORE, SurfaceName.TOKENIZE})
"""Surfaces that read and write nothing."""
_WITH_PAIRS = frozenset({SurfaceName.RERANK, SurfaceName.SCORE})
"""Those of them that read one text with each of many."""
_MANY = {SurfaceName.COMPLETIONS: "prompt", SurfaceName.CHAT_BATCH: "messages"}
"""Where a request may have many prompts."""
_MOST = 1 << 16  # prompts or answers of one request; an upstream refuses far fewer


class Size(NamedTuple):
    """How large a request is."""

    prompt_bytes: int
    """No token is shorter than a byte."""
    prompts: int
    """How many contexts it fills; 0 where that says nothing about its length."""
    answers: int
    """To all prompts together."""


NO_SIZE = Size(0, 0, 0)
"""Of a request that no model reads."""


def size_of(body: Mapping[str, Any], family: SurfaceName, *, body_bytes: int) -> Size:
    """The size of a request.

    Args:
        body_bytes: as the client sent it, names and brackets included.
    """
    if family in _WITH_PAIRS:
        return Size(body_bytes + _repeated(body), 0, 0)
    if family in _WITHOUT_ANSWER:
        return Size(body_bytes, 0, 0)
    prompts = _prompts(body, family)
    asked, best_of = body.get("n"), body.get("best_of")
    answers = max(1, asked if isinstance(asked, int) else 1, best_of if isinstance(best_of, int) else 1)
    return Size(body_bytes, prompts, min(_MOST, answers * prompts))


def _prompts(body: Mapping[str, Any], family: SurfaceName) -> int:
    if (field := _MANY.get(family)) is None:
        return 1
    many = body.get(field)
    if not isinstance(many, list) or all(isinstance(item, int) for item in many):  # one prompt as token ids
        return 1
    return max(1, min(_MOST, len(many)))


def _repeated(body: Mapping[str, Any]) -> int:
    """Bytes that are read once more for each text they are compared with."""
    for one, many in (("query", "documents"), ("queries", "documents"), ("text_1", "text_2"), ("queries", "items")):
        query, texts = body.get(one), body.get(many)
        if isinstance(query, str) and isinstance(texts, list):
            return len(texts) * len(query.encode("utf-8", "surrogatepass"))
        if isinstance(query, list) and isinstance(texts, str):
            return len(query) * len(texts.encode("utf-8", "surrogatepass"))
    return 0
