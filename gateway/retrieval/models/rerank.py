"""Client of a reranker pool: `POST /v1/rerank` of vLLM (the API of Jina and Cohere).

client = RerankClient(settings)
scores = await client.scores("How long does a transfer take?", [hit.text for hit in hits])
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from .pool import PoolClient, batches
from .settings import RerankSettings


class RerankClient:
    """Computes the relevance of texts to a query.

    Raises:
        InputError: a certificate, key or API key is unusable.
    """

    def __init__(self, settings: RerankSettings) -> None:
        self._settings = settings
        self._pool = PoolClient(settings)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in their order; higher is more relevant.

        Raises:
            PoolUnavailable, PoolRefused: no complete answer; a part is never returned.
        """
        answers = await asyncio.gather(*(self._batch(query, batch) for batch in batches(texts, self._settings)))
        return [score for answer in answers for score in answer]

    async def _batch(self, query: str, texts: list[str]) -> list[float]:
        body = {"model": self._settings.model, "query": query, "documents": texts, "top_n": len(texts)}
        answer = await self._pool.post("/rerank", body)
        rows = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise self._pool.invalid("expected `results`")
        scores: dict[int, float] = {}
        for row in rows:
            match row:
                case {"index": int(index), "relevance_score": float() | int() as score} if math.isfinite(score):
                    scores[index] = float(score)
        if scores.keys() != set(range(len(texts))) or len(rows) != len(texts):
            raise self._pool.invalid(f"expected {len(texts)} scores")
        return [scores[index] for index in range(len(texts))]
