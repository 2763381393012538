"""Runs ansible-playbook with an inventory of the planned roles and items, and reads its events.

- Ansible's configuration files are ignored, so that the operator's environment does not influence an apply.
- Values of site.yaml are never evaluated as templates, neither on the controller nor on a node.
- See docs/decisions/0015-own-ansible-process.md for the reason not to use ansible-runner.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder
from sovctl.support.processes.scope import running

from ..spec import SiteSpec

PACKAGE = package_folder()
PLUGINS = package_folder("engine/apply/ansible_plugins")
FORKS = 32
SSH_OPTIONS = (
    "ControlMaster=auto",
    "ControlPersist=15s",
    # Without these options a step waits forever if its node loses power: no packet tells ssh.
    "ServerAliveInterval=5",
    "ServerAliveCountMax=6",
)
CONFIGURATION = """\
# Written by sovctl apply. No other Ansible configuration is read.
[defaults]
# Seconds between two checks for a result. Ansible's default of 0.001 uses 10 % of a core while it waits.
internal_poll_interval = 0.02
"""
"""Settings that Ansible reads only from a file; the others are environment variables."""

RoleVariables = Mapping[str, list[dict[str, Any]]]
"""`<role>_items`: resources to create or update; `<role>_orphans`: resources to remove. One entry for each change."""


@dataclass(frozen=True)
class Event:
    """Start or result of a task on a node, from the callback plugin."""

    event: str
    node: str
    role: str
    task: str
    message: str


@dataclass(frozen=True)
class Failure:
    """A failed task, or an unreachable node."""

    node: str
    role: str
    task: str
    message: str


def inventory(spec: SiteSpec, site_folder: Path, roles: Mapping[str, Mapping[str, RoleVariables]]) -> dict[str, Any]:
    """Return an Ansible inventory as plain values.

    Args:
        roles: variables by node and role. Roles run in the order of the mapping.
    """
    known_hosts = (site_folder / spec.access.known_hosts_file).resolve()
    # Quoted for Ansible and for ssh, in which a blank ends a name and % begins a token.
    known = str(known_hosts).replace("%", "%%")
    options = ["-o", f'UserKnownHostsFile="{known}"', "-o", "StrictHostKeyChecking=yes", "-F", "/dev/null"]
    return {
        "all": {
            "vars": {
                "ansible_user": spec.access.user,
                "ansible_port": spec.access.port,
                "ansible_ssh_private_key_file": str((site_folder / spec.access.key_file).resolve()),
                "ansible_python_interpreter": "/usr/bin/python3",
                "ansible_ssh_common_args": shlex.join(options),
                "sovctl_planned": True,  # roles restart services, because the plan contains only changes
            },
            "hosts": {
                name: {
                    "ansible_host": str(spec.node(name).address),
                    "sovctl_roles": list(of_node),
                    **{name: value for variables in of_node.values() for name, value in variables.items()},
                }
                for name, of_node in roles.items()
            },
        }
    }


def inventory_text(plan_inventory: Mapping[str, Any]) -> str:
    """Return an inventory as YAML, in which texts with a brace are tagged `!unsafe`."""
    text: str = yaml.dump(_marked(plan_inventory), Dumper=_InventoryDumper, sort_keys=False, width=1 << 30)
    return text


class _Unsafe(str):
    """A text that Ansible does not evaluate as a template."""

    __slots__ = ()


class _InventoryDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """YAML dumper that writes `_Unsafe`."""


_InventoryDumper.add_representer(_Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text), style='"'))


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _marked(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_marked(each) for each in value]
    return _Unsafe(value) if isinstance(value, str) and "{" in value else value


def run(
    plan_inventory: Mapping[str, Any],
    folder: Path,
    *,
    lock: int,
    on_event: Callable[[Event], None],
) -> list[Failure]:
    """Run `playbooks/apply.yml` and return the failures; empty if all tasks succeeded.

    On Ctrl-C, Ansible receives SIGINT and ends its tasks; then KeyboardInterrupt is raised.

    Args:
        folder: of the inventory and Ansible's temporary files.
        lock: descriptor of the site's lock. If this process is killed, the lock is held until all processes of
            Ansible have ended, which takes less than a second.
        on_event: called for each event, in the order of the events.
    """
    folder.mkdir(parents=True, exist_ok=True)
    inventory_file = folder / "inventory.yaml"
    write_atomic(inventory_file, inventory_text(plan_inventory), mode=0o600)
    write_atomic(folder / "ansible.cfg", CONFIGURATION)
    playbook = PACKAGE / "playbooks" / "apply.yml"
    # A folder for this run only, so that no open connection of another site with the same addresses is used.
    sockets = tempfile.mkdtemp(prefix="sovctl-ssh-")
    command = [
        sys.executable,
        "-P",
        "-W",
        "ignore",
        "-m",
        "ansible",
        "playbook",
        "-i",
        str(inventory_file),
        str(playbook),
    ]
    failures, other = [], []
    with running(command, folder=Path(sockets), env=_environment(folder, sockets), pass_fds=(lock,)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = _parse(line)
            if event is None:
                other.append(line.strip())
                continue
            if event.event in ("failed", "unreachable"):
                failures.append(Failure(event.node, event.role, event.task, event.message))
            on_event(event)
    code = process.returncode
    if code != 0 and not failures:
        text = " ".join(part for part in other if part)[-800:]
        failures.append(Failure("all", "", "start Ansible", text or f"exit code {code}"))
    return failures


def _environment(folder: Path, sockets: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHONWARNINGS"))}
    return kept | {
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_ROLES_PATH": str(PACKAGE / "roles"),
        "ANSIBLE_CALLBACK_PLUGINS": str(PLUGINS),
        "ANSIBLE_STDOUT_CALLBACK": "sovctl_events",
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_SSH_TRANSFER_METHOD": "piped",  # copy files through the open connection instead of a new sftp session
        "ANSIBLE_FORKS": str(FORKS),
        "ANSIBLE_TIMEOUT": "30",
        "ANSIBLE_SSH_ARGS": " ".join(f"-o {option}" for option in SSH_OPTIONS),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_NOCOLOR": "True",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
        "LC_ALL": "C.UTF-8",
    }


def _parse(line: str) -> Event | None:
    try:
        value = json.loads(line)
        return Event(**{name: str(value[name]) for name in ("event", "node", "role", "task", "message")})
    except (ValueError, KeyError, TypeError):
        return None
