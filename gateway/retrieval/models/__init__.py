"""Clients of the embedding and reranker pools of vLLM."""

from .embedding import EmbeddingClient, TextKind
from .pool import PoolRefused, PoolUnavailable
from .rerank import RerankClient
from .settings import EmbeddingSettings, RerankSettings

__all__ = [
    "EmbeddingClient",
    "EmbeddingSettings",
    "PoolRefused",
    "PoolUnavailable",
    "RerankClient",
    "RerankSettings",
    "TextKind",
]
