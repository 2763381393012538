"""Client APIs, one module each. `SURFACES` maps request paths to them."""

from collections.abc import Mapping

from .answers.restoration import Restoration
from .audio import Transcriptions, Translations
from .chat import ChatBatch, ChatCompletions
from .completions import Completions
from .embeddings import Embeddings
from .messages import CountTokens, Messages
from .ranking import Rerank, Score
from .realtime import Realtime
from .responses import Responses
from .surface import EventStream, Surface
from .tokenization import Detokenize, Tokenize

_ALL: tuple[type[Surface], ...] = (
    *(ChatCompletions, ChatBatch, Completions, Responses, Messages, CountTokens),
    *(Embeddings, Rerank, Score, Transcriptions, Translations, Realtime, Tokenize, Detokenize),
)
SURFACES: Mapping[str, Surface] = {path: surface for surface in (each() for each in _ALL) for path in surface.paths}

__all__ = ["SURFACES", "EventStream", "Restoration", "Surface"]
