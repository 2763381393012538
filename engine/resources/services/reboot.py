"""Reboots: a node whose running state is older than its installed state needs a reboot, or a reload of its driver.

- A plan has at most one of these actions for each node; `plan/reboots.py` adds the causes that planned changes have.
- The action is the weakest that covers all causes: reload of the driver, reboot, AC cycle.
- The boot id proves a reboot: it differs afterwards. Only an operator can do an AC cycle; apply waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from ...facts import running as facts_of_run
from ...facts.node import NodeFacts
from ...facts.running import Running, newest_kernel, running
from ...spec import Node
from .. import pool
from ..context import Context
from ..fabric import expected_fabric
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from ..serving.swap import sets_on
from . import service

KNOWN_AFTER_REBOOT = "(known after reboot)"
"""Placeholder in the expected state for a value that only the started node has."""
KERNEL_LISTS = "/var/lib/dpkg/info/linux-image-"
"""Prefix of the kernels' `<package>.list` files, which dpkg writes when it unpacks a package."""
REBOOT_TIMEOUT_S = 1800
"""Guess: an 8-GPU server checks its memory and devices for 10 to 15 minutes before it loads the kernel."""
AC_CYCLE_TIMEOUT_S = 7200
"""Guess: time for an operator to switch the power off and on."""


class RebootKind(StrEnum):
    """Actions by which a node activates installed software, the weakest first."""

    DRIVER_RELOAD = "driver"
    REBOOT = "node"
    AC_CYCLE = "ac-cycle"


STRENGTH = tuple(RebootKind)
MINUTES = {RebootKind.DRIVER_RELOAD: 2.0, RebootKind.REBOOT: 15.0, RebootKind.AC_CYCLE: 30.0}
"""Estimated duration on a server, minutes. Guesses; not measured on GPU servers."""
CONTAINER_MINUTES = 0.1
"""A lab node answers 3 s after its reboot begins (measured 2026-11-20)."""


def pending(facts: NodeFacts, *, driver_version: str | None) -> dict[RebootKind, list[str]]:
    """Return the causes of a pending action, by action; empty if the node runs its installed state.

    Args:
        driver_version: version that the NVIDIA module of the node must have; None without GPUs.
    """
    run = running(facts)
    found: dict[RebootKind, list[str]] = {}
    for kind, cause in _CAUSES:
        for text in cause(facts, run, driver_version):
            found.setdefault(kind, []).append(text)
    return found


def _driver(_facts: NodeFacts, run: Running, driver_version: str | None) -> Iterator[str]:
    if driver_version and run.nvidia_module and run.nvidia_module != driver_version:
        yield f"NVIDIA module {run.nvidia_module} is loaded, the lock has {driver_version}"


def _kernel(facts: NodeFacts, run: Running, _driver_version: str | None) -> Iterator[str]:
    if facts.is_container:  # it runs the kernel of its host
        return
    newest = newest_kernel(facts.packages, run.kernel)
    if newest is not None and newest != run.kernel:
        yield f"kernel {run.kernel} runs, {newest} is installed"
    elif any(facts.modified_s(f"{KERNEL_LISTS}{name}{run.kernel}.list") > run.started_s for name in ("", "unsigned-")):
        yield f"the package of the running kernel {run.kernel} was replaced after the start of the node"


def _requested(_facts: NodeFacts, run: Running, _driver_version: str | None) -> Iterator[str]:
    if run.reboot_required:
        names = f" for {', '.join(run.reboot_packages)}" if run.reboot_packages else ""
        yield f"{facts_of_run.REBOOT_REQUIRED} exists{names}"


def _firmware(facts: NodeFacts, run: Running, *, needs_power_cycle: bool) -> Iterator[str]:
    for each in run.firmware:
        # fwupd updates its history when its daemon starts next, so a start of the node counts as activation.
        if each.needs_power_cycle is needs_power_cycle and each.written_s >= run.started_s and not facts.is_container:
            yield f"new firmware of {each.device} is written and not active"


_Cause = Callable[[NodeFacts, Running, str | None], Iterator[str]]
_CAUSES: tuple[tuple[RebootKind, _Cause], ...] = (
    (RebootKind.DRIVER_RELOAD, _driver),
    (RebootKind.REBOOT, _kernel),
    (RebootKind.REBOOT, _requested),
    (RebootKind.REBOOT, lambda facts, run, _: _firmware(facts, run, needs_power_cycle=False)),
    (RebootKind.AC_CYCLE, lambda facts, run, _: _firmware(facts, run, needs_power_cycle=True)),
)
"""Observable causes with the weakest action that removes them."""


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    platform = context.platform(node)
    units = facts.units if facts else {}
    instances = [pool.instance(each) for each in context.replicas_on(node)]
    timers = [pool.probe_timer(each) for each in instances]
    agents = [each.agent for each in sets_on(context, node)]
    pools = [pool.unit_name(each) for each in context.replicas_on(node)]
    for kind in RebootKind:
        if kind is RebootKind.DRIVER_RELOAD and not platform.has_gpus:
            continue
        yield Desired(
            kind="reboot",
            name=kind.value,
            state={"causes": []},
            why="software is installed that does not run",
            variables={
                "driver_version": context.lock.driver_version if platform.has_gpus else "",
                "fabric": expected_fabric(platform),
                "timeout_s": AC_CYCLE_TIMEOUT_S if kind is RebootKind.AC_CYCLE else REBOOT_TIMEOUT_S,
                "pool_timers": [unit for unit in (*agents, *timers) if unit in units],
                "pool_units": [unit for unit in pools if unit in units],
                "services": [each.unit for each in service.services_on(context, node, facts)],
            },
            risk=_risk(kind, has_pools=bool(pools)),
            minutes=CONTAINER_MINUTES if facts is not None and facts.is_container else MINUTES[kind],
        )


def _risk(kind: RebootKind, *, has_pools: bool) -> Risk:
    if kind is not RebootKind.DRIVER_RELOAD:
        return Risk.REBOOT
    return Risk.WORKLOAD if has_pools else Risk.SERVICE


def _observe(facts: NodeFacts, desired: Desired) -> State:
    causes = pending(facts, driver_version=desired.variables["driver_version"] or None)
    return {"causes": causes.get(RebootKind(desired.name), [])}


RESOURCE_TYPE = ResourceType(
    "reboot",
    _expect,
    _observe,
    lambda _context, _node: Query(
        hash=(f"{KERNEL_LISTS}*.list",), read=facts_of_run.READ, commands=facts_of_run.COMMANDS
    ),
)
