"""Plans at most one reboot for each node, with all its causes: those that facts show, and those of planned changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..facts.node import NodeFacts
from ..facts.running import running
from ..resources.context import Context
from ..resources.resource import Change, Desired, Verb
from ..resources.services.reboot import KNOWN_AFTER_REBOOT, STRENGTH, RebootKind

KIND = "reboot"
RESTARTED_BY: Mapping[RebootKind, frozenset[str]] = {
    RebootKind.DRIVER_RELOAD: frozenset({"pool", "swap_group"}),
    RebootKind.REBOOT: frozenset({"pool", "swap_group", "gateway"}),
    RebootKind.AC_CYCLE: frozenset({"pool", "swap_group", "gateway"}),
}
"""Resource types that start again after each action. Services of the driver start with the node."""
STARTED = frozenset({"active", "runs_what_is_written"})
"""Keys of an enabled service that its start changes."""
REASONS = {
    RebootKind.DRIVER_RELOAD: "the driver is reloaded",
    RebootKind.REBOOT: "the node reboots",
    RebootKind.AC_CYCLE: "the node is powered off",
}


def _kernel_package(change: Change) -> RebootKind | None:
    return RebootKind.REBOOT if change.name.startswith("linux-image-") else None


def _kernel_setting(change: Change) -> RebootKind | None:
    """Boot options need a reboot, and parameters of the NVIDIA module a reload of the driver."""
    keys = (change.after or {}).keys()
    if "running" in keys or "blocked" in keys:
        return RebootKind.REBOOT
    return RebootKind.DRIVER_RELOAD if any(key.startswith("running NVreg_") for key in keys) else None


NEEDS_REBOOT: Mapping[str, Callable[[Change], RebootKind | None]] = {
    "kernel": _kernel_setting,
    "package": _kernel_package,
}
"""Action that a planned change needs, by resource type; None if it needs none.

A change of the driver is not here, because facts already show that the loaded module differs from the lock.
"""


def with_reboot(
    context: Context, facts: NodeFacts, wanted: Iterable[Desired], differences: Sequence[Change]
) -> list[Change]:
    """Return the differences of a node, with one reboot instead of the pending ones; in the same order.

    Args:
        wanted: all expected resources of the node.
        differences: of these resources.
    """
    causes = planned_causes(differences)
    for change in differences:
        if change.kind == KIND:
            causes.setdefault(RebootKind(change.name), []).extend((change.before or {})["causes"])
    others = [change for change in differences if change.kind != KIND]
    if not causes:
        return others
    others = [change for change in others if not _starts_with_the_node(change)]
    kind = chosen(causes, reloads_driver=context.spec.software.driver_change == "reload")
    desired = next(each for each in wanted if (each.kind, each.name) == (KIND, kind.value))
    texts = [text for each in reversed(STRENGTH) for text in causes.get(each, [])]
    return [*others, reboot_change(facts, desired, kind, texts)]


def _starts_with_the_node(change: Change) -> bool:
    """Return whether a service only has to start. A daemon of the new driver fails as long as the old one is loaded."""
    after = change.after or {"": ""}
    return change.kind == "service" and after.keys() <= STARTED and after.get("active") != "inactive"


def planned_causes(differences: Iterable[Change]) -> dict[RebootKind, list[str]]:
    """Return the causes of planned changes, by the action that each needs."""
    causes: dict[RebootKind, list[str]] = {}
    for change in differences:
        if change.kind in NEEDS_REBOOT and (needed := NEEDS_REBOOT[change.kind](change)) is not None:
            causes.setdefault(needed, []).append(f"{change.kind} {change.name} changes")
    return causes


def chosen(causes: Iterable[RebootKind], *, reloads_driver: bool) -> RebootKind:
    """Return the weakest action that covers all causes.

    Args:
        reloads_driver: `software.driver_change` permits to reload a driver without a reboot.
    """
    strongest = max(causes, key=STRENGTH.index)
    is_driver_only = strongest is RebootKind.DRIVER_RELOAD
    return RebootKind.REBOOT if is_driver_only and not reloads_driver else strongest


def restart_cause(kind: str, differences: Iterable[Change]) -> str:
    """Return the reason why a reboot of the node restarts resources of a type; empty if it does not."""
    reboots = [RebootKind(change.name) for change in differences if change.kind == KIND]
    return next((REASONS[each] for each in reboots if kind in RESTARTED_BY[each]), "")


def reboot_change(facts: NodeFacts, desired: Desired, kind: RebootKind, causes: Sequence[str]) -> Change:
    """Return one of the actions of a node, with its causes."""
    before: dict[str, object] = {"causes": list(causes)}
    after: dict[str, object] = {"causes": []}
    run = running(facts)
    if kind is RebootKind.DRIVER_RELOAD:
        before = {"driver": run.nvidia_module, **before}
        after = {"driver": desired.variables["driver_version"], **after}
    else:
        before = {"boot_id": run.boot_id, **before}
        after = {"boot_id": KNOWN_AFTER_REBOOT, **after}
    return Change(
        node=facts.node,
        kind=KIND,
        name=kind.value,
        verb=Verb.UPDATE,
        before=before,
        after=after,
        why="; ".join(causes),
        risk=desired.risk,
        minutes=desired.minutes,
    )
