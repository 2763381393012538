"""The evidence record: target, method, time, actor, tool and result of one check. All fields are required.

The fields follow AICPA's guide on information produced by the entity (reference section 2.3). A value that does not
exist is stated: `none`, `not measured`. Stored separately and bound by SHA-256: the raw output, and the population,
which all records of a check and many checks share. `store` adds the index in the ledger. Controls, waivers and items
of the plan of action are not stored, because they follow from the check id at the time of a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StringConstraints, model_validator

from sovctl.support.canonical_json import canonical_json, sha256_hex

from ..verdict import Verdict
from .layout import EVIDENCE_FORMAT, NONE

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
UtcTime = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Names = tuple[Text, ...]

WHOLE = "whole population"
"""Sample rule of a run without `--node`."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Actor(_Part):
    """The origin of a run."""

    user: Text
    """The person: the user that called sudo, otherwise the user of the process."""
    account: Text
    """The account of the process, such as `root` or a service account."""
    host: Text

    def __str__(self) -> str:
        """Return `user@host`, with the account if it differs."""
        return f"{self.user}@{self.host}" + (f" as {self.account}" if self.account != self.user else "")


class Tool(_Part):
    """The sovctl that measured."""

    version: Text
    record_sha256: Sha256
    """SHA-256 of RECORD of the installed distribution, which has the digests of its files."""
    is_editable: StrictBool
    """Whether it is a development install, of which RECORD does not cover the code."""


class Clock(_Part):
    """The controller's clock at the start of a run."""

    measured: UtcTime
    offset_us: StrictInt | Literal["not measured"]
    """Offset from the time source, microseconds; positive if the clock is slow."""
    source: Text
    """The time source and the command that reported it, or the reason why the offset was not measured."""


class Previous(_Part):
    """The result before, of the same check and target."""

    verdict: Verdict
    run_id: Text
    sha256: Sha256
    """SHA-256 of its record."""
    leaf_index: Annotated[StrictInt, Field(ge=0)]


class Population(_Part):
    """The targets of a check: declared, sampled and discovered. All lists are sorted."""

    query: Text
    """How the declared targets are computed. `sovctl evidence rerun` runs it again."""
    declared: Annotated[Names, Field(min_length=1)]
    """Every target as declared in site.yaml. A target without a record is UNKNOWN."""
    sample_rule: Text
    sampled: Annotated[Names, Field(min_length=1)]
    """The targets of this run; their number is the size of the sample."""
    discovery: Text
    """How the discovered targets were found."""
    discovered: Names
    not_discovered: Names
    """Sampled targets that were not discovered."""
    not_declared: Names
    """Discovered targets that site.yaml does not declare."""

    @classmethod
    def of(
        cls, *, query: str, declared: Names, sample_rule: str, sampled: Names, discovery: str, discovered: Names
    ) -> Self:
        """Return a population with its differences."""
        return cls(
            query=query,
            declared=declared,
            sample_rule=sample_rule,
            sampled=sampled,
            discovery=discovery,
            discovered=discovered,
            not_discovered=tuple(sorted({*sampled} - {*discovered})),
            not_declared=tuple(sorted({*discovered} - {*declared})),
        )

    @model_validator(mode="after")
    def _has_true_differences(self) -> Self:
        for name in ("declared", "sampled", "discovered"):
            if list(getattr(self, name)) != sorted({*getattr(self, name)}):
                raise ValueError(f"{name}: expected sorted names without repetition")
        if outside := sorted({*self.sampled} - {*self.declared}):
            raise ValueError(f"sampled: {outside[0]} is not declared")
        if self.sample_rule == WHOLE and self.sampled != self.declared:
            raise ValueError(f"sampled: expected all declared targets for the rule {WHOLE!r}")
        if self.not_discovered != tuple(sorted({*self.sampled} - {*self.discovered})):
            raise ValueError("not_discovered: expected the sampled targets without the discovered ones")
        if self.not_declared != tuple(sorted({*self.discovered} - {*self.declared})):
            raise ValueError("not_declared: expected the discovered targets without the declared ones")
        return self

    @cached_property
    def data(self) -> bytes:
        """Canonical JSON, the content of the stored file."""
        return canonical_json(self.model_dump(mode="json"))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of `data`, its name in records."""
        return sha256_hex(self.data)


class Evidence(_Part):
    """One check on one target at one time."""

    check_id: Text
    """Such as `gpu.nvlink-links-active`."""
    check_version: Annotated[StrictInt, Field(ge=1)]
    check_sha256: Sha256
    """Digest of the declaration: of the properties of the check and of its source file."""
    title: Text
    """The asserted property."""
    method: Literal["TEST", "EXAMINE", "INTERVIEW"]
    """NIST SP 800-53A assessment methods."""
    target: Text
    """Node name, node and component such as `n1/chat`, or `site`."""
    population: Population
    command: Text
    """The exact command run on the target."""
    exit_code: StrictInt | None
    """None if the command could not be run; the verdict is then UNKNOWN."""
    raw_sha256: Sha256
    """SHA-256 of the captured output, stored as `raw/<sha256>`."""
    started: UtcTime
    ended: UtcTime
    expires: UtcTime
    """Time from which the record no longer counts, unless it is FAIL; see `freshness`."""
    verdict: Verdict
    rule: Text
    """The rule that decided the verdict, with the limits of site.yaml that it used."""
    reason: Text
    """Expected and actual value."""
    simulated: StrictBool
    """Whether any of the checked hardware is simulated."""
    previous: Previous | Literal["none"]
    actor: Actor
    tool: Tool
    clock: Clock
    spec_sha256: Sha256
    """SHA-256 of the values of site.yaml."""
    plan_sha256: Sha256 | Literal["none"]
    """SHA-256 of the plan applied last."""
    apply_run: Text
    """Run id of the last apply; `none` exactly if `plan_sha256` is `none`."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.target not in self.population.sampled:
            raise ValueError("target: not in the population of the check, or not in its sample")
        if not self.started[:19] <= self.ended[:19] <= self.expires[:19]:
            raise ValueError("ended: expected a time from `started` to `expires`")
        if self.exit_code is None and self.verdict is not Verdict.UNKNOWN:
            raise ValueError("exit_code: expected a number, because the verdict is not UNKNOWN")
        if (self.plan_sha256 == NONE) != (self.apply_run == NONE):
            raise ValueError("apply_run: expected `none` exactly if plan_sha256 is `none`")
        return self

    def as_record(self) -> dict[str, Any]:
        """Return the stored form: plain values, with the digest of the population in its place."""
        record = self.model_dump(mode="json", exclude={"population"})
        return record | {"format": EVIDENCE_FORMAT, "population_sha256": self.population.sha256}

    @classmethod
    def of_record(cls, record: Mapping[str, Any], population: Population) -> Self:
        """Return the evidence of a stored record.

        Args:
            population: with the digest in the record.

        Raises:
            ValidationError: a field is absent, unknown or invalid.
        """
        values = {name: value for name, value in record.items() if name not in ("format", "population_sha256")}
        return cls.model_validate({**values, "population": population})
