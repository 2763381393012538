"""The evidence record: target, method, time, actor and result of one check. All fields are required.

The fields follow AICPA's guide on information produced by the entity (reference section 2.3). The raw output is stored
separately and bound by its SHA-256. `store` adds the index in the ledger.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ..verdict import Verdict

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
UtcTime = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]


class Evidence(BaseModel):
    """One check on one target at one time."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    check_id: Annotated[str, Field(min_length=1)]
    """Such as `gpu.nvlink-links-active`."""
    check_version: Annotated[int, Field(ge=1)]
    title: Annotated[str, Field(min_length=1)]
    """The asserted property."""
    controls: list[str]
    """Control ids of the check, such as `sc-7`; sorted."""
    method: Literal["TEST", "EXAMINE", "INTERVIEW"]
    """NIST SP 800-53A assessment methods."""
    target: Annotated[str, Field(min_length=1)]
    """Node name, node and component such as `n1/chat`, or `site`."""
    population: list[str]
    """Every target this check applies to as declared in site.yaml; sorted. A target without a record is UNKNOWN."""
    command: str
    """The exact command run on the target."""
    exit_code: int | None
    """None if the command could not be run."""
    raw_sha256: Sha256
    """SHA-256 of the captured output, stored as `raw/<sha256>`."""
    started: UtcTime
    ended: UtcTime
    expires: UtcTime
    """Time from which the record no longer counts, unless it is FAIL; see `freshness`."""
    verdict: Verdict
    reason: Annotated[str, Field(min_length=1)]
    """The rule, with expected and actual value."""
    simulated: bool
    """Whether any of the checked hardware is simulated."""
    actor: str
    """user@controller."""
    tool_version: str
    spec_sha256: Sha256
    plan_sha256: Sha256 | None
    """SHA-256 of the plan applied last; None if none was applied."""
