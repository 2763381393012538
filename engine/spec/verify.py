"""`verify` of `site.yaml`: limits of active tests, and the site's values of limits of checks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .types import Day, SpecModel, words

LimitId = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}(\.[a-z][a-z0-9-]{0,60}){1,2}$"),
    words("a limit of docs/checks.md such as disk.free-space.least", kind="limit"),
]
_Text = Annotated[str, Field(min_length=3, max_length=100)]


class LimitWaiver(SpecModel):
    """Approval of a looser value in `verify.limits`. Findings that only the waiver accepts are WARN and name it."""

    limit: LimitId
    """Limit of `verify.limits` whose value is looser than that of the catalogue."""
    reason: Annotated[str, Field(min_length=10, max_length=500)]
    """Reason for the looser value, for auditors."""
    requested_by: _Text
    """Role or person who requested it."""
    approved_by: _Text
    """Role or person who approved it; must differ from `requested_by`."""
    reference: _Text
    """Ticket or document of the approval."""
    expires: Day
    """Last day (UTC) of validity, at most 365 days ahead. Afterwards site.yaml is rejected until the waiver is renewed,
    or removed together with the value."""

    def __str__(self) -> str:
        return f"{self.reference}, approved by {self.approved_by} until {self.expires}"


class Verify(SpecModel):
    """Limits of active tests of `sovctl verify --level full|burn-in`, and the site's values of limits of checks."""

    limits: dict[LimitId, Annotated[int, Field(ge=0, le=10_000_000)]] = Field(default_factory=dict)
    """Values of limits of checks, by id in [checks](checks.md#limits), in the unit there. A looser value needs a
    waiver."""
    waivers: list[LimitWaiver] = Field(default_factory=list)
    """Approvals of looser values."""
    power_cap_kw: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Power in kW that all nodes under test may draw together, each at its maximum (`sizing.racks.node_kw`, else the
    catalogue's figure). Nodes are tested at the same time below it. Default: one test at a time."""
    repetitions: Annotated[int, Field(ge=1, le=15)] = 3
    """Measurements of a rate in one test. The median decides. The default is a guess."""
    burn_in_h: Annotated[float, Field(ge=0.1, le=168)] = 4.0
    """Hours of load in the burn-in of a node. The default is a guess; published burn-ins take 1 to 24 h."""
