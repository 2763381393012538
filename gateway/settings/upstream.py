"""Pools and clouds: where they are, what they may see, how long we wait for them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints, field_validator, model_validator

from .model import Name, SettingsModel, encrypted_or_local
from .surface import SurfaceName


class UpstreamKind(StrEnum):
    """What an upstream may see."""

    POOL = "pool"  # inside the perimeter: raw text
    CLOUD = "cloud"  # outside: tokens only

    @property
    def may_see_raw_text(self) -> bool:
        """True for a pool of the site's own."""
        return self is UpstreamKind.POOL


class Capability(StrEnum):
    """Something that a request may ask for and not every model can do."""

    TOOLS = "tools"
    JSON_SCHEMA = "json-schema"
    VISION = "vision"
    AUDIO = "audio"
    REASONING = "reasoning"


INSIDE = frozenset({SurfaceName.TRANSCRIPTIONS, SurfaceName.TRANSLATIONS, SurfaceName.TOKENIZE})
"""APIs whose requests can't be tokenized: what they hold is no text."""


class UpstreamSettings(SettingsModel):
    """One pool of equal servers, or one cloud."""

    name: Name
    kind: UpstreamKind
    base_urls: Annotated[list[AnyHttpUrl], Field(min_length=1)]
    """OpenAI-compatible, ending in /v1. Plain http only to this machine itself."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    """The model name the upstream knows."""
    surfaces: Annotated[list[SurfaceName], Field(min_length=1)] = Field(default_factory=lambda: [SurfaceName.CHAT])
    """The APIs it serves. A request of any other never goes there."""
    capabilities: list[Capability] | None = None
    """What its model can do beyond text; a request for anything else never goes there. Everything is tried when
    absent."""
    ca_file: Path | None = None
    """Certificate authority that signs the upstream; the system's when absent."""
    certificate_file: Path | None = None
    """Our client certificate (mTLS), with `key_file`."""
    key_file: Path | None = None
    api_key_file: Path | None = None
    api_key_header: Literal["authorization", "x-api-key"] = "authorization"
    """Where the key goes: `Authorization: Bearer` as OpenAI and vLLM want it, or `x-api-key` as Anthropic does."""
    max_model_len: Annotated[int, Field(ge=16)] = 8192
    """Tokens of prompt and answer together."""
    send_principal: bool = False
    """Tell it who is calling, in the signed header `x-sovctl-principal`: for RAG and tools that check permissions.
    Pools only."""
    cache_salt: bool = True
    """Tell a pool a salt for its prefix cache, another one for each tenant, so that nobody learns from how long an
    answer takes what another tenant has asked (CVE-2025-46570). False for servers that refuse the field."""
    jurisdiction: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] | None = None
    connect_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3.0
    """Also bounds the TLS handshake. A pool one hop away answers in milliseconds; 3 s covers two lost SYNs."""
    first_byte_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Until a streamed answer begins. A full queue at `max_num_queued_reqs` may hold a request for a while."""
    answer_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Until an answer that is not streamed is whole; the openai client waits as long (2.x, read 2026-11)."""
    read_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """Between two pieces of an answer that has begun."""
    down_s: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long a server that keeps failing is left alone, the first time: long enough to spare clients the wait, short
    enough for a restart to be noticed."""
    failures_until_open: Annotated[int, Field(ge=1, le=100)] = 3
    """How many failures without a whole answer between them that takes."""
    max_retry_after_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    """How long a request may wait for an overloaded pool when there is nowhere else to go. Clients wait and try again
    by themselves after that; the openai client does so after 0.5 to 8 s (2.x, read 2026-11)."""

    @field_validator("base_urls")
    @classmethod
    def _encrypted_or_local(cls, urls: list[AnyHttpUrl]) -> list[AnyHttpUrl]:
        if any(url.query is not None or url.fragment is not None for url in urls):
            raise ValueError("expected addresses that end in a path, got one with `?` or `#`")
        return [encrypted_or_local(url) for url in urls]

    @model_validator(mode="after")
    def _text_only_outside(self) -> UpstreamSettings:
        inside = [surface.value for surface in self.surfaces if self.kind is UpstreamKind.CLOUD and surface in INSIDE]
        if inside:
            raise ValueError(
                f"surfaces: expected APIs that take text, which a cloud may see as tokens, got {inside[0]}"
            )
        return self

    @model_validator(mode="after")
    def _principals_stay_inside(self) -> UpstreamSettings:
        if self.send_principal and self.kind is UpstreamKind.CLOUD:
            raise ValueError("send_principal: expected false for a cloud, got true")
        return self

    @model_validator(mode="after")
    def _certificate_with_key(self) -> UpstreamSettings:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        return self
