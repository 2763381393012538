"""Dependencies: the packages that apt changes in addition to the planned ones.

The probe simulates the installation on the node with the node's package lists, read-only. The plan lists the result,
and apply compares it with the packages that changed.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence

from sovctl.support.errors import SovctlError

from ...catalog.drivers import DriverLock
from ...catalog.operating_systems import Apply, SupportedSystem, Tasks, load_operating_systems
from ...catalog.platforms import Platform
from ...facts.node import SIMULATION_MARK, NodeFacts
from ...facts.operating_system import DGX_RELEASE, OS_RELEASE
from ...facts.packages.apt_simulation import parse_simulation
from ...facts.unreadable import Unreadable
from ..resource import Desired

NAME = "dependencies"
LATER = "(known after the repository is configured)"
REMOVED = "(removed)"
_KERNEL = "@kernel@"
_OTHER_SYSTEM = 77
"""Exit code of a simulation for another operating system."""
SIMULATION = r"""names=
for spec in "$@"; do names="$names ${spec%%=*}"; done
status='${db:Status-Status}:${Package}'
installed=" $(dpkg-query -W -f "$status $status=\${Version} " $names 2>/dev/null) "
missing=
for spec in "$@"; do case "$installed" in *" installed:$spec "*) ;; *) missing=1 ;; esac; done
[ -n "$missing" ] || exit 0
exec apt-get -q --simulate --no-install-recommends --allow-downgrades --allow-change-held-packages \
  -o Debug::NoLocking=true install "$@"
"""
"""Shell script with packages as arguments, `name` or `name=version`. apt, which needs a second of processor time, runs
only if a package is not installed or has another version."""


def command_name(system: SupportedSystem) -> str:
    """Return the name of the probe's command for one operating system."""
    return f"simulation {system.id}"


def commands(
    platform: Platform,
    lock: DriverLock,
    *,
    tasks: Tasks,
    engine: Sequence[str],
    host: Sequence[str],
    host_kernel: Mapping[str, Sequence[str]],
) -> dict[str, tuple[str, ...]]:
    """Return the simulation for each operating system with apt; the node runs the one of its own.

    Args:
        engine: names of the engines whose system libraries the node needs.
        host: packages of operating system resources.
        host_kernel: the same, of resources that a container does not have, by package manager.
    """
    return {
        command_name(row): (
            "sh",
            "-c",
            _script(
                row,
                platform,
                lock,
                tasks=tasks,
                libraries=[
                    *(name for each in engine for name in row.engine_packages.get(each, ())),
                    *host,
                ],
                kernel_packages=host_kernel[row.package_manager],
            ),
        )
        for row in load_operating_systems().values()
        if row.package_manager == "apt"
    }


def _script(
    row: SupportedSystem,
    platform: Platform,
    lock: DriverLock,
    *,
    tasks: Tasks,
    libraries: Sequence[str],
    kernel_packages: Sequence[str],
) -> str:
    """Return a script that simulates the installation, and exits with 77 on another operating system."""
    specs = {
        has_own_kernel: [
            each.spec
            for each in row.packages_for(platform, lock, kernel=_KERNEL, tasks=tasks, has_own_kernel=has_own_kernel)
            if row.apply is Apply.MANAGED or not each.component.is_of_vendor
        ]
        for has_own_kernel in (False, True)
    }
    system = shlex.quote(f"{row.match.id}/{row.match.version}")
    is_dgx = f"[ {'' if row.match.dgx else '! '}-e {DGX_RELEASE} ]"
    return "\n".join(
        [
            f". {OS_RELEASE}",
            f'{{ [ "$ID/$VERSION_ID" = {system} ] && {is_dgx}; }} || exit {_OTHER_SYSTEM}',
            f"if [ -e {SIMULATION_MARK} ] || systemd-detect-virt -cq; then",
            f"set -- {_words([*specs[False], *libraries])}",
            "else",
            f"set -- {_words([*specs[True], *libraries])}",
            "fi",
            f'systemd-detect-virt -cq || set -- "$@" {_words(kernel_packages)}',
            SIMULATION,
        ]
    )


def _words(specs: Sequence[str]) -> str:
    return " ".join(shlex.quote(each).replace(_KERNEL, '"$(uname -r)"') for each in specs)


def dependencies(
    facts: NodeFacts, row: SupportedSystem, planned: Collection[str], *, has_mirror: bool
) -> Desired | None:
    """Return the packages that apt changes in addition to the planned ones; None without such a package.

    Args:
        planned: names of the planned packages.
        has_mirror: whether the node's package sources are already as planned.
    """
    found = _simulated(facts, row) if has_mirror else None
    state: Mapping[str, str] = (
        {"packages": LATER}
        if found is None
        else {name: version or REMOVED for name, version in sorted(found.items()) if name not in planned}
    )
    if not state:
        return None
    return Desired(
        kind="package",
        name=NAME,
        state=state,
        why="apt changes them with the planned packages",
        variables={"version": None, "spec": ""},
        minutes=0.1,
    )


def _simulated(facts: NodeFacts, row: SupportedSystem) -> dict[str, str | None] | None:
    """Return versions by name, None for a removal; None if the node did not simulate the installation."""
    name = command_name(row)
    if facts.answers.get(name, {}).get("exit_code") != 0:
        return None
    try:
        return {each.name: each.version for each in parse_simulation(facts.answer(name))}
    except Unreadable as error:
        raise SovctlError(error.message, where=f"node {facts.node}: {error.where}") from None


def observed(facts: NodeFacts, desired: Desired) -> dict[str, str] | None:
    """Return the installed versions of the dependencies."""
    names = [name for name in desired.state or {} if name != "packages"]
    if not names:
        return None
    return {name: package.version if (package := facts.packages.get(name)) else "(absent)" for name in names}
