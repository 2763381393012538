"""Lists of models of upstreams, read to learn whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from ..domain.errors import UpstreamFailed
from ..settings import UpstreamApi
from .refusals import REFUSALS_OF_PROXIES, refusal_in
from .server import Server

SILENT = "doesn't answer"
PROBE_TIMEOUT_S = 2.0
_MAX_LISTED = 1 << 20  # bytes of a list of models
# Lists of models that show whether an upstream answers, with the headers that they need. On Bedrock and Vertex, reading
# such a list needs other permissions than a request.
MODELS: dict[UpstreamApi, tuple[str, Mapping[str, str]]] = {
    UpstreamApi.OPENAI: ("models", {}),
    UpstreamApi.AZURE_OPENAI: ("openai/v1/models", {}),
    UpstreamApi.ANTHROPIC: ("models", {"anthropic-version": "2023-06-01"}),
}


async def models_problem(servers: Iterable[Server], path: str, headers: Mapping[str, str]) -> str:
    """Return why no server lists its models; empty if one does."""
    problems = await asyncio.gather(*(_problem(server, path, headers) for server in servers))
    return "" if "" in problems else next((each for each in problems if each != SILENT), SILENT)


async def _problem(server: Server, path: str, headers: Mapping[str, str]) -> str:
    """Return why a server does not list its models; empty if it does."""
    try:
        status, _ = await server.get(
            server.target(path), timeout_s=PROBE_TIMEOUT_S, at_most=_MAX_LISTED, headers=headers
        )
    except UpstreamFailed as error:
        return REFUSALS_OF_PROXIES.get(error.cause, SILENT)
    return "" if status == 200 else refusal_in(status) or SILENT
