"""Signatures under waivers: two persons, two keys, one of them listed; every changed field voids them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sovctl.compliance.signing import SigningKey
from sovctl.compliance.waiver_signatures import sign_waiver, signature_problem

TEXT: dict[str, Any] = {
    "id": "W-1",
    "controls": ["cm-11"],
    "checks": ["software.packages-held"],
    "targets": ["gpu-2"],
    "reason": "vendor case",
    "compensating": "compared nightly",
    "requested_by": "platform team",
    "approved_by": "security office",
    "approved": "2026-11-01",
    "expires": "2026-12-01",
}
OPERATOR, OFFICER, OTHER = (SigningKey.generate() for _ in range(3))
POLICY = {"site": "berlin", "approvers": [OFFICER.public.vkey("officer.example")]}


def line(role: str, key: SigningKey, *, site: str = "berlin", text: dict[str, Any] = TEXT) -> str:
    return sign_waiver(text, site=site, role=role, key=key, name="person.example")


def waiver(*signatures: str, text: dict[str, Any] | None = TEXT, **changes: Any) -> dict[str, Any]:
    one = {name: value for name, value in TEXT.items() if name not in ("controls", "checks")}
    one |= {"control": "cm-11", "check": "software.packages-held", "signed_text": text, "signatures": [*signatures]}
    return one | changes


REQUEST, APPROVAL = line("request", OPERATOR), line("approval", OFFICER)


def test_two_persons_and_a_listed_key_count() -> None:
    assert signature_problem(waiver(REQUEST, APPROVAL), POLICY) == ""
    assert signature_problem(waiver(line("request", OFFICER), REQUEST, APPROVAL), POLICY) == ""


@pytest.mark.parametrize("policy", [None, {"site": "berlin", "approvers": []}])
def test_without_listed_keys_no_signature_is_required(policy: dict[str, Any] | None) -> None:
    assert signature_problem(waiver(text=None), policy) == ""


@pytest.mark.parametrize(
    ("signatures", "problem"),
    [
        ([], "no signature of the request"),
        ([APPROVAL], "no signature of the request"),
        ([REQUEST], "no approval by a listed key"),
        ([REQUEST, line("approval", OTHER)], "no approval by a listed key"),
        ([line("request", OFFICER), APPROVAL], "request and approval have the same key"),
        ([REQUEST, APPROVAL.replace("approval", "request")], "an invalid signature"),
        ([REQUEST, line("approval", OFFICER, site="paris")], "an invalid signature"),
        ([REQUEST, line("approval", OFFICER, text=TEXT | {"expires": "2027-01-01"})], "an invalid signature"),
        ([REQUEST, APPROVAL, "approval"], "an invalid signature"),
        ([REQUEST, APPROVAL, APPROVAL.replace("approval", "witness")], "an invalid signature"),
    ],
)
def test_other_signatures_do_not_count(signatures: list[str], problem: str) -> None:
    assert signature_problem(waiver(*signatures), POLICY) == problem


@pytest.mark.parametrize("field", sorted({*waiver()} - {"signatures", "signed_text"}))
def test_every_field_is_bound(field: str) -> None:
    other = ["gpu-3"] if field == "targets" else "2026-12-02"
    assert signature_problem(waiver(REQUEST, APPROVAL, **{field: other}), POLICY).startswith("the signed text ")


def test_an_altered_text_voids_both_signatures() -> None:
    altered = copy.deepcopy(TEXT)
    altered["targets"].append("gpu-3")
    changed = waiver(REQUEST, APPROVAL, text=altered, targets=["gpu-2", "gpu-3"])
    assert signature_problem(changed, POLICY) == "an invalid signature"
    assert signature_problem(waiver(REQUEST, APPROVAL, text=None), POLICY) == "no signatures"


def test_an_unreadable_listed_key_counts_for_none() -> None:
    assert signature_problem(waiver(REQUEST, APPROVAL), POLICY | {"approvers": ["x"]}) == "an invalid signature"
