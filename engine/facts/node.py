"""Parses the capture of a node into typed facts, which a plan compares with the expected states.

A command that failed, or printed an unknown format, raises an error, because a plan must not treat unmeasured values as
absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sovctl.support.errors import SovctlError

from .capture_form import check_form
from .numbers import integer
from .operating_system import (
    DGX_RELEASE,
    OS_RELEASE,
    SECURE_BOOT_VARIABLE,
    OperatingSystem,
    Virtualization,
    parse_dgx_release,
    parse_os_release,
    parse_secure_boot,
    parse_virtualization,
)
from .packages.dpkg import parse_holds, parse_packages
from .packages.rpm import parse_versionlock
from .sysctl import parse_sysctl
from .units import UnitState, parse_units
from .unreadable import Unreadable

SIMULATION_MARK = "/etc/sovctl-simulated"
"""File of nodes with simulated hardware. Their facts and evidence are marked `simulated`."""


@dataclass(frozen=True)
class InstalledPackage:
    """An installed package; `is_held` according to `apt-mark showhold` or `dnf versionlock list`."""

    version: str
    is_held: bool


@dataclass(frozen=True)
class Process:
    """The main process of a unit.

    Args:
        exe: its program; ends with " (deleted)" if the file was replaced or removed on disk.
        deleted: program files in its memory, also libraries, that were replaced or removed on disk.
    """

    exe: str
    deleted: tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """A systemd unit.

    Args:
        started_s: Unix time of its last activation; 0 without one.
        process: None if the unit has no main process.
    """

    active: str
    enabled: str
    started_s: int
    process: Process | None = None

    @property
    def state(self) -> dict[str, str]:
        """Keys of the unit in the state of a resource."""
        return {"active": self.active, "enabled": self.enabled}


@dataclass(frozen=True)
class NodeFacts:
    """Facts of one node.

    Args:
        packages: installed packages by name.
        files: {"sha256", "mode", "uid", "gid", "size", "mtime_ns", "link"} by path; keys that do not apply are absent.
        texts: contents by path; None for an absent file.
        units: loaded units by name; services without suffix.
        unit_states: all requested units, also masked and absent ones, by name with suffix.
        ruleset: lines of `nft -s list ruleset`; None without nftables.
        sysctls: values by key.
        answers: of the commands of resource types, by name; `answer` returns their output.
        is_container: whether the node shares the kernel of its host, which then determines kernel-wide settings.
        system: operating system; its values are empty if they are unknown.
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
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    system: OperatingSystem = field(default_factory=OperatingSystem)
    unit_states: Mapping[str, UnitState] = field(default_factory=dict)

    def answer(self, name: str, *, may_fail: bool = False) -> str:
        """Return the standard output of a command that a resource type requested.

        Args:
            may_fail: accept another exit code than 0.

        Raises:
            SovctlError: the command failed, or is not in the capture.
        """
        return _output(self.node, self.answers, name, may_fail=may_fail)

    def text(self, path: str) -> str | None:
        """Return the text of a file that a resource type requested; None if the file is absent.

        Raises:
            SovctlError: the capture does not contain the path.
        """
        if path not in self.texts:
            raise SovctlError(
                f"{path} was not measured; a plan requires all measurements",
                where=f"node {self.node}",
                hint="observe the node again",
            )
        return self.texts[path]

    def sha256(self, path: str) -> str | None:
        """Return the SHA-256 of a file; None if it is absent."""
        value = self.files.get(path, {}).get("sha256")
        return str(value) if value else None

    def modified_s(self, path: str) -> float:
        """Return the time of the last write of a file, Unix time; 0 if it is absent."""
        return float(self.files.get(path, {}).get("mtime_ns", 0)) / 1e9


def parse_node(capture: Mapping[str, Any]) -> NodeFacts:
    """Parse a capture.

    Raises:
        SovctlError: a command failed, or printed an unknown format.
    """
    check_form(capture)
    try:
        return _facts(capture)
    except Unreadable as error:
        where, hint = f"node {capture['node']}: {error.where}", "check the output of this command on the node"
        raise SovctlError(error.message, where=where, hint=hint) from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise SovctlError(
            "the capture has an unknown format; a plan requires all measurements",
            where=f"node {capture['node']}",
            hint="run the command again; if the error persists, check the node",
        ) from None


def _facts(capture: Mapping[str, Any]) -> NodeFacts:
    node, commands = capture["node"], capture["commands"]
    for path, reason in capture.get("unreadable", {}).items():
        raise SovctlError(
            f"{_printable(path)} is unreadable: {reason}; a plan requires all measurements",
            where=f"node {node}",
            hint="correct the file on the node",
        )
    system = _system(node, commands, capture["texts"])
    packages = _packages(node, commands)
    has_nft = "nftables" in packages
    return NodeFacts(
        node=node,
        captured=capture["captured"],
        simulated=capture["texts"].get(SIMULATION_MARK) is not None,
        is_container=system.virtualization is Virtualization.CONTAINER,
        packages=packages,
        files={_printable(path): _file(entry) for path, entry in capture["files"].items()},
        texts={path: None if text is None else _printable(text) for path, text in capture["texts"].items()},
        units=_units(_output(node, commands, "units"), _processes(capture)),
        unit_states={each.id: each for each in parse_units(_output(node, commands, "units"))},
        ruleset=tuple(_output(node, commands, "ruleset").splitlines()) if has_nft else None,
        # The command is absent if the platform has no settings.
        sysctls=parse_sysctl(_output(node, commands, "sysctl", may_fail=True)) if "sysctl" in commands else {},
        answers=commands,
        system=system,
    )


def _file(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _printable(value) if name == "link" else value for name, value in entry.items()}


def _printable(name: str) -> str:
    """Return a name with bytes outside UTF-8 as escapes, because a plan can contain it."""
    return name.encode(errors="backslashreplace").decode()


def _output(node: str, commands: Mapping[str, Any], name: str, *, may_fail: bool = False) -> str:
    """Return the output of a command.

    Args:
        may_fail: accept another exit code than 0, as of sysctl for an unreadable key. Its value is then absent from
            the facts, and differs from the expected one.
    """
    answer = commands.get(name)
    if answer is None or answer["exit_code"] is None or (answer["exit_code"] != 0 and not may_fail):
        code = None if answer is None else answer["exit_code"]  # None: not found, or timed out
        got = f"exit code {code}"
        if code is None:
            stderr = str((answer or {}).get("stderr", ""))
            got = stderr[:40] if stderr.startswith("no result") else "no result"
        raise SovctlError(
            f"probe command {name!r} failed: {got}; a plan requires all measurements",
            where=f"node {node}",
            hint="run the command again; if the error persists, check the node",
        )
    return str(answer["stdout"])


def _packages(node: str, commands: Mapping[str, Any]) -> dict[str, InstalledPackage]:
    """Return installed packages by name. A package with two versions, one for each architecture, has both."""
    if not _found(commands, "packages") and _found(commands, "rpm-packages"):
        entries = parse_packages(_output(node, commands, "rpm-packages"))
        # Without the plugin the command fails, and no package is locked.
        is_there = commands.get("versionlock", {}).get("exit_code") == 0
        holds = parse_versionlock(_output(node, commands, "versionlock")) if is_there else frozenset()
    else:
        entries = parse_packages(_output(node, commands, "packages"))
        holds = parse_holds(_output(node, commands, "holds"))
    versions: dict[str, list[str]] = {}
    for each in entries:
        if each.status in ("ii", "hi") and each.version not in versions.setdefault(each.name, []):
            versions[each.name].append(each.version)
    return {name: InstalledPackage(" and ".join(found), name in holds) for name, found in versions.items() if found}


def _found(commands: Mapping[str, Any], name: str) -> bool:
    return bool(commands.get(name, {}).get("stdout"))


def _system(node: str, commands: Mapping[str, Any], texts: Mapping[str, str | None]) -> OperatingSystem:
    release = parse_os_release(texts.get(OS_RELEASE) or "")
    dgx = texts.get(DGX_RELEASE)
    return OperatingSystem(
        id=release.get("ID", "").lower(),
        version=release.get("VERSION_ID", ""),
        title=_printable(release.get("PRETTY_NAME", "")),
        kernel=_output(node, commands, "kernel").strip(),
        architecture=_output(node, commands, "architecture").strip(),
        dgx_release=None if dgx is None else parse_dgx_release(dgx),
        secure_boot=parse_secure_boot(_text_of(commands, "secure-boot"), texts.get(SECURE_BOOT_VARIABLE)),
        virtualization=parse_virtualization(_text_of(commands, "virtualization")),
    )


def _text_of(commands: Mapping[str, Any], name: str) -> str:
    """Return the output of a command of any exit code; empty if it was not found. Its parser returns UNKNOWN then."""
    return str(commands.get(name, {}).get("stdout", ""))


def _processes(capture: Mapping[str, Any]) -> dict[int, Process]:
    return {
        integer(pid): Process(_printable(each["exe"]), tuple(map(_printable, each["deleted"])))
        for pid, each in capture.get("processes", {}).items()
    }


def _units(text: str, processes: Mapping[int, Process]) -> dict[str, Unit]:
    return {
        each.id.removesuffix(".service"): Unit(
            each.active or "",
            each.properties.get("UnitFileState", ""),
            _seconds(each.properties),
            processes.get(each.main_pid or 0),
        )
        for each in parse_units(text)
        if each.load == "loaded"
    }


def _seconds(properties: Mapping[str, str]) -> int:
    """Return the time of the last start of a unit from `@1763700000`; 0 without one."""
    started = properties.get("ActiveEnterTimestamp", "").removeprefix("@")
    return integer(started) if started.isdecimal() else 0
