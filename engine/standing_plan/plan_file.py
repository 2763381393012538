"""Standing plans: terms, expiry, and the signatures of two persons. Pure, except for the file.

- The person that requests a plan signs it; a person of `scaling.approvers` signs it with another key.
- Both signatures are over terms, expiry, time and requester, so that a changed field voids them.
- A plan is in effect from its approval until the end of its last day (UTC), while site.yaml gives the same terms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import SigningKey, parse_vkey, sign_document, verify_document
from sovctl.compliance.verify_key import BadSignature
from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError

from .terms import Terms

FILE = "scaling/standing-plan.json"
"""Path relative to the state folder."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Signature:
    """Signature of one person.

    Args:
        vkey: public key with the name of the person.
        time: UTC.
    """

    vkey: str
    time: str
    keyid: str
    sig: str

    @property
    def name(self) -> str:
        """Name of the person in the key."""
        return self.vkey.partition("+")[0]


@dataclass(frozen=True)
class StandingPlan:
    """A standing plan.

    Args:
        expires: last day of effect, UTC.
        approval: None until a person approves the plan.
    """

    terms: Terms
    expires: str
    request: Signature
    approval: Signature | None = None

    @property
    def sha256(self) -> str:
        """Digest of terms and expiry; names the plan in records."""
        return digest({"terms": self.terms, "expires": self.expires})


def request(terms: Terms, *, expires: date, key: SigningKey, name: str, now: datetime) -> StandingPlan:
    """Return a new plan with the signature of the person that requests it.

    Args:
        name: of the person, without spaces.
    """
    vkey = key.public.vkey(name)
    time = now.strftime(_TIME)
    message = _message(terms, expires.isoformat(), "request", vkey, time)
    return StandingPlan(terms, expires.isoformat(), Signature(vkey, time, **sign_document(message, key)))


def approve(plan: StandingPlan, *, key: SigningKey, approvers: Sequence[str], now: datetime) -> StandingPlan:
    """Return the plan with the signature of an approver.

    Raises:
        InputError: the key is not in `scaling.approvers`, or it requested the plan.
    """
    vkey = next((each for each in approvers if parse_vkey(each)[1].keyid == key.public.keyid), None)
    if vkey is None:
        raise InputError(f"key {key.public.keyid[:16]} is not in scaling.approvers of site.yaml", where="--key")
    if key.public.keyid == plan.request.keyid:
        raise InputError("this key requested the plan; another person must approve it", where="--key")
    time = now.strftime(_TIME)
    message = _message(plan.terms, plan.expires, "approval", vkey, time)
    return replace(plan, approval=Signature(vkey, time, **sign_document(message, key)))


def problem(plan: StandingPlan, terms: Terms, *, approvers: Sequence[str], today: date) -> str:
    """Return the reason why a plan is not in effect; empty if it is.

    Args:
        terms: of the present site.yaml.
        approvers: C2SP vkey texts of site.yaml.
        today: UTC.
    """
    if plan.approval is None:
        return "the plan is not approved"
    try:
        _verify(plan, plan.request, "request")
        _verify(plan, plan.approval, "approval")
        listed = {parse_vkey(each)[1].keyid for each in approvers}
    except (BadSignature, InputError):
        return "a signature is invalid"
    if plan.approval.keyid not in listed:
        return "the approval is by a key that scaling.approvers does not list"
    if plan.approval.keyid == plan.request.keyid:
        return "request and approval have the same key"
    if today > date.fromisoformat(plan.expires):
        return f"the plan expired after {plan.expires}"
    if changed := differences(plan.terms, terms):
        return f"site.yaml or the catalogue changed after the request: {', '.join(changed)}"
    return ""


def differences(old: Terms, new: Terms) -> list[str]:
    """Return the names of the terms that differ, sorted."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def write(root: Path, plan: StandingPlan) -> None:
    """Store a plan in a state folder."""
    write_atomic(root / FILE, json.dumps(asdict(plan), indent=1, sort_keys=True) + "\n", mode=0o600)


def read(root: Path) -> StandingPlan:
    """Return the plan of a state folder.

    Raises:
        InputError: absent or invalid.
    """
    path = root / FILE
    try:
        value = json.loads(path.read_text())
        date.fromisoformat(value["expires"])
        approval = value["approval"]
        return StandingPlan(
            value["terms"],
            value["expires"],
            Signature(**value["request"]),
            None if approval is None else Signature(**approval),
        )
    except FileNotFoundError:
        raise InputError("no standing plan", where=str(path), hint="sovctl scaling plan") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"unreadable standing plan ({type(error).__name__})", where=str(path), hint="sovctl scaling plan"
        ) from None


def _message(terms: Terms, expires: str, role: str, vkey: str, time: str) -> Mapping[str, Any]:
    return {"standing_plan": terms, "expires": expires, "role": role, "vkey": vkey, "time": time}


def _verify(plan: StandingPlan, signature: Signature, role: str) -> None:
    _, key = parse_vkey(signature.vkey)
    message = _message(plan.terms, plan.expires, role, signature.vkey, signature.time)
    verify_document(message, {"keyid": signature.keyid, "sig": signature.sig}, key)
