"""Consent of the operator to downtime: a plan that takes a service below its floor needs it, by name. Pure."""

from __future__ import annotations

from collections.abc import Collection

from sovctl.support.errors import InputError

from ...plan.file import Plan
from ...plan.serving import GATEWAYS
from ...plan.waves import downtime


def check_consent(plan: Plan, allowed: Collection[str]) -> None:
    """Check that the operator consented to every downtime of a plan.

    Args:
        allowed: names of pools, and `gateway` for the gateways, from `--allow-downtime`.

    Raises:
        InputError: a service without consent, or consent for a service without downtime.
    """
    found = downtime(plan.waves)
    if missing := [name for name in found if name not in allowed]:
        reasons = "; ".join(f"{wave}: {capacity}" for name in missing for wave, capacity in found[name][:1])
        raise InputError(
            f"the plan takes {_list(missing)} below min_serving ({reasons})",
            hint="no node was changed; consent with "
            + " ".join(f"--allow-downtime {name}" for name in missing)
            + ", add replicas or gateways, or lower min_serving in site.yaml",
        )
    if unknown := [name for name in allowed if name not in found]:
        known = f"one of {_list(list(found))}" if found else "no name, because the plan has no downtime"
        raise InputError(f"expected {known}, got {unknown[0]}", where="--allow-downtime", hint="show it: sovctl plan")


def _list(names: list[str]) -> str:
    return ", ".join("the gateways" if name == GATEWAYS else f"pool {name}" for name in names)
