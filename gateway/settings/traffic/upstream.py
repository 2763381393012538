"""Settings of upstreams (pools and clouds): addresses, APIs, timeouts and circuit breaker."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints, field_validator, model_validator

from ..base.model import Name, SettingsModel
from ..base.surface import SurfaceName
from ..base.urls import encrypted_or_local, is_loopback
from .prefill import PrefillSettings
from .upstream_api import (
    KEY_HEADERS,
    PROVIDERS,
    REQUIRED,
    AzureSettings,
    BedrockSettings,
    Served,
    UpstreamApi,
    VertexSettings,
    served_by,
)


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


INSIDE = frozenset({SurfaceName.TRANSCRIPTIONS, SurfaceName.TRANSLATIONS, SurfaceName.REALTIME, SurfaceName.TOKENIZE})
"""APIs whose requests can't be tokenized, because they do not contain text."""


class ProxySettings(SettingsModel):
    """An HTTP proxy in front of a cloud. The gateway opens a tunnel through it (CONNECT) and speaks TLS with the cloud
    in the tunnel, so the proxy sees host, port and sizes only."""

    url: AnyHttpUrl
    """URL of the proxy, such as https://10.9.0.8:3129: host and port, without a path. With `https` the gateway speaks
    TLS with the proxy too."""
    user: Annotated[str, StringConstraints(pattern=r"^[^:\x00-\x1f\x7f]{1,255}$")] | None = None
    """User for Basic authentication, with `password_file`. Default: none."""
    password_file: Path | None = None
    ca_file: Path | None = None
    """CA of the proxy's own certificate, with an https URL. Default: the system's CAs."""
    allow_password_in_clear: bool = False
    """Whether the password may be sent to a proxy on another machine over plain http, where the network can read it."""

    @field_validator("url")
    @classmethod
    def _host_and_port(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        if url.username is not None or url.password is not None:
            raise ValueError("expected `user` and `password_file`, got credentials in the URL")
        if url.path not in (None, "", "/") or url.query is not None or url.fragment is not None:
            raise ValueError("expected host and port only, got a URL with more")
        return url

    @model_validator(mode="after")
    def _check_credentials(self) -> ProxySettings:
        if (self.user is None) != (self.password_file is None):
            raise ValueError("expected user and password_file together, got only one of them")
        if self.url.scheme == "http":
            if self.ca_file is not None:
                raise ValueError("ca_file: expected an https URL, got http")
            is_exposed = self.user is not None and not is_loopback(self.url.host or "")
            if is_exposed and not self.allow_password_in_clear:
                raise ValueError(
                    "expected an https URL, because the network could read the password, or allow_password_in_clear,"
                    " got neither"
                )
        return self


class UpstreamSettings(SettingsModel):
    """A pool of identical servers, or a cloud."""

    name: Name
    kind: UpstreamKind
    api: UpstreamApi = UpstreamApi.OPENAI
    """API of the upstream. Pools have the API of OpenAI."""
    base_urls: Annotated[list[AnyHttpUrl], Field(min_length=1)]
    """Base URLs, ending in /v1; http only on loopback. Azure OpenAI and Bedrock: the endpoint, without a path."""
    model: Annotated[str, Field(min_length=1, max_length=2048)]
    """Model name in requests to the upstream. Azure OpenAI: the deployment. Bedrock: the id or ARN."""
    surfaces: Annotated[list[SurfaceName], Field(min_length=1)] = Field(default_factory=lambda: [SurfaceName.CHAT])
    """APIs of clients that the upstream serves. Requests of other APIs are not sent to it. The gateway translates those
    that `api` lacks."""
    translated_surfaces: list[SurfaceName] = Field(default_factory=list)
    """Those of `surfaces` that an upstream of `api: openai` lacks: `messages` is then translated to chat
    completions."""
    default_max_tokens: Annotated[int, Field(ge=1, le=16_777_216)] = 4096
    """Maximum tokens of an answer if the client states none and the upstream requires a number (Anthropic, Bedrock).
    4,096 is the default of LiteLLM for Anthropic (constants.py, read 2026-11)."""
    azure: AzureSettings | None = None
    """Settings of `api: azure-openai`."""
    bedrock: BedrockSettings | None = None
    """Settings of `api: bedrock`; required there."""
    vertex: VertexSettings | None = None
    """Settings of `api: vertex`; required there."""
    capabilities: list[Capability] | None = None
    """Features of its model beyond text. Requests that need another feature are not sent to it. Default: all."""
    ca_file: Path | None = None
    """CA of the upstream's certificate. Default: the system's CAs."""
    certificate_file: Path | None = None
    """Client certificate of the gateway (mTLS), with `key_file`."""
    key_file: Path | None = None
    api_key_file: Path | None = None
    api_key_header: Literal["authorization", "x-api-key", "api-key"] | None = None
    """Header of the API key: `Authorization: Bearer`, `x-api-key` (Anthropic) or `api-key` (Azure). Default: by
    `api`."""
    proxy: ProxySettings | None = None
    """HTTP proxy in front of a cloud. Default: none; variables such as HTTPS_PROXY are ignored. Clouds only."""
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
    prefill: PrefillSettings | None = None
    """Pool that prefills long prompts for this one. Default: none. Pools only."""

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
    def _check_api(self) -> UpstreamSettings:
        """Check `api` and what depends on it; all problems in one message."""
        if problems := [*self._api_problems()]:
            raise ValueError("; ".join(problems))
        return self

    def _api_problems(self) -> Iterator[str]:
        if self.api is not UpstreamApi.OPENAI and self.kind is UpstreamKind.POOL:
            yield f"api: expected openai for a pool, got {self.api.value}"
        for api, section in PROVIDERS.items():
            if self.api is not api and getattr(self, section) is not None:
                yield f"{section}: expected only with api {api.value}, got {self.api.value}"
            elif self.api is api and api in REQUIRED and getattr(self, section) is None:
                yield f"{section}: expected this section with api {api.value}, got none"
        served = self.served
        for surface in self.surfaces:
            if surface not in served.native | served.translated:
                known = ", ".join(sorted(served.native | served.translated))
                yield f"surfaces: expected some of {known} with api {self.api.value}, got {surface.value}"
        for surface in self.translated_surfaces:
            if self.api is not UpstreamApi.OPENAI or surface is not SurfaceName.MESSAGES:
                yield f"translated_surfaces: expected only messages, with api openai, got {surface.value}"
            elif surface not in self.surfaces:
                yield f"translated_surfaces: expected some of surfaces, got {surface.value}"
        if self.bedrock is not None and (self.bedrock.credentials_file is None) == (self.api_key_file is None):
            yield "bedrock.credentials_file: expected either this or api_key_file, got both or neither"
        if self.vertex is not None and self.api_key_file is not None:
            yield "api_key_file: expected none with api vertex, which uses vertex.service_account_file"

    @property
    def served(self) -> Served:
        """Client APIs of the upstream: those it has, and those the gateway translates."""
        return served_by(self.api, azure=self.azure, vertex=self.vertex, translated_surfaces=self.translated_surfaces)

    @property
    def key_header(self) -> str:
        """Header of the API key."""
        return self.api_key_header or KEY_HEADERS.get(self.api, "authorization")

    @model_validator(mode="after")
    def _check_send_principal(self) -> UpstreamSettings:
        if self.send_principal and self.kind is UpstreamKind.CLOUD:
            raise ValueError("send_principal: expected false for a cloud, got true")
        return self

    @model_validator(mode="after")
    def _check_prefill(self) -> UpstreamSettings:
        if self.prefill is None:
            return self
        if self.kind is UpstreamKind.CLOUD:
            raise ValueError("prefill: expected none for a cloud, got one")
        if not self.cache_salt:
            raise ValueError("cache_salt: expected true with `prefill`, which gives each transfer a salt, got false")
        # A decode begins in the first half of a lease; a connection takes a quarter at most, and leaves one to read.
        if self.prefill.kv_lease_s < 4 * self.connect_timeout_s:
            raise ValueError(
                f"prefill.kv_lease_s: expected at least 4 x connect_timeout_s ({self.connect_timeout_s:g} s), got"
                f" {self.prefill.kv_lease_s}"
            )
        return self

    @model_validator(mode="after")
    def _check_proxy(self) -> UpstreamSettings:
        if self.proxy is not None:
            if self.kind is UpstreamKind.POOL:
                raise ValueError("proxy: expected none for a pool, which is inside the site, got one")
            if any(url.scheme != "https" for url in self.base_urls):
                raise ValueError("proxy: expected https in base_urls, because the proxy could read http, got http")
        return self

    @model_validator(mode="after")
    def _check_certificate(self) -> UpstreamSettings:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        return self
