"""One search: embeds the query, finds the nearest visible chunks, and reranks them."""

from __future__ import annotations

from dataclasses import replace

from ..database.store import Store
from ..models import EmbeddingClient, RerankClient
from ..values import Caller, Hit

RERANK_CANDIDATES = 50
"""Chunks that are reranked; a reranker reads each with the query. Chosen 2026-11-29, as the largest `k`."""


class Searcher:
    """Searches for callers.

    Args:
        reranker: None if the site has no reranker pool.
    """

    def __init__(self, store: Store, embedder: EmbeddingClient, reranker: RerankClient | None) -> None:
        self._store = store
        self._embedder = embedder
        self._reranker = reranker

    async def search(self, caller: Caller, collection: str, query: str, *, k: int, rerank: bool) -> list[Hit]:
        """Return at most `k` hits, the most relevant first.

        Args:
            rerank: whether to rerank, if the site has a reranker pool.

        Raises:
            PoolUnavailable, PoolRefused, DatabaseUnavailable: no complete result.
        """
        (vector,) = await self._embedder.embed([query], "query")
        if self._reranker is None or not rerank:
            return await self._store.search(caller, collection, vector, k)
        candidates = await self._store.search(caller, collection, vector, max(k, RERANK_CANDIDATES))
        if not candidates:
            return []
        scores = await self._reranker.scores(query, [hit.text for hit in candidates])
        scored = [replace(hit, score=score) for hit, score in zip(candidates, scores, strict=True)]
        return sorted(scored, key=lambda hit: -hit.score)[:k]
