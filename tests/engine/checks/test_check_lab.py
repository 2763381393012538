"""Checks on the nodes of a provisioned site: each injected failure is found by its check, and a whole site passes."""

from __future__ import annotations

from typing import Any

import pytest
from lab_site import LabSite, SharedLab

from sovctl.engine.checks.model.check import Check, Level
from sovctl.engine.checks.registry import CHECKS
from sovctl.engine.lab.hardware.fabric_faults import FABRIC_FAULTS, FabricFault
from sovctl.engine.lab.hardware.faults import clear_fault, fault_named, set_fault
from sovctl.engine.lab.layout import node_named
from sovctl.engine.lab.services import fabric_control
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def site(shared_lab: SharedLab) -> LabSite:
    """Return the site, planned and applied on the shared lab."""
    return shared_lab.site()


def verify(site: LabSite, *options: str, exit_code: int = ExitCode.FAILURE) -> dict[str, dict[str, Any]]:
    """Run `sovctl verify`; return its results by "<target> <check>"."""
    document = site.run_json("verify", str(site.file), *options, accept=(exit_code,))
    return {f"{each['target']} {each['check_id']}": each for each in document["results"]}


def patterns(*check_ids: str) -> list[str]:
    """Return the options of `sovctl verify` that select checks."""
    return [word for check_id in check_ids for word in ("--check", check_id)]


FIREWALL = ("perimeter.default-drop", "perimeter.no-way-out", "perimeter.exception-only-from-gateway")
# Manual changes by node: the command, the command that reverts it, and the verdicts other than PASS of its checks.
BROKEN = {
    "n1": ("nft flush ruleset", "nft -f /etc/nftables.conf", dict.fromkeys(FIREWALL, "FAIL")),
    "n2": (
        """nft insert rule inet sovctl output accept
apt-mark unhold nvidia-fabricmanager
echo deb http://apt.example.org/ x main > /etc/apt/sources.list.d/more.list
printf "Match User ops\\n  PasswordAuthentication yes\\nMatch all\\n" > /etc/ssh/sshd_config.d/00-open.conf
systemctl stop chrony nvidia-fabricmanager nvidia-persistenced""",
        """nft -f /etc/nftables.conf
apt-mark hold nvidia-fabricmanager
rm /etc/apt/sources.list.d/more.list /etc/ssh/sshd_config.d/00-open.conf
systemctl start chrony nvidia-fabricmanager nvidia-persistenced
chronyc waitsync 300 0 0 1""",
        {
            **dict.fromkeys(FIREWALL, "FAIL"),
            "software.packages-held": "FAIL",
            "software.sources-only-mirror": "FAIL",
            "access.ssh-keys-only": "FAIL",
            "clock.synchronized": "UNKNOWN",
            "nvlink.fabric-ready": "FAIL",
            "software.fabric-manager-equals-driver": "FAIL",
            "gpu.persistence": "FAIL",
        },
    ),
}
UNAFFECTED = ("software.driver-exact", "gpu.ecc")


def test_manual_changes_are_found_by_their_checks(site: LabSite) -> None:
    """Break both GPU nodes, so that one run of `verify` observes all changes."""
    check_ids = sorted({*UNAFFECTED, *(check_id for _, _, verdicts in BROKEN.values() for check_id in verdicts)})
    try:
        for node, (command, _, _) in BROKEN.items():
            site.on(node, f"sudo sh -ec '{command}'")
        results = verify(site, "--node", "n1", "--node", "n2", *patterns(*check_ids))
    finally:
        for node, (_, revert, _) in BROKEN.items():
            site.on(node, f"sudo sh -c '{revert}'")
    assert {key: each["verdict"] for key, each in results.items()} == {
        f"{node} {check_id}": verdicts.get(check_id, "PASS")
        for node, (_, _, verdicts) in BROKEN.items()
        for check_id in check_ids
    }


# Faults of the simulated hardware by node. The faults of a node do not hide each other. By fault: check, verdict, and a
# part of the reason.
FAULTS: list[dict[str, dict[str, tuple[str, str, str]]]] = [
    {
        "n2": {
            "row-remap-failure": ("gpu.row-remap", "FAIL", "replace the GPU"),
            "fabric-degraded": ("nvlink.fabric-ready", "FAIL", "Unhealthy"),
            "link-downgraded": ("gpu.pcie-link", "FAIL", "got 8"),
            "overheated": ("gpu.temperature", "FAIL", "degrees left"),
            "nvlink-errors": ("nvlink.errors-zero", "FAIL", "link 4"),
            "nvlink-down": ("nvlink.links-active", "FAIL", "got 17"),
            "ib-link-down": ("ib.ports-active", "FAIL", "DOWN"),
        },
        "n1": {
            "ecc-uncorrectable": ("gpu.ecc", "FAIL", "got 5"),
            "fabric-stuck": ("nvlink.fabric-ready", "FAIL", "In Progress"),
        },
    },
    {
        "n2": {"gpu-lost": ("gpu.count", "FAIL", "GPU is lost")},
        "n1": {"gpu-off-bus": ("gpu.count", "FAIL", "got 7")},
    },
    {"n2": {"driver-unloaded": ("gpu.count", "UNKNOWN", "got 9")}},
]


@pytest.mark.parametrize(
    "faults", FAULTS, ids=lambda faults: "+".join(name for names in faults.values() for name in names)
)
def test_a_hardware_fault_is_found_by_its_check(
    site: LabSite, faults: dict[str, dict[str, tuple[str, str, str]]]
) -> None:
    nodes = [word for node in faults for word in ("--node", node)]
    try:
        for node, names in faults.items():
            for name in names:
                set_fault(site.lab, node_named(node), fault_named(name))
        results = verify(site, *nodes, *patterns("gpu.*", "nvlink.*", "ib.*"))
    finally:
        for node in faults:
            clear_fault(site.lab, node_named(node), None)
    for node, names in faults.items():
        for check_id, verdict, word in names.values():
            result = results[f"{node} {check_id}"]
            assert result["verdict"] == verdict, result["reason"]
            assert word in result["reason"]
            assert result["simulated"]


@pytest.mark.parametrize("fault", FABRIC_FAULTS, ids=lambda each: each.name)
def test_a_fault_of_the_fabric_is_found_by_exactly_its_checks(site: LabSite, fault: FabricFault) -> None:
    """Real ibsim and subnet managers have the fault, and the real tools run on the probe node."""
    fabric_control.set_fault(site.lab, fault)
    try:
        blocks = {"FAIL", "UNKNOWN"} & set(fault.expects.values())
        results = verify(site, *patterns("fabric.*"), exit_code=ExitCode.FAILURE if blocks else ExitCode.OK)
    finally:
        fabric_control.clear_fault(site.lab, fault)
    found = {each["check_id"]: each["verdict"] for each in results.values() if each["verdict"] != "PASS"}
    assert found == fault.expects
    assert all(each["simulated"] for each in results.values())


# The preset has no `host` section.
NOT_REQUESTED = {
    "disk.encrypted",
    "disk.mounts-as-planned",
    "driver.module-is-open",  # of Blackwell
    "host.audit-running",
    "host.fips-mode",
    "host.log-shipping",
    "host.secure-boot",
    "monitoring.rules-loaded",  # of section `monitoring.server`
    "monitoring.targets-up",
    "retrieval.client-certificate-required",  # of section `retrieval`: test_9_retrieval.py
    "retrieval.database-rights",
    "network.dns-only-site-resolvers",
    "nvlink.imex-ready",  # of GB200 and GB300
    "pool.evaluation",  # of a pool with `evaluation`
    "pool.fabric-transport",  # of a pool on several nodes
    "pool.group-running",
    "software.mirror-serves-snapshot",  # of section `mirror`
}


def _runs_without_level(check: Check[Any]) -> bool:
    return not check.is_active and check.level is not Level.BURN_IN


def test_an_active_test_needs_consent_on_a_node_that_serves(site: LabSite) -> None:
    wanted = ("--node", "n1", "--level", "full", *patterns("diagnostic.dcgm-r2", "bandwidth.host-to-device"))
    for result in verify(site, *wanted).values():
        assert result["verdict"] == "UNKNOWN"
        assert "pool chat runs; stop it with `sovctl node drain n1" in result["reason"]
    allowed = verify(site, *wanted, "--allow-downtime", "chat", exit_code=ExitCode.OK)
    assert {each["verdict"] for each in allowed.values()} == {"PASS"}
    try:
        set_fault(site.lab, node_named("n1"), fault_named("pcie-slow"))
        found = verify(site, *wanted, "--allow-downtime", "chat")
    finally:
        clear_fault(site.lab, node_named("n1"), None)
    assert found["n1 diagnostic.dcgm-r2"]["verdict"] == "PASS"
    assert found["n1 bandwidth.host-to-device"]["verdict"] == "FAIL"


def test_every_check_passes_on_a_whole_site(site: LabSite) -> None:
    """Runs last, so that it also shows that the failures above left no trace."""
    results = verify(site, exit_code=ExitCode.OK)
    assert {key: each["reason"] for key, each in results.items() if each["verdict"] in ("FAIL", "UNKNOWN")} == {}
    expected = {check.id for check in CHECKS if _runs_without_level(check)} - NOT_REQUESTED
    assert {each["check_id"] for each in results.values()} == expected
    assert all(each["simulated"] is True for each in results.values())
    assert all(each["plan_sha256"] != "none" != each["apply_run"] for each in results.values())
    assert results["s1 ib.ports-active"]["verdict"] == "N/A"
    assert results["n2 perimeter.no-way-out"]["verdict"] == "PASS"
