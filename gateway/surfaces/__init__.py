"""The APIs that the gateway speaks, a module each: `SURFACES` has them by the paths at which clients reach them."""

from collections.abc import Mapping

from sovctl.gateway.surfaces.chat import ChatBatch, ChatCompletions
from sovctl.gateway.surfaces.completions import Completions
from sovctl.gateway.surfaces.embeddings import Embeddings
from sovctl.gateway.surfaces.messages import CountTokens, Messages
from sovctl.gateway.surfaces.ranking import Rerank, Score
from sovctl.gateway.surfaces.responses import Responses
from sovctl.gateway.surfaces.restoration import Restoration
from sovctl.gateway.surfaces.surface import EventStream, Surface

SURFACES: Mapping[str, Surface] = {
    path: surface
    for surface in (
        ChatCompletions(),
        ChatBatch(),
        Completions(),
        Embeddings(),
        Rerank(),
        Score(),
        Responses(),
        Messages(),
        CountTokens(),
    )
    for path in surface.paths
}

__all__ = ["SURFACES", "EventStream", "Restoration", "Surface"]
