"""Pools and clouds: connections, servers, circuits, retries. What is sent and what it means is others' business."""

from .answer import Answer, Attempts
from .hedging import HEDGED
from .tls import tls_context
from .upstream import Upstream

__all__ = ["HEDGED", "Answer", "Attempts", "Upstream", "tls_context"]
