"""Computes absent vectors, for a new embedding model: each chunk has a vector of every model afterwards.

Documents that are written during the run get both vectors from the service. The run can be interrupted and repeated.
"""

from __future__ import annotations

from itertools import groupby

from ..models import EmbeddingClient
from ..settings import RetrievalSettings
from .store import Store

_CHUNKS = 256  # chunks of one query: at most 256 texts of 32,000 characters


async def reembed(settings: RetrievalSettings) -> list[tuple[str, str, int]]:
    """Compute absent vectors of all collections. Return collection, model name and number of vectors.

    Raises:
        DatabaseUnavailable, PoolUnavailable, PoolRefused: vectors before the failure are stored.
    """
    store = await Store.open(settings)
    counts = []
    try:
        for model in settings.models:
            client = EmbeddingClient(model)
            try:
                for collection in settings.collections:
                    count = await _reembed(store, client, collection.name, model.model_digest)
                    counts.append((collection.name, model.model, count))
            finally:
                await client.close()
    finally:
        await store.close()
    return counts


async def _reembed(store: Store, client: EmbeddingClient, collection: str, digest: str) -> int:
    count = 0
    while missing := await store.unembedded(collection, digest, _CHUNKS):
        for source_id, rows in groupby(missing, key=lambda row: row[0]):
            identifiers, texts = zip(*((identifier, text) for _, identifier, text in rows), strict=True)
            vectors = await client.embed(texts, "passage")
            await store.put_vectors(collection, digest, source_id, identifiers, vectors)
            count += len(vectors)
    return count
