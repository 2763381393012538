"""Settings of upstreams (pools and clouds): addresses, APIs, timeouts and circuit breaker."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints, field_validator, model_validator

from ..base.model import Name, SettingsModel
from ..base.surface import SurfaceName
from ..base.urls import encrypted_or_local


class UpstreamKind(StrEnum):
    """Type of an upstream."""

    POOL = "pool"  # inside the perimeter: raw text
    CLOUD = "cloud"  # outside: tokens only

    @property
    def may_see_raw_text(self) -> bool:
        """Whether the upstream may receive raw text."""
        return self is UpstreamKind.POOL


class Capability(StrEnum):
    """Feature of a request that not every model supports."""

    TOOLS = "tools"
    JSON_SCHEMA = "json-schema"
    VISION = "vision"
    AUDIO = "audio"
    REASONING = "reasoning"


INSIDE = frozenset({SurfaceName.TRANSCRIPTIONS, SurfaceName.TRANSLATIONS, SurfaceName.TOKENIZE})
"""APIs whose requests can't be tokenized, because they do not contain text."""


class UpstreamSettings(SettingsModel):
    """A pool of identical servers, or a cloud."""

    name: Name
    kind: UpstreamKind
    base_urls: Annotated[list[AnyHttpUrl], Field(min_length=1)]
    """OpenAI-compatible base URLs, ending in /v1; http only on loopback."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    """Model name in requests to the upstream."""
    surfaces: Annotated[list[SurfaceName], Field(min_length=1)] = Field(default_factory=lambda: [SurfaceName.CHAT])
    """APIs of the upstream. Requests of other APIs are not sent to it."""
    capabilities: list[Capability] | None = None
    """Features of its model beyond text. Requests that need another feature are not sent to it. Default: all."""
    ca_file: Path | None = None
    """CA of the upstream's certificate. Default: the system's CAs."""
    certificate_file: Path | None = None
    """Client certificate of the gateway (mTLS), with `key_file`."""
    key_file: Path | None = None
    api_key_file: Path | None = None
    api_key_header: Literal["authorization", "x-api-key"] = "authorization"
    """Header of the API key: `Authorization: Bearer` (OpenAI, vLLM) or `x-api-key` (Anthropic)."""
    max_model_len: Annotated[int, Field(ge=16)] = 8192
    """Maximum tokens of prompt and answer together."""
    send_principal: bool = False
    """Whether to send the principal in the signed header `x-sovctl-principal`, for RAG and tools that check
    permissions. Pools only."""
    cache_salt: bool = True
    """Whether to send a pool a salt per tenant for its prefix cache, so that response times do not reveal prompts of
    other tenants (CVE-2025-46570). False for servers that reject the field."""
    jurisdiction: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] | None = None
    connect_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3.0
    """Seconds for TCP connect, and for the TLS handshake. 3 s covers two lost SYN packets."""
    first_byte_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Seconds until the first byte of a streamed answer, including time in the queue of the server."""
    answer_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Seconds until an answer that is not streamed is complete; default of the openai client (2.x, read 2026-11)."""
    read_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """Seconds between two chunks of an answer."""
    down_s: Annotated[float, Field(ge=0, le=600)] = 10.0
    """Seconds for which the circuit breaker of a failing server stays open the first time."""
    failures_until_open: Annotated[int, Field(ge=1, le=100)] = 3
    """Consecutive failures that open the circuit breaker."""
    max_retry_after_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    """Maximum seconds that a request waits for an overloaded pool without a fallback. Afterwards the client retries;
    the openai client after 0.5 to 8 s (2.x, read 2026-11)."""

    @field_validator("base_urls")
    @classmethod
    def _encrypted_or_local(cls, urls: list[AnyHttpUrl]) -> list[AnyHttpUrl]:
        if any(url.query is not None or url.fragment is not None for url in urls):
            raise ValueError("expected URLs without query and fragment, got one with `?` or `#`")
        return [encrypted_or_local(url) for url in urls]

    @model_validator(mode="after")
    def _check_surfaces(self) -> UpstreamSettings:
        inside = [surface.value for surface in self.surfaces if self.kind is UpstreamKind.CLOUD and surface in INSIDE]
        if inside:
            raise ValueError(
                f"surfaces: expected APIs with text input, because clouds receive only tokenized text, got {inside[0]}"
            )
        return self

    @model_validator(mode="after")
    def _check_send_principal(self) -> UpstreamSettings:
        if self.send_principal and self.kind is UpstreamKind.CLOUD:
            raise ValueError("send_principal: expected false for a cloud, got true")
        return self

    @model_validator(mode="after")
    def _check_certificate(self) -> UpstreamSettings:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        return self
