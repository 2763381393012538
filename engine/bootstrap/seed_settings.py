"""Settings of installer seeds, which site.yaml lacks: a YAML file with installer, network and disk of each node.

    version: 1
    installer: autoinstall
    prefix_length: 24
    gateway: 10.20.1.1
    nodes:
      dgx-1: {mac: "02:00:00:00:00:11", disk_serial: S64GNE0R500123, luks_passphrase_file: secrets/dgx-1.luks}

Unknown keys are errors.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import read_file

from ..spec import SiteSpec
from ..spec.types import FilePath, Name, SpecModel

WHAT = "the settings of installer seeds"


class Installer(StrEnum):
    """Installer that reads the seed."""

    AUTOINSTALL = "autoinstall"
    """Ubuntu 22.04 and later: subiquity, volume CIDATA."""
    KICKSTART = "kickstart"
    """RHEL 9: Anaconda, volume OEMDRV."""
    PRESEED = "preseed"
    """Debian 12 and later: debian-installer."""


class NodeSeed(SpecModel):
    """Hardware of one node."""

    mac: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$")]
    """MAC address of the interface with the node's address, in lower case."""
    disk_serial: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{3,63}$")]
    """Serial number of the disk that is erased and gets the operating system."""
    luks_passphrase_file: FilePath | None
    """File with the passphrase of the disk, mode 600, relative to the settings; null for a disk without encryption."""


class SeedSettings(SpecModel):
    """Settings of the seeds of nodes in one network, with one installer."""

    version: Literal[1]
    """Version of the format."""
    installer: Installer
    """Installer of all nodes in the file."""
    prefix_length: Annotated[int, Field(ge=8, le=30)]
    """Length of the network prefix of the nodes' addresses, bits."""
    gateway: IPv4Address
    """Default router of the nodes."""
    nodes: Annotated[dict[Name, NodeSeed], Field(min_length=1)]
    """Nodes by name."""


def load(path: Path, spec: SiteSpec) -> SeedSettings:
    """Read the settings.

    Raises:
        InputError: the file is unreadable, or not YAML.
        SpecError: invalid settings; contains all problems.
    """
    text = read_file(path, what=WHAT)
    try:
        settings = SeedSettings.model_validate(text.value)
    except ValidationError as error:
        raise SpecError([problem_of(path, each) for each in error.errors()], what=WHAT) from None
    known = {node.name for _, node in spec.nodes()}
    if unknown := [name for name in settings.nodes if name not in known]:
        raise InputError(f"site.yaml has no node {unknown[0]!r}", where=f"{path}: nodes")
    macs = [each.mac for each in settings.nodes.values()]
    if len(set(macs)) != len(macs):
        raise InputError("two nodes have the same MAC address", where=f"{path}: nodes")
    return settings


def problem_of(path: Path, error: object) -> Problem:
    """Return a problem of a file that pydantic found."""
    assert isinstance(error, dict)
    place = ".".join(str(step) for step in error["loc"])
    message = "unknown key" if error["type"] == "extra_forbidden" else str(error["msg"]).lower()
    return Problem(message, where=f"{path}: {place}" if place else str(path), hint="docs/bootstrap.md has an example")
