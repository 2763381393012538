"""Settings of a pooling pool: `embedding` and `rerank` of retrieval.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, AnyHttpUrl, Field, StringConstraints, model_validator

from ...settings.base.model import SettingsModel
from ...settings.base.urls import encrypted_or_local

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


class PoolSettings(SettingsModel):
    """A pool of vLLM that runs a pooling model."""

    base_urls: list[Annotated[AnyHttpUrl, AfterValidator(encrypted_or_local)]] = Field(min_length=1, max_length=64)
    """Base URLs of the replicas, each of which ends in /v1. Requests take turns; a replica that fails is used last."""
    model: str = Field(min_length=1, max_length=200)
    """Name of the model at the pool."""
    model_digest: Digest
    """Digest of the model's files in the site's lock; stored with each vector."""
    ca: Path | None = None
    """Certificate authority of the pool."""
    certificate: Path | None = None
    """Client certificate for mutual TLS."""
    key: Path | None = None
    """Private key of the client certificate."""
    api_key_file: Path | None = None
    """API key of the pool, a file of mode 0600."""
    batch_texts: int = Field(32, ge=1, le=2048)
    """Texts in one request."""
    batch_characters: int = Field(100_000, ge=1_000, le=10_000_000)
    """Characters of all texts in one request."""
    concurrent_requests: int = Field(4, ge=1, le=64)
    """Requests in flight at the same time."""
    timeout_s: float = Field(60.0, gt=0, le=600)
    """Seconds for one request."""

    @model_validator(mode="after")
    def _certificate_with_key(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("expected `certificate` and `key` together")
        if self.is_encrypted and self.ca is None:
            raise ValueError("expected `ca` for an https URL")
        if len({url.scheme for url in self.base_urls}) > 1 or len(set(self.base_urls)) < len(self.base_urls):
            raise ValueError("expected different URLs with one scheme in `base_urls`")
        return self

    @property
    def is_encrypted(self) -> bool:
        """Whether the replicas use TLS."""
        return self.base_urls[0].scheme == "https"


class EmbeddingSettings(PoolSettings):
    """Embedding pool. The prefixes are part of the model: other prefixes give other vectors."""

    dimensions: int = Field(ge=1, le=16_000)
    """Length of a vector."""
    query_prefix: str = Field("", max_length=2_000)
    """Instruction before a query, as the model's card states it."""
    passage_prefix: str = Field("", max_length=2_000)
    """Instruction before a passage."""


class RerankSettings(PoolSettings):
    """Reranker pool."""
