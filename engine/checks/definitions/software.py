"""Software: exactly what the lock says, held there, from the site's own mirror and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...facts.apt_sources import parse_index_targets, parse_source_files
from ...facts.dpkg import installed_versions, parse_holds, parse_packages
from ...facts.gpu import parse_nvidia_smi_xml
from ...facts.units import parse_units
from ...facts.unreadable import Unreadable, excerpt
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, worst
from ..model.probe_sections import Parts, read_parts

_VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)?\b")
FABRIC_MANAGER = "nvidia-fabricmanager"


@dataclass(frozen=True, kw_only=True)
class DriverExpectation(Expectation):
    """From the driver lock, for one platform.

    Args:
        lock: its id.
        driver_version: what the driver itself must say.
        packages: version by name, everything the platform needs.
    """

    lock: str
    driver_version: str
    packages: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class MirrorExpectation(Expectation):
    """From `site.yaml: artifacts.apt_url`, without a slash at the end."""

    apt_url: str


def judge_driver(output: ProbeOutput, expectation: DriverExpectation) -> Judgement:
    """Packages, the loaded module and nvidia-smi all say the lock's version."""
    parts = read_parts(output)
    findings = list(_packages(parts, expectation.packages))
    module, smi = _module_version(parts.text("module")), parse_nvidia_smi_xml(parts.text("gpus")).driver_version
    for what, got in (("the loaded module", module), ("nvidia-smi", smi)):
        if got != expectation.driver_version:
            findings.append(failed(f"{what} at {expectation.driver_version}", got))
    return worst(
        findings,
        otherwise=f"expected lock {expectation.lock}, got its {len(expectation.packages)} packages, "
        f"module and nvidia-smi at {smi}",
    )


def judge_fabric_manager(output: ProbeOutput, _expectation: DriverExpectation) -> Judgement:
    """Fabric manager, by package and by program, has exactly the driver's version, and runs."""
    parts = read_parts(output)
    smi = parse_nvidia_smi_xml(parts.text("gpus")).driver_version
    program = _first_version(parts.text("program"), "nv-fabricmanager --version")
    package = installed_versions(parse_packages(parts.text("packages"))).get(FABRIC_MANAGER)
    findings = []
    if package is None:
        findings.append(failed(f"package {FABRIC_MANAGER}", "not installed"))
    elif package.partition("-")[0] != smi:
        findings.append(failed(f"package {FABRIC_MANAGER} at the driver's {smi}", package))
    if program != smi:
        findings.append(failed(f"nv-fabricmanager at the driver's {smi}", program))
    (unit,) = parse_units(parts.text("services"))[:1]
    if unit.active is None:
        findings.append(unknown(f"the state of {FABRIC_MANAGER}", "none"))
    elif not unit.is_running:
        findings.append(failed(f"{FABRIC_MANAGER} running", f"{unit.load}, {unit.active}, {unit.sub}"))
    return worst(findings, otherwise=f"expected fabric manager at the driver's version, got {smi} for both, running")


def judge_holds(output: ProbeOutput, expectation: DriverExpectation) -> Judgement:
    """No package of the lock can be upgraded in passing."""
    holds = parse_holds(read_parts(output).text("holds"))
    missing = sorted(set(expectation.packages) - holds)
    findings = [failed(f"{name} held", "not held") for name in missing]
    return worst(findings, otherwise=f"expected {len(expectation.packages)} packages held, got all of them")


def judge_sources(output: ProbeOutput, expectation: MirrorExpectation) -> Judgement:
    """apt reads the site's mirror and nothing else, by its own word and by its files, and checks who signed it."""
    parts = read_parts(output)
    targets, entries = parse_index_targets(parts.text("targets")), parse_source_files(parts.text("files"))
    findings = [] if targets and entries else [failed(f"{expectation.apt_url} as a source", "no source at all")]
    for target in targets:
        if _without_slash(target.repo_uri) != expectation.apt_url:
            findings.append(failed(f"only {expectation.apt_url}", excerpt(target.repo_uri)))
        elif not target.is_verified:
            findings.append(failed("a mirror whose signature was good", f"none yet, in {target.entry}"))
    for entry in entries:
        findings += [
            failed(f"only {expectation.apt_url}", f"{excerpt(uri)} in {entry.file}")
            for uri in entry.uris
            if _without_slash(uri) != expectation.apt_url
        ]
        if entry.signed_by is None:
            findings.append(failed("a source signed by the site's key", f"any key, in {entry.file}"))
        findings += [failed("no option that skips signatures", f"{each} in {entry.file}") for each in entry.forced]
    findings += _settings(parts.text("settings"))
    return worst(findings, otherwise=f"expected only {expectation.apt_url}, signed by the site's key, got that")


def _settings(text: str) -> Iterator[Judgement]:
    """apt's configuration as `name value` lines; apt itself prints the first two always."""
    values = dict(line.partition(" ")[::2] for line in text.splitlines() if line.strip())
    if not values:
        raise Unreadable("apt's settings", text, where="apt-config dump")
    for name, value in values.items():
        if value.strip('"').lower() not in ("", "0", "false", "no"):
            yield failed(f"{name} off", value)


def _without_slash(uri: str) -> str:
    return uri.removesuffix("./").rstrip("/")


def _packages(parts: Parts, wanted: Mapping[str, str]) -> Iterator[Judgement]:
    installed = installed_versions(parse_packages(parts.text("packages")))
    for name, version in wanted.items():
        got = installed.get(name)
        if got != version:
            yield failed(f"{name} {version}", got or "not installed")


def _module_version(text: str) -> str:
    """From a line such as `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build`."""
    line = next((line for line in text.splitlines() if line.startswith("NVRM version:")), "")
    return _first_version(line.replace("x86_64", ""), "/proc/driver/nvidia/version")


def _first_version(text: str, where: str) -> str:
    match = _VERSION.search(text)
    if match is None:
        raise Unreadable("a version", text, where=where)
    return match[0]
