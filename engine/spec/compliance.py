"""`compliance` of `site.yaml`: control frameworks, decisions of persons about them, deadlines and owners."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .types import CatalogId, Day, FilePath, SpecModel, words

_Short = Annotated[str, Field(min_length=1, max_length=100)]
_Person = Annotated[str, Field(min_length=3, max_length=100)]
_Reason = Annotated[str, Field(min_length=3, max_length=500)]
CheckPattern = Annotated[
    str,
    StringConstraints(pattern=r"^(\*|[a-z][a-z0-9-]{0,40}\.(\*|[a-z0-9-]{1,60}))$"),
    words("a check id such as disk.encrypted, a topic such as disk.*, or *", kind="check pattern"),
]
_Vkey = Annotated[
    str,
    StringConstraints(pattern=r"^[^\s+]{1,80}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$"),
    words("the text of a .vkey file (name+hash+base64)", kind="public key"),
]
_Signature = Annotated[
    str,
    StringConstraints(pattern=r"^(request|approval) [^\s+]{1,80}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44} [A-Za-z0-9+/]{86}==$"),
    words("a line of `sovctl waiver sign`", kind="signature"),
]
_Days = Annotated[int, Field(ge=1, le=365)]


class ControlWaiver(SpecModel):
    """Acceptance of failed checks on named targets, approved by a second person. It covers FAIL only, not UNKNOWN."""

    id: _Person
    """Unique id of the waiver in reports."""
    checks: Annotated[list[_Short], Field(min_length=1)]
    """Ids of the checks."""
    controls: list[_Short] = Field(default_factory=list)
    """Ids of the controls. Default: all controls with the checks, in all frameworks of `packs`."""
    pack: CatalogId | None = None
    """Framework of the controls. Required if two frameworks have different controls with one id. Default: all."""
    targets: Annotated[list[_Short], Field(min_length=1)]
    """Targets of the checks, such as node names."""
    reason: _Reason
    """Reason, for auditors."""
    compensating: _Reason
    """Compensating control."""
    requested_by: _Person
    """Role or person who requested it."""
    approved_by: _Person
    """Role or person who approved it; must differ from `requested_by`."""
    approved: Day
    """First day (UTC) of effect."""
    expires: Day
    """Last day (UTC) of effect, at most 365 days after `approved`. Afterwards the controls fail again."""
    signatures: Annotated[list[_Signature], Field(max_length=10)] = Field(default_factory=list)
    """Signatures of the request and of the approval, from `sovctl waiver sign`. Required with `waiver_approvers`."""


class ControlAttestation(SpecModel):
    """Statement of a person about a control without checks."""

    control: _Short
    """Id of the control."""
    pack: CatalogId | None = None
    """Framework of the control. Required if two frameworks have different controls with this id. Default: all."""
    statement: _Reason
    """Statement, for auditors."""
    by: _Person
    """Role or person that makes it."""
    attested: Day
    """First day (UTC) of effect."""
    expires: Day
    """Last day (UTC) of effect, at most 365 days after `attested`. Afterwards the control is `not-run` again."""


class DeadlineDays(SpecModel):
    """Days until a finding must be closed, by the severity of its check. Longer ones than the defaults are errors."""

    critical: _Days | None = None
    """Default: 15."""
    high: _Days | None = None
    """Default: 30."""
    medium: _Days | None = None
    """Default: 90."""
    low: _Days | None = None
    """Default: 180."""


class Compliance(SpecModel):
    """Control frameworks, waivers and attestations, deadlines and owners of findings, and retention."""

    packs: list[CatalogId] = Field(default_factory=lambda: ["nist-800-53-moderate"])
    """Control frameworks that reports assess, such as `nist-800-53-moderate`; `sovctl report packs` lists them."""
    pack_files: list[FilePath] = Field(default_factory=list)
    """Files with control frameworks of the site. The name of a framework is the name of its file without `.yaml`."""
    answers_file: FilePath | None = None
    """File with answers of people to fields of `sovctl report documents`, in the format of docs/documents.md. Default:
    none, and these fields are MISSING."""
    waivers: list[ControlWaiver] = Field(default_factory=list)
    """Accepted failures of checks. `sovctl waiver check` validates them; an expired waiver has no effect."""
    waiver_approvers: Annotated[list[_Vkey], Field(max_length=20)] = Field(default_factory=list)
    """Public keys of persons that approve waivers. If set, a waiver counts only with a signed approval by one of them,
    and a signed request with another key. Default: none, and waivers need no signature."""
    attestations: list[ControlAttestation] = Field(default_factory=list)
    """Statements about controls without checks."""
    deadline_days: DeadlineDays = Field(default_factory=DeadlineDays)
    """Deadlines of findings in the plan of action (POA&M) of a report."""
    owners: dict[CheckPattern, _Person] = Field(default_factory=dict)
    """Owner of the findings of a check, by check id, topic or `*`; the most exact pattern counts. Without one, the
    plan of action marks the owner as missing."""
    retention_days: Annotated[int, Field(ge=180, le=3660)] = 365
    """Days for which the ledger is kept. EU AI Act Art. 19 and 26(6): at least 6 months; PCI DSS 10.5.1: 12 months."""
