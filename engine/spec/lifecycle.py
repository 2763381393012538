"""`lifecycle` of `site.yaml`: limits of the life cycle of nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .rollout import MinServing
from .types import SpecModel

CertificationLevel = Literal["verify", "burn-in"]


class Lifecycle(SpecModel):
    """Limits of the life cycle of nodes."""

    max_quarantined: MinServing = "10%"
    """Nodes in quarantine or repair at one time: a count, or a percentage of all nodes, rounded down, at least one.
    With more, the circuit breaker opens, and `sovctl node reset-breaker` is required. The default is a guess."""
    certification: CertificationLevel = "verify"
    """Evidence that `sovctl node certify` requires: `verify`: all checks of `sovctl verify` without FAIL and UNKNOWN;
    `burn-in`: on GPU nodes in addition results of `sovctl verify --level burn-in`."""
    certificate_days: Annotated[int, Field(ge=1, le=825)] = 90
    """Days until the certificate of a node expires. The default is a guess."""
    require_certificate: bool = False
    """Whether the plan places replicas only on nodes with a certificate that is valid: not expired, parts unchanged."""
    max_evidence_age_h: Annotated[int, Field(ge=1, le=720)] = 24
    """Hours after which evidence is too old for a certification. The default is a guess."""
