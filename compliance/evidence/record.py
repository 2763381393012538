"""Evidence: what was looked at, how, when, by whom, and what it said. An incomplete record cannot be made.

The fields are those auditors ask for (AICPA's guide on information produced by the entity, reference section 2.3);
raw output is kept beside the record and bound by its SHA-256. `evidence_store` adds the place in the ledger.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ..verdict import Verdict

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
UtcTime = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]


class Evidence(BaseModel):
    """One check on one target at one time."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    check_id: Annotated[str, Field(min_length=1)]
    """Such as `gpu.nvlink-links-active`."""
    check_version: Annotated[int, Field(ge=1)]
    title: Annotated[str, Field(min_length=1)]
    """What was asserted, in words."""
    controls: list[str]
    """Control ids it speaks to, such as `sc-7`; sorted."""
    method: Literal["TEST", "EXAMINE", "INTERVIEW"]
    """NIST SP 800-53A assessment methods."""
    target: Annotated[str, Field(min_length=1)]
    """Node name, node and thing such as `n1/chat`, or `site`."""
    population: list[str]
    """Every target this check applies to as declared in site.yaml; sorted. A target without a record is UNKNOWN."""
    command: str
    """What was run on the target, exactly."""
    exit_code: int | None
    """None when it could not be run."""
    raw_sha256: Sha256
    """Of the captured output, kept as `raw/<sha256>`."""
    started: UtcTime
    ended: UtcTime
    verdict: Verdict
    reason: Annotated[str, Field(min_length=1)]
    """The rule that decided and both sides of it: expected ..., got ...."""
    simulated: bool
    """True when any hardware behind the answer is a stand-in."""
    actor: str
    """Who ran it: user@controller."""
    tool_version: str
    spec_sha256: Sha256
    plan_sha256: Sha256 | None
    """The plan last applied; None when nothing was applied."""
