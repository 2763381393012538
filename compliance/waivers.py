"""What people decide: waivers of a failed check, and attestations of what no check can see.

Both carry names, reasons and a last day; both end by themselves. A waiver never covers what was not measured, and an
attestation never covers a control that checks decide.

    waivers:
      - id: W-1
        control: cm-6
        check: software.packages-held
        targets: [gpu-1]
        reason: driver rollback under vendor case
        compensating: the plan is compared with the node every night
        requested_by: platform team, A. Example
        approved_by: security office, B. Example
        approved: 2026-11-01
        expires: 2026-12-01
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sovctl.compliance.errors import InputError

MAX_DAYS = 365  # ours: an acceptance without a near end cannot be told from neglect (sbomify/sbomify issue 1296)

Text = Annotated[str, Field(min_length=3)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Waiver(_Model):
    """One failed check on named targets, accepted for a while by a second person."""

    id: Text
    control: Text
    check: Text
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    reason: Text
    compensating: Text
    """What is done instead."""
    requested_by: Text
    approved_by: Text
    """Somebody else than the requester."""
    approved: date
    expires: date
    """Last day on which it counts, UTC; at most 365 days after `approved`."""

    @model_validator(mode="after")
    def _second_person_and_near_end(self) -> Self:
        if self.requested_by.strip().casefold() == self.approved_by.strip().casefold():
            raise ValueError("expected requester and approver to be two people, got one")
        _require_near_end(self.approved, self.expires)
        return self

    def counts_on(self, day: date) -> bool:
        """True from `approved` to `expires`, both included."""
        return self.approved <= day <= self.expires


class Attestation(_Model):
    """A person's word for a control that no check of ours can see."""

    control: Text
    statement: Text
    by: Text
    attested: date
    expires: date
    """Last day on which it counts, UTC; at most 365 days after `attested`."""

    @model_validator(mode="after")
    def _near_end(self) -> Self:
        _require_near_end(self.attested, self.expires)
        return self

    def counts_on(self, day: date) -> bool:
        """True from `attested` to `expires`, both included."""
        return self.attested <= day <= self.expires


class Exceptions(_Model):
    """A file of both."""

    waivers: tuple[Waiver, ...] = ()
    attestations: tuple[Attestation, ...] = ()


def load_exceptions(path: Path) -> Exceptions:
    """Read waivers and attestations.

    Raises:
        InputError: unreadable or of another form; every problem is named.
    """
    try:
        value = yaml.safe_load(path.read_text())
        return Exceptions.model_validate(value if value is not None else {})
    except OSError as error:
        raise InputError(f"cannot read the file: {(error.strerror or '').lower()}", where=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"expected YAML, got: {str(error).splitlines()[0]}", where=str(path)) from None
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg'].lower()}" for each in error.errors()]
        raise InputError("; ".join(problems), where=str(path)) from None


def _require_near_end(begin: date, end: date) -> None:
    days = (end - begin).days
    if not 0 <= days <= MAX_DAYS:
        raise ValueError(f"expected an end 0 to {MAX_DAYS} days after the beginning, got {days}")
