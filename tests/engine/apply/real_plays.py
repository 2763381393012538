"""Tasks and roles run by the real Ansible, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sovctl.engine.apply import ansible
from sovctl.engine.resources.context import ROLES


def play(
    folder: Path, tasks: list[dict[str, Any]], *, inventory: Mapping[str, Any] | None = None, hosts: str = "localhost"
) -> list[str]:
    """Messages of what failed in one real ansible-playbook run on this machine, told by our own callback.

    Args:
        inventory: as `sovctl apply` makes one, of the host `localhost`; none when the tasks need none.
        hosts: pattern of the hosts; others than `localhost` need `ansible_connection: local` in the inventory.
    """
    playbook = folder / "play.yml"
    head = {"hosts": hosts, "connection": "local", "gather_facts": False, "tasks": tasks}
    playbook.write_text(json.dumps([head]))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")} | {
        "ANSIBLE_CALLBACK_PLUGINS": str(ansible.PLUGINS),
        "ANSIBLE_STDOUT_CALLBACK": "sovctl_events",
        "ANSIBLE_ROLES_PATH": str(ROLES),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_CONFIG": no_configuration(folder),
        "LC_ALL": "C.UTF-8",
    }
    command = [sys.executable, "-W", "ignore", "-m", "ansible", "playbook", "-i", _inventory(folder, inventory)]
    command += ["-e", f"ansible_python_interpreter={sys.executable}", str(playbook)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = [f"{each['task']}: {each['message']}" for each in events if each["event"] == "failed"]
    assert failed or len([each for each in events if each["event"] == "ok"]) >= len(tasks), done.stdout + done.stderr
    return failed


def _inventory(folder: Path, content: Mapping[str, Any] | None) -> str:
    if content is None:
        return "localhost,"
    path = folder / "inventory.yaml"
    path.write_text(ansible.inventory_text(content))
    return str(path)


def no_configuration(folder: Path) -> str:
    """A configuration of Ansible that says nothing, instead of this machine's own."""
    (folder / "ansible.cfg").write_text("# nobody's own configuration\n")
    return str(folder / "ansible.cfg")
