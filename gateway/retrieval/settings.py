"""Settings of the retrieval service: `/etc/sovctl/retrieval.yaml`.

settings = load_settings(Path("/etc/sovctl/retrieval.yaml"))
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import Field, StringConstraints, ValidationError, model_validator

from sovctl.support.errors import InputError, Problem, SpecError

from ..settings import Listen
from ..settings.base.model import Name, SettingsModel, in_words
from .models import EmbeddingSettings, RerankSettings
from .values import MAX_DIMENSIONS

Text = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class ListenSettings(SettingsModel):
    """Listener with mutual TLS: every connection needs a certificate of `client_ca`."""

    address: str
    """Address of the node; not 0.0.0.0."""
    port: int = Field(8446, ge=1, le=65535)
    certificate: Path
    key: Path
    """Private key of the certificate."""
    client_ca: Path
    """Authority of the client certificates."""

    def for_gateway_listener(self) -> Listen:
        """Return the same listener with the gateway's timeouts."""
        return Listen(
            host=self.address,
            port=self.port,
            certificate_file=self.certificate,
            key_file=self.key,
            client_ca_file=self.client_ca,
            requires_client_certificate=True,
        )


class PrincipalSettings(SettingsModel):
    """Verification of the gateway's JWS in `x-sovctl-principal` (decision 0007)."""

    jwks_file: Path
    """Public keys of the gateway; read again when the file changes."""
    issuer: Text
    """Claim `iss`: `sovctl.SITE/gateway`."""
    audience: Text = "retrieval"
    """Claim `aud`."""


class DatabaseSettings(SettingsModel):
    """PostgreSQL through a Unix socket of this node."""

    dsn_file: Path
    """File with `postgresql://ROLE@/DATABASE?host=FOLDER`."""
    connections: int = Field(8, ge=1, le=100)
    """Largest number of connections."""
    statement_timeout_s: float = Field(10.0, gt=0, le=300)
    """Seconds for one statement."""


class CollectionSettings(SettingsModel):
    """Collection of documents."""

    name: Name
    tenants: list[Text] | None = None
    """Tenants that may search it; None: every tenant of the gateway."""


class RetrievalSettings(SettingsModel):
    """Settings of the service."""

    listen: ListenSettings
    administrators: list[Text] = Field(min_length=1)
    """Common names of certificates that may write documents."""
    gateways: list[Text] = Field(min_length=1)
    """Common names of certificates that may search."""
    principal: PrincipalSettings
    database: DatabaseSettings
    claim_key_file: Path
    """HMAC key of claims, 64 hex digits, mode 0600. `migrate` writes it to the database."""
    embedding: EmbeddingSettings
    """Model of searches."""
    embedding_next: EmbeddingSettings | None = None
    """Model that replaces `embedding` later: vectors of both are written, and searches use `embedding`."""
    rerank: RerankSettings | None = None
    collections: list[CollectionSettings] = Field(min_length=1)
    exact_below_rows: int = Field(20_000, ge=0, le=1_000_000)
    """Visible chunks up to which a search is exact. Source: services.md 2.2, measured 2026-11-23: 16 to 19 ms for
    20,000 vectors of 384 dimensions, where the graph had a recall of 0.78."""
    exact_below_share: float = Field(0.25, ge=0, le=1)
    """Visible share of a collection's chunks up to which a search is exact, whatever their number. Source: services.md
    2.2: the graph's recall was 1.00 at 50 % and 0.78 at 10 %."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if both := sorted(set(self.administrators) & set(self.gateways)):
            raise ValueError(f"expected other names in `gateways` than in `administrators`: {', '.join(both)}")
        names = [each.name for each in self.collections]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"duplicate collection: {', '.join(twice)}")
        for model in self.models:
            if model.dimensions > MAX_DIMENSIONS:
                raise ValueError(f"expected at most {MAX_DIMENSIONS} dimensions, got {model.dimensions}")
        if len({model.model_digest for model in self.models}) < len(self.models):
            raise ValueError("expected another `model_digest` in `embedding_next` than in `embedding`")
        return self

    @property
    def models(self) -> list[EmbeddingSettings]:
        """Models whose vectors are written; searches use the first."""
        return [self.embedding, *([self.embedding_next] if self.embedding_next else [])]


def load_settings(path: Path) -> RetrievalSettings:
    """Read and check a retrieval.yaml.

    Raises:
        InputError: the file is unreadable or is not YAML.
        SpecError: all problems of the settings, each with its path.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"expected a readable file, got: {reason}", where=str(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"expected YAML, got a syntax error{line}", where=str(path)) from error
    try:
        return RetrievalSettings.model_validate(content)
    except ValidationError as error:
        raise SpecError(
            [
                Problem(in_words(each), where=f"{path}: {'.'.join(map(str, each['loc']))}".rstrip(": "))
                for each in error.errors(include_url=False)
            ]
        ) from error
