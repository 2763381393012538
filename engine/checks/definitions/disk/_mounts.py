"""Expectation and probe of the checks of `host.mounts`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ....facts.host.storage import MountedFilesystem, parse_findmnt
from ....facts.unreadable import Unreadable
from ....resources.host.storage import COMMANDS, mounts_of
from ....spec import Node
from ....spec.host import Mount
from ...model.check import Expectation
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections
from ...probes.own_kernel import OwnKernelCheck


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """File systems of one node, from `host.mounts` of site.yaml."""

    mounts: tuple[Mount, ...]


class MountsCheck(OwnKernelCheck[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    encrypted_only: ClassVar[bool] = False
    """Whether the check is about file systems with `is_encrypted` only."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of the nodes for which site.yaml has file systems."""
        mounts = [each for each in mounts_of(site.context, node) if each.is_encrypted or not self.encrypted_only]
        if mounts:
            yield Expected(mounts=tuple(mounts))

    def commands(self, expected: Expected) -> Mapping[str, str]:
        """Print the mounted file systems, the devices below them, and the UUIDs of the device mapper."""
        mapper = "cat /sys/block/dm-*/dm/uuid 2>/dev/null; echo end"
        return {**{name: shlex.join(words) for name, words in COMMANDS.items()}, "mapper": mapper}


def mounted(sections: ProbeSections) -> dict[str, MountedFilesystem]:
    """Return the mounted file systems by path.

    Raises:
        Unreadable: none is mounted, or a section has another form.
    """
    found = parse_findmnt(sections.text("findmnt"))
    if not found or not sections.text("mapper").strip().endswith("end"):
        raise Unreadable("mounted file systems", sections.text("findmnt"), where="findmnt")
    return found
