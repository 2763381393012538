"""One node's capture as typed facts: what the plan compares against.

A command that could not be run, or whose output is not understood, gives None, which means "not measured" and stops a
plan; an empty answer is only "nothing there" where the tool positively says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sovctl.compliance.errors import SovctlError

SIMULATION_MARK = "/etc/sovctl-simulated"
"""A node that has this file has stand-in hardware, and whatever it says is marked `simulated`."""


@dataclass(frozen=True)
class Package:
    """An installed Debian package; `is_held` as `apt-mark showhold` says."""

    version: str
    is_held: bool


@dataclass(frozen=True)
class Unit:
    """A systemd unit. `started_s` is Unix time of its last activation, 0 when never."""

    active: str
    enabled: str
    started_s: int

    @property
    def state(self) -> dict[str, str]:
        """As it stands in a plan."""
        return {"active": self.active, "enabled": self.enabled}


@dataclass(frozen=True)
class NodeFacts:
    """What one node said.

    Args:
        packages: installed ones by name.
        files: path -> {"sha256", "mode", "uid", "size", "mtime_ns", "link"} as far as they apply.
        texts: path -> content, None for what is not there.
        units: by name, only those that exist.
        ruleset: lines of `nft -s list ruleset`; None when nftables is not installed.
        sysctls: by key.
        is_container: True where the kernel is shared, so that kernel-wide settings are the host's.
    """

    node: str
    captured: str
    simulated: bool
    is_container: bool
    packages: Mapping[str, Package]
    files: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str | None]
    units: Mapping[str, Unit]
    ruleset: tuple[str, ...] | None
    sysctls: Mapping[str, str]

    def sha256(self, path: str) -> str | None:
        """Of a file; None when it is not there."""
        value = self.files.get(path, {}).get("sha256")
        return str(value) if value else None

    def modified_s(self, path: str) -> float:
        """When a file was last written, Unix time; 0 when it is not there."""
        return float(self.files.get(path, {}).get("mtime_ns", 0)) / 1e9


def parse_node(capture: Mapping[str, Any]) -> NodeFacts:
    """Facts from a capture.

    Raises:
        SovctlError: something a plan rests on was not measured, or was answered in another form than expected.
    """
    try:
        return _facts(capture)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SovctlError(
            "expected a capture as the probe writes it, got another form; what is not measured cannot be planned",
            where=f"node {capture['node']}",
            hint="run it again; if it stays, look at the node",
        ) from None


def _facts(capture: Mapping[str, Any]) -> NodeFacts:
    node, commands = capture["node"], capture["commands"]
    holds = set(_output(node, commands, "holds").split())
    packages = _packages(_output(node, commands, "packages"), holds)
    has_nft = "nftables" in packages
    return NodeFacts(
        node=node,
        captured=capture["captured"],
        simulated=capture["texts"].get(SIMULATION_MARK) is not None,
        is_container=_is_container(commands),
        packages=packages,
        files=capture["files"],
        texts=capture["texts"],
        units=_units(_output(node, commands, "units")),
        ruleset=tuple(_output(node, commands, "ruleset").splitlines()) if has_nft else None,
        sysctls=_sysctls(commands.get("sysctl", {}).get("stdout", "")),
    )


def _output(node: str, commands: Mapping[str, Any], name: str) -> str:
    answer = commands.get(name)
    if answer is None or answer["exit_code"] != 0:
        got = "nothing" if answer is None else f"exit code {answer['exit_code']}"
        raise SovctlError(
            f"expected the probe {name!r} to answer, got {got}; what is not measured cannot be planned",
            where=f"node {node}",
            hint="run it again; if it stays, look at the node",
        )
    return str(answer["stdout"])


def _packages(text: str, holds: set[str]) -> dict[str, Package]:
    packages = {}
    for line in text.splitlines():
        name, version, _, status = line.split("\t")
        if status.strip() in ("ii", "hi"):
            packages[name] = Package(version, name in holds)
    return packages


def _units(text: str) -> dict[str, Unit]:
    units = {}
    for block in text.split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if values.get("LoadState") == "loaded":
            started = values.get("ActiveEnterTimestamp", "").removeprefix("@")
            units[values["Id"].removesuffix(".service")] = Unit(
                values["ActiveState"], values.get("UnitFileState", ""), int(started) if started.isdigit() else 0
            )
    return units


def _sysctls(text: str) -> dict[str, str]:
    pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    return {key: " ".join(value.split()) for key, value in pairs}


def _is_container(commands: Mapping[str, Any]) -> bool:
    return bool(commands.get("virtualization", {}).get("stdout", "").strip() == "systemd-nspawn")
