"""Ansible as the hands: it gets an inventory with exactly the planned roles and items, and tells what it does.

Its own configuration files are not read, so that a site behaves the same under every operator's home. Values are
values: what looks like a template in site.yaml is never evaluated, neither here nor on a node.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder

from ..spec import SiteSpec

PACKAGE = package_folder()
PLUGINS = package_folder("engine/apply/ansible_plugins")
FORKS = 32
CONFIGURATION = """\
# Written by sovctl apply: nobody's own configuration shapes an apply.
[defaults]
# Seconds between looks for a result. Ansible's own 0.001 takes a tenth of a core while it waits.
internal_poll_interval = 0.02
"""
"""What Ansible takes from a file only; the rest is in its environment."""

RoleVariables = Mapping[str, list[dict[str, Any]]]
"""`<role>_items`: what to set up; `<role>_orphans`: what must go. One entry per change."""


@dataclass(frozen=True)
class Event:
    """One task start or result, as the callback plugin prints it."""

    event: str
    node: str
    role: str
    task: str
    message: str


@dataclass(frozen=True)
class Failure:
    """Why a node did not get through its roles."""

    node: str
    role: str
    task: str
    message: str


def inventory(spec: SiteSpec, site_folder: Path, roles: Mapping[str, Mapping[str, RoleVariables]]) -> dict[str, Any]:
    """An Ansible inventory.

    Args:
        roles: by node: role -> its variables; dict order is the order in which roles run.
    """
    known_hosts = (site_folder / spec.access.known_hosts_file).resolve()
    # Quoted twice, for Ansible and for ssh, which takes a blank for the end of a name and % for a token.
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
    """An inventory as a file, in which every text that could be a template says that it is none."""
    text: str = yaml.dump(_marked(plan_inventory), Dumper=_InventoryDumper, sort_keys=False, width=1 << 30)
    return text


class _Unsafe(str):
    """A text that Ansible must not evaluate."""

    __slots__ = ()


class _InventoryDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Knows such texts."""


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
    """Run `playbooks/apply.yml`; returns what failed, empty when all went well.

    Ctrl-C is passed on: Ansible ends its tasks, then KeyboardInterrupt goes on.

    Args:
        folder: for the inventory and Ansible's own scratch files.
        lock: descriptor of the site's lock; Ansible holds it too. When we are killed it goes on to the end of its
            task, and until then nobody else may change the site.
    """
    folder.mkdir(parents=True, exist_ok=True)
    inventory_file = folder / "inventory.yaml"
    write_atomic(inventory_file, inventory_text(plan_inventory), mode=0o600)
    write_atomic(folder / "ansible.cfg", CONFIGURATION)
    playbook = PACKAGE / "playbooks" / "apply.yml"
    # Of this run alone: a connection that another site left open under the same address must never be used.
    sockets = tempfile.mkdtemp(prefix="sovctl-ssh-")
    process = subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", "ansible", "playbook", "-i", str(inventory_file), str(playbook)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(folder, sockets),
        start_new_session=True,
        pass_fds=(lock,),
    )
    assert process.stdout is not None
    failures, other = [], []
    try:
        for line in process.stdout:
            event = _parse(line)
            if event is None:
                other.append(line.strip())
                continue
            if event.event in ("failed", "unreachable"):
                failures.append(Failure(event.node, event.role, event.task, event.message))
            on_event(event)
        code = process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself, just now
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
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
        "ANSIBLE_SSH_TRANSFER_METHOD": "piped",  # a file through the connection that is open, not through a new sftp
        "ANSIBLE_FORKS": str(FORKS),
        "ANSIBLE_TIMEOUT": "30",
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=15s",
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
