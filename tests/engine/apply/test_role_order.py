"""The order of roles in `playbooks/apply.yml`, run by Ansible on hosts of this machine without ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from sovctl.engine.apply.ansible import PACKAGE

# As in a wave with a replica on two nodes: one of them also gets an environment and a model.
PLANNED = {
    "n1": ["perimeter", "pool"],
    "n2": ["perimeter", "environment", "model", "pool"],
    "n3": ["environment", "pool", "superseded"],
}
TASK = """---
- name: Write the name of the role
  ansible.builtin.shell: echo {{ role_name }} >> {{ folder }}/{{ inventory_hostname }}
"""


def test_each_node_runs_its_roles_in_its_own_order(tmp_path: Path) -> None:
    for role in {role for roles in PLANNED.values() for role in roles}:
        tasks = tmp_path / "roles" / role / "tasks"
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(TASK)
    hosts = {
        name: {"sovctl_roles": roles, "folder": str(tmp_path), "ansible_python_interpreter": sys.executable}
        for name, roles in PLANNED.items()
    }
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(yaml.safe_dump({"all": {"vars": {"ansible_connection": "local"}, "hosts": hosts}}))
    command = [sys.executable, "-P", "-m", "ansible", "playbook", "-i", str(inventory)]
    command += [str(PACKAGE / "playbooks" / "apply.yml"), "-e", "ansible_become=false"]
    # Ansible then handles the results of all nodes together, as it does if they arrive at the same time.
    configuration = tmp_path / "ansible.cfg"
    configuration.write_text("[defaults]\ninternal_poll_interval = 1\nforks = 10\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment |= {
        "ANSIBLE_CONFIG": str(configuration),
        "ANSIBLE_ROLES_PATH": str(tmp_path / "roles"),
        "ANSIBLE_HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: (tmp_path / name).read_text().split() for name in PLANNED} == PLANNED
