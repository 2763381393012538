"""Collects the inventory of nodes: one read-only probe per node, and a parser of its output.

    found = inventory_of(spec, gather(spec, folder, requests(spec)))

Nothing is written on a node: no program runs that updates a cache, such as `dnf`.
"""

from __future__ import annotations

import configparser
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from sovctl.support.errors import SovctlError

from ..facts.capture_form import check_form
from ..facts.inventory import PARTS, parse_parts
from ..facts.node import SIMULATION_MARK
from ..facts.operating_system import (
    DGX_RELEASE,
    OS_RELEASE,
    Virtualization,
    parse_dgx_release,
    parse_os_release,
    parse_virtualization,
)
from ..facts.packages.apt_sources import FILE_MARK, parse_source_files
from ..facts.packages.dpkg import RPM_PACKAGES, parse_packages
from ..facts.unreadable import Unreadable
from ..gather.gather import Gathered, Request
from ..spec import SiteSpec
from .inventory import Firmware, NodeStatus, PackageBase, PciDevice, SiteInventory

STATUS = "/var/lib/dpkg/status"
STATUS_FIELDS = (
    *("Package", "Status", "Essential", "Priority", "Section", "Installed-Size", "Architecture", "Multi-Arch"),
    *("Source", "Version", "Replaces", "Provides", "Depends", "Pre-Depends", "Recommends", "Breaks", "Conflicts"),
)
"""Fields of dpkg's status that apt's solver reads (deb-control(5)). Configuration files and maintainers are omitted."""
PREFERENCES = ("/etc/apt/preferences", "/etc/apt/preferences.d/*")
SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*", "/etc/yum.repos.d/*.repo")
_PCI = """cd /sys/bus/pci/devices || exit 1
for d in *; do printf '%s %s %s\\n' "$(cat $d/class)" "$(cat $d/vendor)" "$(cat $d/device)"; done"""
_GPU_FIRMWARE = ("nvidia-smi", "--query-gpu=name,vbios_version", "--format=csv,noheader")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "kernel": ("uname", "-r"),
    "architecture": ("uname", "-m"),
    "virtualization": ("systemd-detect-virt",),
    "kernels": ("ls", "-1", "/lib/modules"),
    "glibc": ("getconf", "GNU_LIBC_VERSION"),
    "python": ("python3", "-I", "--version"),
    "dpkg-status": ("cat", STATUS),
    "rpm-packages": RPM_PACKAGES,
    "pci": ("sh", "-c", _PCI),
    "parts": ("sh", "-c", PARTS),
    "gpu-firmware": _GPU_FIRMWARE,
}
READ = (OS_RELEASE, DGX_RELEASE, SIMULATION_MARK, *PREFERENCES, *SOURCES)
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def requests(spec: SiteSpec) -> dict[str, Request]:
    """Return the request to the probe of every node, by node name."""
    commands = {name: list(argv) for name, argv in COMMANDS.items()}
    request = Request(commands, (), READ, spec.access.command_timeout_s)
    return {node.name: request for _, node in spec.nodes()}


def inventory_of(spec: SiteSpec, gathered: Gathered) -> SiteInventory:
    """Return the inventory of captures, with the nodes in the order of site.yaml.

    Raises:
        NodeUnreachable: no node answered.
        SovctlError: a node did not print its package status or its operating system.
    """
    if not gathered.captures:
        gathered.require_all(spec)
    bases: dict[str, PackageBase] = {}
    nodes = []
    for _, node in spec.nodes():
        if (capture := gathered.captures.get(node.name)) is not None:
            base = _base(capture)
            bases[base.sha256] = base
            nodes.append(_status(capture, base))
    return SiteInventory(
        site=spec.site.name,
        collected=max(each["captured"] for each in gathered.captures.values()),
        nodes=tuple(nodes),
        bases=bases,
        not_measured={name: message for name, (_, message) in gathered.failures.items()},
    )


def _status(capture: Mapping[str, Any], base: PackageBase) -> NodeStatus:
    name = capture["node"]
    check_form(capture)
    try:
        release = parse_os_release(capture["texts"].get(OS_RELEASE) or "")
        dgx = capture["texts"].get(DGX_RELEASE)
        kind = parse_virtualization(_any_output(capture, "virtualization"))
        system = {
            "id": release.get("ID", "").lower(),
            "version": release.get("VERSION_ID", ""),
            "title": release.get("PRETTY_NAME", ""),
            "kernel": _output(capture, "kernel").strip(),
            "architecture": _output(capture, "architecture").strip(),
        } | ({} if dgx is None else {"dgx_release": parse_dgx_release(dgx)})
        return NodeStatus(
            name=name,
            system=system,
            virtualization=kind.value,
            simulated=capture["texts"].get(SIMULATION_MARK) is not None,
            kernels=_kernels(capture, is_container=kind is Virtualization.CONTAINER),
            glibc=_version(capture, "glibc"),
            python=_version(capture, "python"),
            repositories=tuple(sorted(set(_repositories(capture["texts"])))),
            devices=_devices(capture),
            firmware=_firmware(capture),
            base=base.sha256,
        )
    except (Unreadable, configparser.Error) as error:
        raise SovctlError(str(error), where=f"node {name}", hint="correct this file on the node") from None


def _base(capture: Mapping[str, Any]) -> PackageBase:
    rpm = _any_output(capture, "rpm-packages")
    status = _any_output(capture, "dpkg-status")
    if not status.strip() and rpm:
        lines = sorted(f"{p.name}\t{p.version}\t{p.architecture}\t{p.status}" for p in parse_packages(rpm))
        return PackageBase("dnf", "\n".join(lines) + "\n")
    if not status.strip():
        raise SovctlError("no package status", where=f"node {capture['node']}: {STATUS}", hint="check the node")
    texts = capture["texts"]
    found = {path: text for path, text in texts.items() if path.startswith("/etc/apt/preferences") and text}
    return PackageBase("apt", reduced_status(status), dict(sorted(found.items())))


def reduced_status(status: str) -> str:
    """Return the stanzas of dpkg's status with `STATUS_FIELDS` only, sorted by package and architecture."""
    stanzas = []
    for stanza in re.split(r"\n{2,}", status.strip()):
        kept, is_kept = [], False
        for line in stanza.splitlines():
            if not line.startswith((" ", "\t")):
                is_kept = line.partition(":")[0] in STATUS_FIELDS
            if is_kept:
                kept.append(line)
        fields = dict(line.split(": ", 1) for line in kept if ": " in line)
        if fields.get("Status", "").endswith(" installed") or " half-" in fields.get("Status", ""):
            stanzas.append(((fields.get("Package", ""), fields.get("Architecture", "")), "\n".join(kept)))
    return "".join(f"{text}\n\n" for _, text in sorted(stanzas))


def _kernels(capture: Mapping[str, Any], *, is_container: bool) -> tuple[str, ...] | None:
    """Return the installed kernels; empty in a container, which runs the kernel of its host."""
    if is_container:
        return ()
    output = _output_or_none(capture, "kernels")
    return None if output is None else tuple(sorted(output.split()))


def _version(capture: Mapping[str, Any], name: str) -> str | None:
    match = _VERSION.search(_output_or_none(capture, name) or "")
    return match[0] if match else None


def _repositories(texts: Mapping[str, str | None]) -> Iterator[str]:
    for path, text in texts.items():
        if text is None:
            continue
        if path.startswith("/etc/apt/sources.list") and path.endswith((".list", ".sources")):
            for entry in parse_source_files(f"{FILE_MARK}{path}\n{text}"):
                yield from map(without_credentials, entry.uris)
        elif path.endswith(".repo"):
            parser = configparser.ConfigParser(interpolation=None, strict=False)
            parser.read_string(text)
            for section in parser.sections():
                if parser.get(section, "enabled", fallback="1").strip() != "0":
                    urls = parser.get(section, "baseurl", fallback="") or f"dnf:{section}"
                    yield from map(without_credentials, urls.split())


def without_credentials(uri: str) -> str:
    """Return a URI without user and password."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _devices(capture: Mapping[str, Any]) -> tuple[PciDevice, ...] | None:
    output = _output_or_none(capture, "pci")
    if output is None:
        return None
    rows = Counter(tuple(word.removeprefix("0x") for word in line.split()) for line in output.splitlines())
    return tuple(PciDevice(*row, count) for row, count in sorted(rows.items()) if len(row) == 3)


def _firmware(capture: Mapping[str, Any]) -> tuple[Firmware, ...] | None:
    output = _output_or_none(capture, "parts")
    if output is None:
        return None
    found = [Firmware(part.kind, part.model, part.firmware) for part in parse_parts(output)]
    for line in (_output_or_none(capture, "gpu-firmware") or "").splitlines():
        model, _, version = line.rpartition(",")
        found.append(Firmware("gpu", model.strip() or None, version.strip() or None))
    return tuple(sorted(set(found), key=str))


def _output(capture: Mapping[str, Any], name: str) -> str:
    output = _output_or_none(capture, name)
    if output is None:
        raise SovctlError(f"command {name!r} failed", where=f"node {capture['node']}", hint="check the node")
    return output


def _output_or_none(capture: Mapping[str, Any], name: str) -> str | None:
    answer = capture["commands"].get(name)
    return str(answer["stdout"]) if answer is not None and answer["exit_code"] == 0 else None


def _any_output(capture: Mapping[str, Any], name: str) -> str:
    """Return the output of a command of any exit code; empty if it is absent."""
    return str(capture["commands"].get(name, {}).get("stdout", ""))
