"""The process that carries probes to nodes: `python -m sovctl.engine.gather.worker < job.json`.

Prints one JSON line per node as it answers: {"node", "capture"} or {"node", "error": kind, "message"}. Separate from
the rest because pyinfra's parallelism needs gevent to replace Python's sockets before anything imports them.
"""

from gevent import monkey

from sovctl.support.package_files import package_folder

monkey.patch_all()

import base64  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from paramiko import SSHException  # noqa: E402
from pyinfra.api import Config, FactBase, Inventory, State  # noqa: E402
from pyinfra.api.exceptions import ConnectError, FactError, PyinfraError  # noqa: E402

SCRIPT = base64.b64encode((package_folder("engine/facts") / "node_probe.py").read_bytes()).decode()

# Words in pyinfra's and paramiko's messages, and the kind of refusal they mean; the first that matches.
KINDS = (
    ("Authentication", "authentication", "our key was refused"),
    ("host key", "host-key", "its host key is not the expected one"),
    ("No host key", "host-key", "its host key is not in the known hosts file"),
    ("timed out", "unreachable", "no answer in time"),
    ("No route", "unreachable", "no route to it"),
    ("refused", "unreachable", "nothing listens on the ssh port"),
    ("Unable to connect to port", "unreachable", "nothing listens on the ssh port"),  # paramiko, when all refuse
)


class NodeProbe(FactBase):  # type: ignore[misc] # pyinfra is followed as Any
    """One probe, one JSON document."""

    def command(self, request: str) -> str:
        return f"echo {SCRIPT} | base64 -d | python3 - {request}"

    def process(self, output: list[str]) -> Any:
        return json.loads(output[-1])


def classify(message: str) -> tuple[str, str]:
    """The kind of refusal and our words for it."""
    for word, kind, words in KINDS:
        if word.lower() in message.lower():
            return kind, words
    return "unreachable", "ssh failed"


def _probe(host: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        host.connect(show_errors=False, raise_exceptions=True)
    except ConnectError as error:
        kind, words = classify(str(error))
        return {"error": kind, "message": words}
    except (PyinfraError, SSHException):  # raised before anything is sent: the key file is no key, or is encrypted
        return {"error": "key", "message": "our key cannot be read"}
    try:
        encoded = base64.b64encode(json.dumps(request).encode()).decode()
        capture = host.get_fact(NodeProbe, request=encoded, _sudo=True, _timeout=120)
    except FactError as error:
        if "sudo" in str(error):
            return {"error": "sudo", "message": "sudo asks for a password"}
        return {"error": "probe", "message": "the probe failed on it"}
    except (ValueError, IndexError, OSError, EOFError):
        return {"error": "probe", "message": "the probe gave no answer"}
    if not isinstance(capture, dict) or "commands" not in capture:
        return {"error": "probe", "message": "the probe gave no answer"}
    return {"capture": capture}


def main() -> None:
    """Read the job from standard input, answer on standard output."""
    logging.disable(logging.CRITICAL)
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
