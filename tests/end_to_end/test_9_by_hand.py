"""Roles run with ansible-playbook alone, on a node without configuration: the second run changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_site import run, succeed

from sovctl.engine.apply import ansible

pytestmark = pytest.mark.lab

NAME = "sovbyhand"
ROLES = (
    *("repository", "package", "service", "tuning", "clock", "hosts_file", "sshd", "perimeter"),
    *("service_account", "credential"),
)
"""Roles that take seconds. Environments and pools take minutes."""


@pytest.fixture(scope="module")
def site_file() -> Iterator[Path]:
    """site.yaml of a separate lab, because the shared one has configured nodes at this point."""
    folder = Path("build") / NAME
    succeed("lab", "down", "--name", NAME)
    succeed("lab", "up", "--name", NAME, "--directory", str(folder))
    yield (folder / "site.yaml").resolve()
    succeed("lab", "down", "--name", NAME)


def by_hand(site_file: Path, folder: Path, command: list[str]) -> str:
    """Run a command as a person does in a checkout, inside the lab's network. Return its output."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")} | {
        "ANSIBLE_CONFIG": str(ansible.PACKAGE / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": str(ansible.PACKAGE / "roles"),
        "ANSIBLE_HOME": str(folder),
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SOVCTL_SITE": str(site_file),
    }
    inside = ["ip", "netns", "exec", NAME]
    done = subprocess.run([*inside, *command], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout


def playbook(site_file: Path, folder: Path) -> list[str]:
    """Run the roles of ROLES on n1. Return the tasks that changed the node."""
    words = [sys.executable, "-W", "ignore", "-m", "ansible", "playbook", "--limit", "n1", "--tags", ",".join(ROLES)]
    words += ["-i", str(ansible.PACKAGE / "inventory" / "site.py"), str(ansible.PACKAGE / "playbooks" / "site.yml")]
    tasks = by_hand(site_file, folder, words).split("\nTASK [")[1:]
    return [each.partition("]")[0] for each in tasks if "\nchanged: [n1]" in each]


def test_a_second_run_by_hand_changes_nothing_and_the_plan_of_these_roles_is_empty(
    site_file: Path, tmp_path: Path
) -> None:
    by_hand(site_file, tmp_path, [str(ansible.PACKAGE / "inventory" / "site.py"), "--prepare"])
    # With facts the inventory omits kernel-wide settings, which a node of the lab cannot change.
    planned = run("plan", str(site_file), "--json", "--no-save")
    differing = {each["kind"] for each in json.loads(planned.stdout)["changes"] if each["node"] == "n1"}
    assert differing >= {*ROLES} - {"hosts_file"}  # the lab writes the names of its nodes
    first = playbook(site_file, tmp_path)
    assert {each.partition(" : ")[0] for each in first} >= differing & {*ROLES}
    assert playbook(site_file, tmp_path) == []
    left = json.loads(run("plan", str(site_file), "--json", "--no-save").stdout)["changes"]
    assert [each for each in left if each["node"] == "n1" and each["kind"] in ROLES] == []
    assert [each for each in left if each["node"] == "n2"] != []
