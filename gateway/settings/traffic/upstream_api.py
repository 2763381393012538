"""APIs of upstreams: which client APIs each of them serves, and the settings of each provider. Pure.

| `api` | client APIs that it has | client APIs that the gateway translates |
|---|---|---|
| `openai` (and vLLM) | all of `surfaces` | `messages`, if `translated_surfaces` lists it |
| `azure-openai` | `chat.completions`, `completions`, `embeddings`; `responses` without `api_version` | `messages` |
| `anthropic` | `messages` | `chat.completions` |
| `bedrock` | none: Converse and ConverseStream | `chat.completions`, `messages` |
| `vertex`, publisher `anthropic` | `messages` | `chat.completions` |
| `vertex`, publisher `google` | `chat.completions` | `messages` |

Counting tokens (`/v1/messages/count_tokens`) needs an API of Anthropic or Bedrock; chat completions lack it.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AnyHttpUrl, StringConstraints, field_validator

from ..base.model import SettingsModel
from ..base.surface import SurfaceName
from ..base.urls import encrypted_or_local


class UpstreamApi(StrEnum):
    """The API of an upstream."""

    OPENAI = "openai"
    AZURE_OPENAI = "azure-openai"
    ANTHROPIC = "anthropic"
    BEDROCK = "bedrock"
    VERTEX = "vertex"


class AzureSettings(SettingsModel):
    """Azure OpenAI."""

    api_version: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}(-preview)?$")] | None = None
    """Version of the API by deployment, such as 2024-10-21; `model` is then the deployment. Default: the v1 API."""

    @field_validator("api_version", mode="before")
    @classmethod
    def _text(cls, version: object) -> object:
        return version.isoformat() if isinstance(version, date) else version  # YAML reads it as a date


class BedrockSettings(SettingsModel):
    """Amazon Bedrock."""

    region: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """Region for which requests are signed, such as eu-central-1."""
    credentials_file: Path | None = None
    """Keys for signatures (SigV4), in the format of AWS's shared credentials file; read again after it changed.
    Default: `api_key_file`, a Bedrock API key."""
    profile: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "default"
    """Section of `credentials_file`."""


class VertexSettings(SettingsModel):
    """Google Vertex AI."""

    project: Annotated[str, StringConstraints(pattern=r"^[a-z0-9:.-]{1,64}$")]
    location: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}$")]
    """Location of the model, such as europe-west4 or global."""
    publisher: Literal["anthropic", "google"]
    """`anthropic`: Anthropic's messages at the publisher's path. `google`: the OpenAI-compatible API."""
    service_account_file: Path
    """JSON key of a service account."""
    token_url: AnyHttpUrl = AnyHttpUrl("https://oauth2.googleapis.com/token")
    """Where a signed assertion is exchanged for an access token (RFC 7523)."""
    token_ca_file: Path | None = None
    """CA of the certificate of `token_url`. Default: the system's CAs."""

    @field_validator("token_url")
    @classmethod
    def _encrypted_or_local(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        return encrypted_or_local(url)


PROVIDERS: dict[UpstreamApi, str] = {
    UpstreamApi.AZURE_OPENAI: "azure",
    UpstreamApi.BEDROCK: "bedrock",
    UpstreamApi.VERTEX: "vertex",
}
"""Section with the settings of a provider, by API."""
REQUIRED = frozenset({UpstreamApi.BEDROCK, UpstreamApi.VERTEX})
"""APIs whose section has no default."""
KEY_HEADERS: dict[UpstreamApi, str] = {UpstreamApi.ANTHROPIC: "x-api-key", UpstreamApi.AZURE_OPENAI: "api-key"}
"""Default header of the API key; `authorization` for other APIs."""

_CHAT, _MESSAGES = frozenset({SurfaceName.CHAT}), frozenset({SurfaceName.MESSAGES})
_BY_DEPLOYMENT = frozenset({SurfaceName.CHAT, SurfaceName.COMPLETIONS, SurfaceName.EMBEDDINGS})
_NOTHING: frozenset[SurfaceName] = frozenset()


class Served(NamedTuple):
    """Client APIs of an upstream."""

    native: frozenset[SurfaceName]
    """APIs that the upstream has."""
    translated: frozenset[SurfaceName]
    """APIs that the gateway translates."""


def served_by(
    api: UpstreamApi,
    *,
    azure: AzureSettings | None = None,
    vertex: VertexSettings | None = None,
    translated_surfaces: list[SurfaceName] | None = None,
) -> Served:
    """Return the client APIs that an upstream with this API may serve."""
    match api:
        case UpstreamApi.OPENAI:
            translated = frozenset(translated_surfaces or ()) & _MESSAGES
            return Served(frozenset(SurfaceName) - translated, translated)
        case UpstreamApi.AZURE_OPENAI:
            has_version = azure is not None and azure.api_version is not None
            more = _NOTHING if has_version else frozenset({SurfaceName.RESPONSES})
            return Served(_BY_DEPLOYMENT | more, _MESSAGES)
        case UpstreamApi.ANTHROPIC:
            return Served(_MESSAGES, _CHAT)
        case UpstreamApi.BEDROCK:
            return Served(_NOTHING, _CHAT | _MESSAGES)
        case UpstreamApi.VERTEX:
            is_anthropic = vertex is not None and vertex.publisher == "anthropic"
            return Served(_MESSAGES, _CHAT) if is_anthropic else Served(_CHAT, _MESSAGES)
