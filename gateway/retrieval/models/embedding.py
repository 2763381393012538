"""Client of an embedding pool: `POST /v1/embeddings` of vLLM.

client = EmbeddingClient(settings)
vectors = await client.embed(["How long does a transfer take?"], kind="query")
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Literal

from .pool import PoolClient, batches
from .settings import EmbeddingSettings

TextKind = Literal["query", "passage"]


class EmbeddingClient:
    """Computes vectors of texts.

    Raises:
        InputError: a certificate, key or API key is unusable.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._pool = PoolClient(settings)

    @property
    def model_digest(self) -> str:
        """Digest of the model, to be stored with each vector."""
        return self._settings.model_digest

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def embed(self, texts: Sequence[str], kind: TextKind) -> list[list[float]]:
        """Return one vector for each text, in their order, each of length `dimensions` and with Euclidean norm 1.

        The pool is not asked to cut long texts, because a cut text is not found by its end.

        Raises:
            PoolUnavailable, PoolRefused: no complete answer; a part is never returned.
        """
        prefix = self._settings.query_prefix if kind == "query" else self._settings.passage_prefix
        prefixed = [prefix + text for text in texts]
        answers = await asyncio.gather(*(self._batch(batch) for batch in batches(prefixed, self._settings)))
        return [vector for answer in answers for vector in answer]

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        answer = await self._pool.post("/embeddings", body)
        rows = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise self._pool.invalid(f"expected {len(texts)} vectors")
        if answer.get("model") != self._settings.model:
            raise self._pool.invalid("another model answered")
        vectors: dict[int, list[float]] = {}
        for row in rows:
            if isinstance(row, dict) and isinstance(row.get("index"), int):
                vectors[row["index"]] = self._unit_vector(row.get("embedding"))
        if vectors.keys() != set(range(len(texts))):
            raise self._pool.invalid("indexes are missing or repeated")
        return [vectors[index] for index in range(len(texts))]

    def _unit_vector(self, value: Any) -> list[float]:
        expected = self._settings.dimensions
        if not isinstance(value, list) or len(value) != expected or not all(isinstance(x, float | int) for x in value):
            raise self._pool.invalid(f"expected vectors of {expected} numbers")
        norm = math.hypot(*value)
        if not math.isfinite(norm) or norm == 0:
            raise self._pool.invalid("a vector is zero or not finite")
        return [x / norm for x in value]
