"""`verify` of `site.yaml`: limits of active tests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .types import SpecModel


class Verify(SpecModel):
    """Limits of active tests of `sovctl verify --level full|burn-in`."""

    power_cap_kw: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Power in kW that all nodes under test may draw together, each at its maximum (`sizing.racks.node_kw`, else the
    catalogue's figure). Nodes are tested at the same time below it. Default: one test at a time."""
    repetitions: Annotated[int, Field(ge=1, le=15)] = 3
    """Measurements of a rate in one test. The median decides. The default is a guess."""
    burn_in_h: Annotated[float, Field(ge=0.1, le=168)] = 4.0
    """Hours of load in the burn-in of a node. The default is a guess; published burn-ins take 1 to 24 h."""
