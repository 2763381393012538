"""`lifecycle` of `site.yaml`: limits of the life cycle of nodes."""

from __future__ import annotations

from .rollout import MinServing
from .types import SpecModel


class Lifecycle(SpecModel):
    """Limits of the life cycle of nodes."""

    max_quarantined: MinServing = "10%"
    """Nodes in quarantine or repair at one time: a count, or a percentage of all nodes, rounded down, at least one.
    With more, the circuit breaker opens, and `sovctl node reset-breaker` is required. The default is a guess."""
