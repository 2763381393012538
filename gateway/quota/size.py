"""Size of a request by surface: bytes of the prompts, number of prompts and answers. Pure; it may err only upwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..settings.base.surface import SurfaceName

_WITHOUT_ANSWER = frozenset({SurfaceName.EMBEDDINGS, SurfaceName.RERANK, SurfaceName.SCORE, SurfaceName.TOKENIZE})
"""Surfaces whose models generate no text."""
_WITH_PAIRS = frozenset({SurfaceName.RERANK, SurfaceName.SCORE})
"""Surfaces whose models read one text with each of several."""
_MANY = {SurfaceName.COMPLETIONS: "prompt", SurfaceName.CHAT_BATCH: "messages"}
"""Field that may hold several prompts, by surface."""
_MOST = 1 << 16  # prompts or answers of one request; upstreams refuse requests with fewer than that


class Size(NamedTuple):
    """Size of a request."""

    prompt_bytes: int
    """Upper bound of the tokens, because each has at least one byte."""
    prompts: int
    """Number of contexts; 0 if it does not bound their length."""
    answers: int
    """Number of answers to all prompts."""


NO_SIZE = Size(0, 0, 0)
"""Size of a request that no model reads."""


def size_of(body: Mapping[str, Any], family: SurfaceName, *, body_bytes: int) -> Size:
    """Return the size of a request.

    Args:
        body_bytes: size of the JSON that the client sent.
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
    """Return the bytes of the text that is read again with each of several texts."""
    for one, many in (("query", "documents"), ("queries", "documents"), ("text_1", "text_2"), ("queries", "items")):
        query, texts = body.get(one), body.get(many)
        if isinstance(query, str) and isinstance(texts, list):
            return len(texts) * len(query.encode("utf-8", "surrogatepass"))
        if isinstance(query, list) and isinstance(texts, str):
            return len(query) * len(texts.encode("utf-8", "surrogatepass"))
    return 0
