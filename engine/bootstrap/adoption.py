"""Adoption of nodes that another manager installed: compares its export with site.yaml, and enrols host keys.

A manager that boots nodes from an image restores the image at the next start, and so removes changes of sovctl. Its
agent is searched on the enrolled nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sovctl.support.errors import SovctlError

from ..gather.gather import Request, gather
from ..site.site import Site
from .enrolment import Reading, enrol
from .node_export import ExportedNode

IMAGE_AGENTS = {
    "/cm/local/apps/cmd": "NVIDIA Base Command Manager",  # CMDaemon; administrator manual, "cmd.conf"
    "/warewulf": "Warewulf",  # wwinit and overlays of version 4; user guide, "Node overlays"
}
"""Managers that start nodes from an image, by a folder of their agent. Not tried with either manager."""


_MEASURED = (0, 2)  # of ls: all exist; one or more do not


class Outcome(StrEnum):
    """Result for one node of site.yaml."""

    ENROLLED = "enrolled"
    NO_FINGERPRINT = "no-fingerprint"
    """The export has no fingerprint: read it at the console, `sovctl bootstrap enrol`."""
    ABSENT = "absent"
    """The export has no such node."""
    DIFFERS = "differs"
    """The export has another address."""
    REFUSED = "refused"
    """The node does not answer, or offers another key."""


@dataclass(frozen=True)
class Adopted:
    """Result for a node, with a sentence for people."""

    node: str
    outcome: Outcome
    text: str


def adopt(site: Site, exported: Mapping[str, ExportedNode], *, witness: str) -> list[Adopted]:
    """Enrol the nodes of site.yaml whose host key the export names. The caller holds the site's lock.

    Args:
        exported: by name.
        witness: account or role of the second person who compared the export with its manager.

    Returns:
        One result for each node, in the order of site.yaml.

    Raises:
        InputError: the witness is the operator, or the file of host keys is unusable.
    """
    found = []
    for _, node in site.spec.nodes():
        entry = exported.get(node.name)
        if entry is None:
            found.append(Adopted(node.name, Outcome.ABSENT, "the export has no node of this name"))
        elif str(node.address) not in entry.addresses:
            text = f"site.yaml has {node.address}, the export {', '.join(entry.addresses) or 'no address'}"
            found.append(Adopted(node.name, Outcome.DIFFERS, text))
        elif entry.fingerprint is None:
            found.append(Adopted(node.name, Outcome.NO_FINGERPRINT, "read it at the console: sovctl bootstrap enrol"))
        else:
            try:
                done = enrol(site, node, Reading(entry.fingerprint, "export", witness))
                found.append(Adopted(node.name, Outcome.ENROLLED, done.key.fingerprint))
            except SovctlError as error:
                if error.where.startswith("--witness"):
                    raise
                found.append(Adopted(node.name, Outcome.REFUSED, str(error)))
    return found


def image_managers(site: Site, names: list[str]) -> dict[str, str]:
    """Return the image-based manager of each node that has the agent of one, and `unknown` if it was not measured."""
    command = ["ls", "-d", *IMAGE_AGENTS]
    request = Request({"agents": command}, (), (), site.spec.access.command_timeout_s)
    gathered = gather(site.spec, site.folder, dict.fromkeys(names, request))
    found = dict.fromkeys(names, "unknown")
    for name, capture in gathered.captures.items():
        answer = capture["commands"]["agents"]
        if answer["exit_code"] in _MEASURED:
            there = set(answer["stdout"].split())
            found[name] = next((manager for path, manager in IMAGE_AGENTS.items() if path in there), "")
    return {name: manager for name, manager in found.items() if manager}
