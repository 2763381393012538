"""Checks on real nodes: a provisioned site passes, and whatever is broken on a node is found by the right check."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.lab

SOVCTL = [sys.executable, "-c", "from sovctl.cli.main import main; main()"]
LAB, NODE = "sovcheck", "n2"


def sovctl(*words: str, codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run([*SOVCTL, *words], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in codes, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One GPU node and one service node, provisioned by `sovctl apply`; no pool and no gateway, to be quick."""
    folder = tmp_path_factory.mktemp("site")
    sovctl("lab", "up", "--name", LAB, "--directory", str(folder))
    try:
        file = folder / "site.yaml"
        spec = yaml.safe_load(file.read_text())
        for key in ("pools", "models", "gateway", "workload"):
            spec.pop(key, None)
        spec["node_groups"][0]["nodes"] = [each for each in spec["node_groups"][0]["nodes"] if each["name"] == NODE]
        file.write_text(yaml.safe_dump(spec))
        sovctl("plan", str(file))
        sovctl("apply", str(file), "--yes")
        yield file
    finally:
        sovctl("lab", "down", "--name", LAB)


def verify(site: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Results by `target check`."""
    document = json.loads(sovctl("verify", str(site), "--json", *options, codes=(0, 1)))
    return {f"{each['target']} {each['check_id']}": each for each in document["results"]}


def on_node(command: str) -> None:
    sovctl("lab", "shell", NODE, "--name", LAB, "--", f"sudo sh -c '{command}'")


def blocking(results: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {key: each["verdict"] for key, each in results.items() if each["verdict"] in ("FAIL", "UNKNOWN")}


def test_a_provisioned_site_passes_and_every_record_says_simulated(site: Path) -> None:
    results = verify(site)
    assert blocking(results) == {}, {key: results[key]["reason"] for key in blocking(results)}
    assert all(each["simulated"] for each in results.values())
    assert results["s1 ib.ports-active"]["verdict"] == "N/A"
    assert results[f"{NODE} perimeter.no-way-out"]["verdict"] == "PASS"
    assert all(each["plan_sha256"] for each in results.values())


# What is done by hand on the node, how it is undone, and what every check that it concerns must say.
OPEN_WALL = {
    "perimeter.default-drop": "FAIL",
    "perimeter.no-way-out": "FAIL",
    "perimeter.exception-only-from-gateway": "FAIL",
}
BROKEN = {
    "firewall-gone": ("nft flush ruleset", "nft -f /etc/nftables.conf", OPEN_WALL),
    "rule-that-lets-all-out": ("nft insert rule inet sovctl output accept", "nft -f /etc/nftables.conf", OPEN_WALL),
    "settings": (
        """apt-mark unhold nvidia-fabricmanager
echo deb http://apt.example.org/ x main > /etc/apt/sources.list.d/more.list
echo PasswordAuthentication yes > /etc/ssh/sshd_config.d/00-open.conf""",
        "apt-mark hold nvidia-fabricmanager; rm /etc/apt/sources.list.d/more.list /etc/ssh/sshd_config.d/00-open.conf",
        {
            "software.packages-held": "FAIL",
            "software.sources-only-mirror": "FAIL",
            "access.ssh-keys-only": "FAIL",
            "software.driver-exact": "PASS",
        },
    ),
    "services": (
        "systemctl stop chrony nvidia-fabricmanager nvidia-persistenced",
        "systemctl start chrony nvidia-fabricmanager nvidia-persistenced; chronyc waitsync 300 0 0 1",
        {
            "clock.synchronized": "UNKNOWN",
            "nvlink.fabric-ready": "FAIL",
            "software.fabric-manager-equals-driver": "FAIL",
            "gpu.persistence": "FAIL",
            "gpu.ecc": "PASS",
        },
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_by_hand_is_found_by_its_check(site: Path, name: str) -> None:
    command, undo, expected = BROKEN[name]
    on_node(command)
    try:
        patterns = [word for check_id in expected for word in ("--check", check_id)]
        results = verify(site, "--node", NODE, *patterns)
    finally:
        on_node(undo)
    assert {key.split()[1]: each["verdict"] for key, each in results.items()} == expected


# Faults of the stand-in hardware that do not hide one another: check, verdict and word of the reason by fault.
FAULTS = [
    {
        "row-remap-failure": ("gpu.row-remap", "FAIL", "replace the GPU"),
        "fabric-degraded": ("nvlink.fabric-ready", "FAIL", "Unhealthy"),
        "link-downgraded": ("gpu.pcie-link", "FAIL", "got 8"),
        "overheated": ("gpu.temperature", "FAIL", "degrees left"),
        "nvlink-errors": ("nvlink.errors-zero", "FAIL", "link 4"),
        "nvlink-down": ("nvlink.links-active", "FAIL", "got 17"),
        "ib-link-down": ("ib.ports-active", "FAIL", "DOWN"),
    },
    {"ecc-uncorrectable": ("gpu.ecc", "FAIL", "got 5"), "fabric-stuck": ("nvlink.fabric-ready", "FAIL", "In Progress")},
    {"gpu-lost": ("gpu.count", "FAIL", "GPU is lost")},
    {"gpu-off-bus": ("gpu.count", "FAIL", "got 7")},
    {"driver-unloaded": ("gpu.count", "UNKNOWN", "got 9")},
]


@pytest.mark.parametrize("faults", FAULTS, ids=lambda faults: "+".join(faults))
def test_a_hardware_fault_is_found_by_its_check(site: Path, faults: dict[str, tuple[str, str, str]]) -> None:
    for fault in faults:
        sovctl("lab", "fault", NODE, fault, "--name", LAB)
    try:
        results = verify(site, "--node", NODE, "--check", "gpu.*", "--check", "nvlink.*", "--check", "ib.*")
    finally:
        for fault in faults:
            sovctl("lab", "fault", NODE, fault, "--clear", "--name", LAB)
    for check_id, verdict, word in faults.values():
        result = results[f"{NODE} {check_id}"]
        assert result["verdict"] == verdict, result["reason"]
        assert word in result["reason"]
        assert result["simulated"]


def test_a_node_with_another_host_key_is_unknown(site: Path) -> None:
    known_hosts = site.parent / "access" / "known_hosts"
    text = known_hosts.read_text()
    keys = {line.split(",")[0]: line.split()[2] for line in text.splitlines() if ",10.77" in line}
    known_hosts.write_text(text.replace(keys[NODE], keys["s1"]))
    try:
        results = verify(site, "--check", "clock.*")
    finally:
        known_hosts.write_text(text)
    assert results[f"{NODE} clock.synchronized"]["verdict"] == "UNKNOWN"
    assert "Host key verification failed" in results[f"{NODE} clock.synchronized"]["reason"]
    assert results["s1 clock.synchronized"]["verdict"] == "PASS"
