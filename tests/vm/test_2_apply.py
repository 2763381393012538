"""The first apply: settings that a container does not have, one reboot, and an empty plan after it."""

from __future__ import annotations

from typing import Any

import pytest
from vm_site import NODE, VmSite

from sovctl.engine.resources.host.audit import RULES, canonical

pytestmark = pytest.mark.vm

REBOOT = f"{NODE}/reboot/node"


@pytest.fixture(scope="module")
def applied(site: VmSite) -> dict[str, Any]:
    """Return changes and boot ids of the first apply. A package requests a reboot, as after a new library."""
    site.here("echo libc6 | sudo tee /run/reboot-required.pkgs; sudo touch /run/reboot-required")
    before = site.boot_id()
    changes = {each["id"]: each for each in site.plan()["changes"]}
    site.apply()
    return {"changes": changes, "before": before, "after": site.boot_id()}


def test_the_plan_has_one_reboot_with_its_cause(applied: dict[str, Any]) -> None:
    change = applied["changes"][REBOOT]
    assert "/run/reboot-required exists for libc6" in change["why"]
    assert change["risk"] == "reboots the node"


def test_the_node_was_rebooted_and_the_journal_has_its_former_boot_id(site: VmSite, applied: dict[str, Any]) -> None:
    assert applied["after"] != applied["before"]
    events = [event for event in site.journal() if event["event"] == "rebooted"]
    assert [(event["node"], event["boot_id_before"]) for event in events] == [(NODE, applied["before"])]


def test_the_next_plan_is_empty(site: VmSite, applied: dict[str, Any]) -> None:
    assert applied["changes"]
    found = site.plan()
    assert [each["id"] for each in found["changes"]] == []
    assert found["refusals"] == []


def test_the_kernel_has_the_audit_rules_and_records_an_event(site: VmSite, applied: dict[str, Any]) -> None:
    loaded = {canonical(line) for line in site.here("sudo auditctl -l").splitlines()}
    assert {canonical(rule) for rule in (*RULES, "-w /srv/data -p wa -k data")} <= loaded
    site.here("sudo touch /srv/data/probe")
    site.wait_until("an audit record", "sudo ausearch --input-logs -k data -f /srv/data/probe")


def test_kernel_settings_are_those_of_the_platform(site: VmSite, applied: dict[str, Any]) -> None:
    settings = site.here("cat /etc/sysctl.d/90-sovctl.conf").splitlines()
    wanted = [line.split("=", 1) for line in settings if "=" in line and not line.startswith("#")]
    assert wanted
    for key, value in wanted:
        assert site.here(f"sudo sysctl -n {key.strip()}").split() == value.split(), key


def test_the_tpm_opened_the_volume_at_the_boot(site: VmSite, applied: dict[str, Any]) -> None:
    assert site.here("findmnt --noheadings --output SOURCE /srv/data") == "/dev/mapper/data"
    assert site.here("systemctl is-active systemd-cryptsetup@data") == "active"


def test_no_swap_is_in_use(site: VmSite, applied: dict[str, Any]) -> None:
    assert site.here("cat /proc/swaps").splitlines()[1:] == []
