"""Restricts the operator page to the tenants of its operator. Pure.

An operator of all tenants of the gateway sees everything, and may also change what concerns all: reload, drain, resume.
Any other operator sees decisions, hand-offs and budgets of its tenants, and no totals, which include other tenants.

    scope = Scope.of(principal, authenticator.tenants)
    scope.visible(status, tenants_by_subject)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..access.principal import Principal

_TOTALS: Mapping[str, Any] = {
    "figures": None,
    "routes": [],
    "upstreams": [],
    "refused": {},
    "findings": {},
    "wrong": {},
}
"""Values that count all tenants, and their replacement."""


@dataclass(frozen=True)
class Scope:
    """Rights of one operator on the admin surface."""

    operator: Principal
    is_whole_site: bool
    """Whether the operator administers every tenant."""

    @classmethod
    def of(cls, operator: Principal, tenants: Collection[str]) -> Scope:
        """Return the scope of an operator.

        Args:
            tenants: all tenants of the gateway.
        """
        return cls(operator, all(map(operator.may_administer, tenants)))

    def includes(self, tenant: object) -> bool:
        """Return whether the operator administers `tenant`."""
        return self.is_whole_site or (isinstance(tenant, str) and self.operator.may_administer(tenant))

    def visible(self, status: Mapping[str, Any], tenants: Mapping[str, str]) -> dict[str, Any]:
        """Return the part of the page's values that the operator may see.

        Args:
            tenants: tenant by subject of a budget.
        """
        if self.is_whole_site:
            return dict(status)
        own: dict[str, Any] = {
            name: [row for row in status[name] if self.includes(row["tenant"])] if status[name] is not None else None
            for name in ("decisions", "handoffs")
        }
        if (budgets := status["budgets"]) is not None:
            budgets = [row for row in budgets if self.includes(tenants.get(row["subject"]))]
        return {**status, **_TOTALS, **own, "budgets": budgets}
