"""One node's capture as typed facts: what the plan compares against.

A command that could not be run, or whose output is not understood, gives None, which means "not measured" and stops a
plan; an empty answer is only "nothing there" where the tool positively says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sovctl.support.errors import SovctlError

from .dpkg import parse_holds, parse_packages
from .sysctl import parse_sysctl
from .units import parse_units
from .unreadable import Unreadable

SIMULATION_MARK = "/etc/sovctl-simulated"
"""A node that has this file has stand-in hardware, and whatever it says is marked `simulated`."""


@dataclass(frozen=True)
class InstalledPackage:
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
    packages: Mapping[str, InstalledPackage]
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
    except Unreadable as error:
        where, hint = f"node {capture['node']}: {error.where}", "look at that command's output on the node"
        raise SovctlError(error.message, where=where, hint=hint) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SovctlError(
            "expected a capture as the probe writes it, got another form; what is not measured cannot be planned",
            where=f"node {capture['node']}",
            hint="run it again; if it stays, look at the node",
        ) from None


def _facts(capture: Mapping[str, Any]) -> NodeFacts:
    node, commands = capture["node"], capture["commands"]
    holds = parse_holds(_output(node, commands, "holds"))
    packages = _packages(_output(node, commands, "packages"), holds)
    has_nft = "nftables" in packages
    return NodeFacts(
        node=node,
        captured=capture["captured"],
        simulated=capture["texts"].get(SIMULATION_MARK) is not None,
        is_container=_is_container(commands),
        packages=packages,
        files={_printable(path): _file(entry) for path, entry in capture["files"].items()},
        texts={path: None if text is None else _text(text) for path, text in capture["texts"].items()},
        units=_units(_output(node, commands, "units")),
        ruleset=tuple(_output(node, commands, "ruleset").splitlines()) if has_nft else None,
        # Not asked where the platform has no settings.
        sysctls=parse_sysctl(_output(node, commands, "sysctl", may_fail=True)) if "sysctl" in commands else {},
    )


_FILE = {"sha256": str, "mode": str, "link": str, "uid": int, "size": int, "mtime_ns": int, "unreadable": bool}
"""What the probe says of a file, as far as it applies."""


def _file(entry: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in entry.items():
        if not isinstance(value, _FILE[name]):
            raise TypeError(name)
    return {name: _printable(value) if name == "link" else value for name, value in entry.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return _printable(value)


def _printable(name: str) -> str:
    """A name whose bytes are no UTF-8 with these as codes: it may have to stand in a plan."""
    return name.encode(errors="backslashreplace").decode()


def _output(node: str, commands: Mapping[str, Any], name: str, *, may_fail: bool = False) -> str:
    """What a command printed; with `may_fail` also of one that ran and did not succeed, such as sysctl on a key that
    cannot be read: what it did not print is not in the facts, and so differs from what is expected."""
    answer = commands.get(name)
    if answer is None or answer["exit_code"] is None or (answer["exit_code"] != 0 and not may_fail):
        code = None if answer is None else answer["exit_code"]  # None: absent, or not done in time
        got = "nothing" if code is None else f"exit code {code}"
        raise SovctlError(
            f"expected the probe {name!r} to answer, got {got}; what is not measured cannot be planned",
            where=f"node {node}",
            hint="run it again; if it stays, look at the node",
        )
    return str(answer["stdout"])


def _packages(text: str, holds: frozenset[str]) -> dict[str, InstalledPackage]:
    """What is installed and wanted; a name that is there for two architectures at two versions has both."""
    versions: dict[str, list[str]] = {}
    for each in parse_packages(text):
        if each.status in ("ii", "hi") and each.version not in versions.setdefault(each.name, []):
            versions[each.name].append(each.version)
    return {name: InstalledPackage(" and ".join(found), name in holds) for name, found in versions.items() if found}


def _units(text: str) -> dict[str, Unit]:
    return {
        each.id.removesuffix(".service"): Unit(
            each.active or "", each.properties.get("UnitFileState", ""), _seconds(each.properties)
        )
        for each in parse_units(text)
        if each.load == "loaded"
    }


def _seconds(properties: Mapping[str, str]) -> int:
    """When a unit was last started, from `@1763700000`; 0 for never."""
    started = properties.get("ActiveEnterTimestamp", "").removeprefix("@")
    return int(started) if started.isdecimal() else 0


def _is_container(commands: Mapping[str, Any]) -> bool:
    return bool(commands.get("virtualization", {}).get("stdout", "").strip() == "systemd-nspawn")
