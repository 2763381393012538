"""The APIs that the gateway speaks, a module each: `SURFACES` has them by the paths at which clients reach them."""

from collections.abc import Mapping

from sovctl.gateway.surfaces.audio import Transcriptions, Translations
from sovctl.gateway.surfaces.chat import ChatBatch, ChatCompletions
from sovctl.gateway.surfaces.completions import Completions
from sovctl.gateway.surfaces.embeddings import Embeddings
from sovctl.gateway.surfaces.messages import CountTokens, Messages
from sovctl.gateway.surfaces.ranking import Rerank, Score
from sovctl.gateway.surfaces.responses import Responses
from sovctl.gateway.surfaces.restoration import Restoration
from sovctl.gateway.surfaces.surface import EventStream, Surface
from sovctl.gateway.surfaces.tokenization import Detokenize, Tokenize

_ALL: tuple[type[Surface], ...] = (
    *(ChatCompletions, ChatBatch, Completions, Responses, Messages, CountTokens),
    *(Embeddings, Rerank, Score, Transcriptions, Translations, Tokenize, Detokenize),
)
SURFACES: Mapping[str, Surface] = {path: surface for surface in (each() for each in _ALL) for path in surface.paths}

__all__ = ["SURFACES", "EventStream", "Restoration", "Surface"]
