"""Expectation and probe of the checks that compare a node with the driver lock."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....catalog.drivers import DriverLock
from ....catalog.operating_systems import SupportedSystem, Tasks, load_operating_systems, supported
from ....catalog.platforms import Platform
from ....facts.operating_system import (
    DGX_RELEASE,
    OS_RELEASE,
    OperatingSystem,
    parse_dgx_release,
    parse_os_release,
)
from ....facts.packages.dpkg import PACKAGES, RPM_PACKAGES
from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation
from ...model.check_context import CheckContext
from ...model.probe import Probe
from ...probes.commands import GPU_REPORT, show_units

FABRIC_MANAGER = "nvidia-fabricmanager"
DGX_MARK = "=== dgx-release"
_PACKAGES = f"if command -v dpkg-query >/dev/null; then {shlex.join(PACKAGES)}; else {shlex.join(RPM_PACKAGES)}; fi"
_HOLDS = "if command -v apt-mark >/dev/null; then apt-mark showhold; else dnf -q versionlock list; fi"
_SYSTEM = f"cat {OS_RELEASE}; echo; if [ -e {DGX_RELEASE} ]; then echo '{DGX_MARK}'; cat {DGX_RELEASE}; fi"
_VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)?\b")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From the driver lock, for one platform.

    Args:
        lock: id of the lock.
        driver_version: version that the driver reports.
        packages: version by name, of the driver software of the platform; by id of the operating system.
    """

    lock: str
    driver_version: str
    packages: Mapping[str, Mapping[str, str]]


class LockCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes for which the lock has packages."""
        lock, platform = site.context.lock, site.context.platform(node)
        tasks = Tasks(is_monitored=site.context.monitoring_server is not None)
        packages = {row.id: _versions(row, platform, lock, tasks) for row in load_operating_systems().values()}
        if any(packages.values()):
            yield Expected(lock=lock.id, driver_version=lock.driver_version, packages=packages)

    def probe(self, expected: Expected) -> Probe:
        """Print packages and holds, and the driver version that kernel, nvidia-smi and fabric manager report."""
        return Probe.of(
            system=_SYSTEM,
            packages=_PACKAGES,
            holds=_HOLDS,
            module="cat /proc/driver/nvidia/version",
            gpus=GPU_REPORT,
            program="nv-fabricmanager --version",
            services=show_units(f"{FABRIC_MANAGER}.service"),
        )


def _versions(row: SupportedSystem, platform: Platform, lock: DriverLock, tasks: Tasks) -> dict[str, str]:
    packages = row.packages_for(platform, lock, kernel="", tasks=tasks, has_own_kernel=False)
    return {each.name: each.version for each in packages if each.version is not None}


def system_of(text: str) -> SupportedSystem | None:
    """Return the row of the operating system in the section `system`; None for an unsupported one.

    Raises:
        Unreadable: the text is not of the form of os-release.
    """
    release, mark, dgx = text.partition(f"{DGX_MARK}\n")
    values = parse_os_release(release)
    return supported(
        OperatingSystem(
            id=values.get("ID", "").lower(),
            version=values.get("VERSION_ID", ""),
            dgx_release=parse_dgx_release(dgx) if mark else None,
        )
    )


def first_version(text: str, where: str) -> str:
    """Return the first version number in a text.

    Raises:
        Unreadable: the text contains no version number.
    """
    match = _VERSION.search(text)
    if match is None:
        raise Unreadable("a version", text, where=where)
    return match[0]
