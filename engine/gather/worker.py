"""Process that runs the probe on nodes: `python -m sovctl.engine.gather.worker < job.json`.

Prints one JSON line for each node: {"node", "capture"} or {"node", "error": cause, "message"}. It is a separate process
because pyinfra needs gevent, which must replace Python's sockets before they are imported.
"""

from gevent import monkey

from sovctl.support.package_files import package_folder
from sovctl.support.processes.scope import end_with_parent

monkey.patch_all()

import base64  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from paramiko import SSHException  # noqa: E402
from pyinfra.api import Config, FactBase, Inventory, State  # noqa: E402
from pyinfra.api.exceptions import ConnectError, PyinfraError  # noqa: E402

from ..spec.program_path import PROGRAM_PATH  # noqa: E402

SCRIPT = base64.b64encode((package_folder("engine/facts/probes") / "node_probe.py").read_bytes()).decode()

_LIMIT = 5
"""Limit of the whole probe, in timeouts of one command."""

# Text in messages of pyinfra and paramiko, its cause, and sovctl's message; the first match counts.
CAUSES = (
    ("Authentication", "authentication", "the key was rejected"),
    ("host key", "host-key", "its host key is not the expected one"),
    ("No host key", "host-key", "its host key is not in the known hosts file"),
    ("timed out", "unreachable", "timed out"),
    ("No route", "unreachable", "no route to host"),
    ("refused", "unreachable", "connection to the ssh port refused"),
    (
        "Unable to connect to port",
        "unreachable",
        "connection to the ssh port refused",
    ),  # paramiko, if all addresses refuse
)


class NodeProbe(FactBase):  # type: ignore[misc] # pyinfra is followed as Any
    """Runs the probe and parses its JSON.

    The program is an argument and the request is its standard input, because an argument has at most 128 KiB
    (MAX_ARG_STRLEN, execve(2)) and a request grows with site.yaml.
    """

    def command(self) -> str:
        return f"/usr/bin/env PATH={PROGRAM_PATH} python3 -c 'import base64; exec(base64.b64decode(\"{SCRIPT}\"))'"

    def process(self, output: list[str]) -> Any:
        return json.loads(output[-1])


def classify(message: str) -> tuple[str, str]:
    """Return the cause of a failed connection and a message for the operator."""
    for text, cause, words in CAUSES:
        if text.lower() in message.lower():
            return cause, words
    return "unreachable", "ssh failed"


def _probe(host: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        host.connect(show_errors=False, raise_exceptions=True)
    except ConnectError as error:
        cause, words = classify(str(error))
        return {"error": cause, "message": words}
    except (PyinfraError, SSHException):  # raised before connecting: the key file is invalid or encrypted
        return {"error": "key", "message": "the key file is unreadable"}
    try:
        capture = host.get_fact(
            NodeProbe, _stdin=json.dumps(request), _sudo=True, _timeout=_LIMIT * request["timeout_s"]
        )
    except PyinfraError:  # FactError, and for the last host that fails: no hosts remaining
        return _failed_probe(host)
    except (ValueError, IndexError, OSError, EOFError):
        return {"error": "probe", "message": "the probe returned no capture"}
    if not isinstance(capture, dict) or "commands" not in capture:
        return {"error": "probe", "message": "the probe returned no capture"}
    return {"capture": capture}


def _failed_probe(host: Any) -> dict[str, str]:
    """Ask the node whether sudo is the cause, because pyinfra's error does not contain what the node printed."""
    for command, message in (
        ("command -v sudo", "sudo is not installed"),
        ("sudo -n true", "sudo asks for a password"),
    ):
        works, _ = host.run_shell_command(command)
        if not works:
            return {"error": "sudo", "message": message}
    return {"error": "probe", "message": "the probe failed"}


def main() -> None:
    """Read the job from standard input, print answers to standard output."""
    logging.disable(logging.CRITICAL)
    end_with_parent()
    job = json.load(sys.stdin)
    nodes = {node["name"]: node for node in job["nodes"]}
    inventory = Inventory(
        (
            [(name, {"ssh_hostname": node["address"]}) for name, node in nodes.items()],
            {
                "ssh_user": job["user"],
                "ssh_port": job["port"],
                "ssh_key": job["key_file"],
                "ssh_known_hosts_file": job["known_hosts_file"],
                "ssh_strict_host_key_checking": "yes",
                "ssh_config_file": "/dev/null",
            },
        )
    )
    state = State(inventory, Config(CONNECT_TIMEOUT=job["connect_timeout_s"]))

    def work(host: Any) -> None:
        answer = {"node": host.name, **_probe(host, nodes[host.name]["request"])}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    gevent.joinall([gevent.spawn(work, host) for host in inventory])
    for host in inventory:
        host.disconnect()
    state.is_executing = False


if __name__ == "__main__":
    main()
