"""Requests, approvals and revocations of standing plans: ledger record first, then the file."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from sovctl.compliance.signing import SigningKey
from sovctl.support.errors import InputError
from sovctl.support.operator_name import operator_name

from ..site.site import Site
from . import plan_file
from .plan_file import StandingPlan
from .terms import terms_of

REQUESTED, APPROVED, REVOKED = "standing-plan", "standing-plan-approved", "standing-plan-revoked"
"""Types of ledger records."""


def request(site: Site, *, expires: date, key: SigningKey, name: str, now: datetime) -> StandingPlan:
    """Store a new plan without approval; it replaces the present one.

    Raises:
        InputError: the last day is in the past, or later than `scaling.standing_plan_days` permits.
    """
    assert site.spec.scaling is not None
    today, longest = now.astimezone(UTC).date(), site.spec.scaling.standing_plan_days
    if not today <= expires <= today + timedelta(days=longest):
        raise InputError(
            f"expected a day from {today} to {today + timedelta(days=longest)}, got {expires}",
            where="--expires",
            hint="scaling.standing_plan_days of site.yaml is the longest duration",
        )
    terms = terms_of(site.spec, site.loaded.catalog)
    plan = plan_file.request(terms, expires=expires, key=key, name=name, now=now)
    _store(site, plan, REQUESTED, now, requested_by=plan.request.name, keyid=plan.request.keyid)
    return plan


def approve(site: Site, *, key: SigningKey, now: datetime) -> StandingPlan:
    """Approve the stored plan.

    Raises:
        InputError: no plan, not an approver's key, the requester's key, or the terms changed after the request.
    """
    assert site.spec.scaling is not None
    plan, approvers = plan_file.read(site.state.root), site.spec.scaling.approvers
    plan = plan_file.approve(plan, key=key, approvers=approvers, now=now)
    terms = terms_of(site.spec, site.loaded.catalog)
    if reason := plan_file.problem(plan, terms, approvers=approvers, today=now.astimezone(UTC).date()):
        raise InputError(reason, where=plan_file.FILE, hint="request it again: sovctl scaling plan")
    assert plan.approval is not None
    _store(site, plan, APPROVED, now, approved_by=plan.approval.name, keyid=plan.approval.keyid)
    return plan


def revoke(site: Site, *, reason: str, now: datetime) -> None:
    """Remove the stored plan; a run ends at its next decision.

    Raises:
        InputError: no plan.
    """
    plan = plan_file.read(site.state.root)
    site.record([_head(site, plan, REVOKED, now) | {"reason": reason}])
    (site.state.root / plan_file.FILE).unlink()


def _store(site: Site, plan: StandingPlan, kind: str, now: datetime, **fields: Any) -> None:
    site.record([_head(site, plan, kind, now) | {"expires": plan.expires, **fields}])
    plan_file.write(site.state.root, plan)


def _head(site: Site, plan: StandingPlan, kind: str, now: datetime) -> dict[str, Any]:
    time = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    head = {"type": kind, "time": time, "operator": operator_name(), "site": site.spec.site.name}
    return {**head, "plan_sha256": plan.sha256}
