"""A change of the driver: packages, then one reboot for each GPU node, also if the controller dies during it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from lab_site import SENT, LabSite, ended, wait_for

from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab

OLD, NEW = "580.126.20", "580.173.02"
GPU_NODES = ("n1", "n2")
LIMIT_S = 180.0


def _newer_driver(values: dict[str, Any]) -> None:
    values["software"]["lock"] = f"nvidia-{NEW}"


def boot_ids(site: LabSite) -> dict[str, str]:
    return {node: site.on(node, "cat /proc/sys/kernel/random/boot_id") for node in GPU_NODES}


def loaded(site: LabSite) -> set[str]:
    return {site.on(node, "cat /proc/driver/nvidia/version").split("x86_64  ")[1].split()[0] for node in GPU_NODES}


def reboots(changes: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {id_: change["why"] for id_, change in changes.items() if change["kind"] == "reboot"}


def test_a_new_driver_is_loaded_by_one_reboot_a_node_that_resume_finishes(site: LabSite) -> None:
    before = boot_ids(site)
    with site.edited(_newer_driver):
        found = site.changes()
        # Facts show a loaded module that is not the one of the lock before any package is installed.
        why = f"NVIDIA module {OLD} is loaded, the lock has {NEW}"
        assert reboots(found) == {f"{node}/reboot/node": why for node in GPU_NODES}
        assert found["n1/pool/chat"]["why"] == "the node reboots"
        assert {change["kind"] for change in found.values()} == {"repository", "package", "reboot", "pool"}

        running = site.start("apply", str(site.file), "--yes")
        wait_for("the reboot of the canary", lambda: _reboots(site) and not site.answers("n2"), limit_s=LIMIT_S)
        # As by a power failure of the controller: Ansible, which has a session of its own, ends too.
        ansible = children(running.pid)
        running.kill()
        assert ended(running)[0] == -signal.SIGKILL
        for pid in ansible:
            os.killpg(pid, signal.SIGKILL)
        assert _apply(site) == ExitCode.BAD_INPUT, "an incomplete apply is continued by --resume only"

        site.apply("--resume")
        assert site.changes() == {}
        after = boot_ids(site)
        assert all(after[node] != before[node] for node in GPU_NODES)
        assert loaded(site) == {NEW}
        assert site.chat("private", SENT, stream=False) == {"text": SENT, "route": "pool"}

    # The lock of site.yaml is the former one again.
    assert set(reboots(site.changes())) == {f"{node}/reboot/node" for node in GPU_NODES}
    site.apply()
    events = [event for event in site.journal() if event["event"] == "rebooted"]
    assert {event["node"]: event["boot_id_before"] for event in events} == after
    assert loaded(site) == {OLD}
    assert site.changes() == {}


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _reboots(site: LabSite) -> bool:
    events = site.journal()
    return any(event["event"] == "role-started" and event["role"] == "reboot" for event in events)


def _apply(site: LabSite) -> int:
    return site.run("apply", str(site.file), "--yes").returncode
