"""Pools and clouds: connections, servers, circuit breakers, retries. Independent of the content of requests."""

from .answer import Answer, Attempts, StreamedAnswer
from .hedging import HEDGED
from .prefill_decode import PrefillDecode
from .tls import proxy_of, tls_context
from .upstream import Upstream

__all__ = ["HEDGED", "Answer", "Attempts", "PrefillDecode", "StreamedAnswer", "Upstream", "proxy_of", "tls_context"]
