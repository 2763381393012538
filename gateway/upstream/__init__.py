"""Pools and clouds: connections, servers, circuits, retries. What is sent and what it means is others' business."""

from sovctl.gateway.upstream.answer import Answer, Attempts
from sovctl.gateway.upstream.hedging import HEDGED
from sovctl.gateway.upstream.tls import tls_context
from sovctl.gateway.upstream.upstream import Upstream

__all__ = ["HEDGED", "Answer", "Attempts", "Upstream", "tls_context"]
