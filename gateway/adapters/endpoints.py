"""Endpoints of upstreams: path, fixed fields and headers by API of the upstream and API of the client. Pure.

| `api` | path of chat completions or messages |
|---|---|
| `openai` | `chat/completions` |
| `anthropic` | `messages` |
| `azure-openai` | `openai/v1/chat/completions` |
| ... with `api_version` | `openai/deployments/MODEL/chat/completions?api-version=` |
| `bedrock` | `model/MODEL/converse`, `model/MODEL/converse-stream` |
| `vertex`, `anthropic` | `projects/P/locations/L/publishers/anthropic/models/MODEL:rawPredict` |
| ... for streams | the same with `:streamRawPredict` |
| `vertex`, `google` | `projects/P/locations/L/endpoints/openapi/chat/completions` |

Sources (read 2026-11): Azure OpenAI REST API reference; Amazon Bedrock API reference; Google Cloud, "Request
predictions with Claude models" and "Using OpenAI libraries with Vertex AI"; anthropic 2.12, `lib/vertex/_client.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from ..settings import SurfaceName, UpstreamApi, UpstreamSettings
from ..surfaces import Surface

COUNT_TOKENS = "messages.count_tokens"
ANTHROPIC_VERSION = {"anthropic-version": "2023-06-01"}
"""Header without which Anthropic rejects requests."""
_VERTEX_VERSION = {"anthropic_version": "vertex-2023-10-16"}


class Format(StrEnum):
    """Format of requests and answers at an upstream."""

    CHAT = "chat.completions"
    MESSAGES = "messages"
    CONVERSE = "converse"
    COUNT = "messages.count_tokens"
    BEDROCK_COUNT = "count-tokens"
    OTHER = "other"
    """As the client's."""


class Endpoint(NamedTuple):
    """An endpoint for one API of clients."""

    format: Format
    path: Callable[[bool], str]
    """Path below the base URL; the argument states whether a stream is wanted."""
    fields: Mapping[str, str] = MappingProxyType({})
    """Fields of the body that replace its model, which is a part of the path; empty if the model stays in the body."""
    headers: Mapping[str, str] = MappingProxyType({})


def endpoint_of(upstream: UpstreamSettings, surface: Surface) -> Endpoint | None:
    """Return the endpoint; None if the upstream does not serve this API."""
    if surface.family not in upstream.surfaces:
        return None
    if surface.name == COUNT_TOKENS:
        return _count_tokens(upstream, surface)
    is_translated = surface.family in upstream.served.translated
    wanted = _FORMATS.get(surface.family, Format.OTHER)
    match upstream.api:
        case UpstreamApi.OPENAI:
            return _fixed(Format.CHAT, _CHAT_PATH) if is_translated else _fixed(wanted, surface.path)
        case UpstreamApi.AZURE_OPENAI:
            path = _CHAT_PATH if is_translated else surface.path
            return _fixed(Format.CHAT if is_translated else wanted, azure_path(upstream, path))
        case UpstreamApi.ANTHROPIC:
            return Endpoint(Format.MESSAGES, lambda _: "messages", headers=ANTHROPIC_VERSION if is_translated else {})
        case UpstreamApi.BEDROCK:
            model = f"model/{quote(upstream.model, safe='')}"
            return Endpoint(
                Format.CONVERSE, lambda is_stream: f"{model}/converse-stream" if is_stream else f"{model}/converse"
            )
        case UpstreamApi.VERTEX:
            return _vertex(upstream)


_CHAT_PATH = "chat/completions"
_FORMATS = {SurfaceName.CHAT: Format.CHAT, SurfaceName.MESSAGES: Format.MESSAGES}


def _fixed(format_: Format, path: str) -> Endpoint:
    return Endpoint(format_, lambda _: path)


def azure_path(upstream: UpstreamSettings, path: str) -> str:
    """Return a path of Azure OpenAI: of the v1 API, or of the API by deployment."""
    version = upstream.azure.api_version if upstream.azure is not None else None
    if version is None:
        return f"openai/v1/{path}"
    return f"openai/deployments/{quote(upstream.model, safe='')}/{path}?api-version={version}"


def _vertex(upstream: UpstreamSettings) -> Endpoint:
    vertex = upstream.vertex
    assert vertex is not None
    place = f"projects/{vertex.project}/locations/{vertex.location}"
    if vertex.publisher == "google":
        return _fixed(Format.CHAT, f"{place}/endpoints/openapi/{_CHAT_PATH}")
    model = f"{place}/publishers/anthropic/models/{quote(upstream.model, safe='@')}"
    return Endpoint(
        Format.MESSAGES,
        lambda is_stream: f"{model}:streamRawPredict" if is_stream else f"{model}:rawPredict",
        fields=_VERTEX_VERSION,
    )


def _count_tokens(upstream: UpstreamSettings, surface: Surface) -> Endpoint | None:
    match upstream.api:
        case UpstreamApi.OPENAI if SurfaceName.MESSAGES not in upstream.translated_surfaces:
            return _fixed(Format.COUNT, surface.path)
        case UpstreamApi.ANTHROPIC:
            return _fixed(Format.COUNT, surface.path)
        case UpstreamApi.BEDROCK:
            return _fixed(Format.BEDROCK_COUNT, f"model/{quote(upstream.model, safe='')}/count-tokens")
        case UpstreamApi.VERTEX if upstream.vertex is not None and upstream.vertex.publisher == "anthropic":
            place = f"projects/{upstream.vertex.project}/locations/{upstream.vertex.location}"
            return _fixed(Format.COUNT, f"{place}/publishers/anthropic/models/count-tokens:rawPredict")
    return None  # chat completions have no API for that
