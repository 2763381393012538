"""Expectation and probe of the checks that compare a node with the driver lock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....spec import Node
from ...model.check import Check, Expectation, Probe
from ...model.check_context import CheckContext
from ...model.probe_sections import script
from .._probe_commands import GPU_REPORT, show_units

FABRIC_MANAGER = "nvidia-fabricmanager"
_PACKAGES = r"dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n'"
_VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)?\b")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From the driver lock, for one platform.

    Args:
        lock: id of the lock.
        driver_version: version that the driver reports.
        packages: version by name, all packages of the platform.
    """

    lock: str
    driver_version: str
    packages: Mapping[str, str]


class LockCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes for which the lock has packages."""
        lock = site.context.lock
        if packages := {each.name: each.version for each in lock.packages_for(site.context.platform(node))}:
            yield Expected(lock=lock.id, driver_version=lock.driver_version, packages=packages)

    def probe(self, expected: Expected) -> Probe:
        """Print packages and holds, and the driver version that kernel, nvidia-smi and fabric manager report."""
        return Probe(
            script(
                packages=_PACKAGES,
                holds="apt-mark showhold",
                module="cat /proc/driver/nvidia/version",
                gpus=GPU_REPORT,
                program="nv-fabricmanager --version",
                services=show_units(f"{FABRIC_MANAGER}.service"),
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
