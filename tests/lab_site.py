"""The lab of a test run, and the site on it, controlled by `sovctl` commands and ssh.

All lab tests share one lab. A test file requests one of its two states: nodes without configuration, or a site that was
planned and applied. A request for the other state rebuilds the lab.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from sovctl.engine.lab.layout import Lab, node_named
from sovctl.engine.lab.lifecycle import leak_search as search
from sovctl.engine.lab.node.shell import ssh_command
from sovctl.engine.lab.services import chat as client

NAME = os.environ.get("SOVCTL_TEST_LAB", "sovtest")
"""Name of the lab; another name permits a second run on the same machine."""
NOWHERE = "10.77.0.99"
"""An address of the lab's network that no machine has."""
GATEWAY, GATEWAY_PORT = "10.77.0.21", 8443
POOL_UNIT = "sovctl-pool-chat"
POOL_LIMIT_S = 300.0  # a restart takes 25 s on two quiet cores; the rest is for a machine that does other things too
COMMAND_LIMIT_S = 900.0  # the first apply takes 110 s on two quiet cores
POLL_S = 0.3

IBAN, EMAIL = "DE89370400440532013000", "anna.schmidt@example.com"
"""Sample identifiers: the German example IBAN of the IBAN registry, and an address in a reserved domain (RFC 2606)."""
SENT = f"Please confirm the transfer to {IBAN} and write to {EMAIL} today."

# Sends a request to the gateway inside the lab. Reads the request from standard input. Status 0: no answer.
_ASK = """
import http.client, json, ssl, sys
job = json.load(sys.stdin)
context = ssl.create_default_context(cafile=job["ca_file"])
connection = http.client.HTTPSConnection(job["host"], job["port"], context=context, timeout=120)
headers = {"content-type": "application/json", "authorization": "Bearer " + open(job["key_file"]).read().strip()}
headers |= job["headers"]
try:
    connection.request(job["method"], job["path"], json.dumps(job["body"]), headers)
    response = connection.getresponse()
    print(json.dumps([response.status, response.getheader("x-sovctl-route") or "", json.loads(response.read())]))
except OSError:
    print(json.dumps([0, "", {}]))
"""

Answer = subprocess.CompletedProcess[str]


def sovctl_command(*arguments: str) -> list[str]:
    """Return the command line of `sovctl`."""
    return [sys.executable, "-m", "sovctl.cli", *arguments]


def wait_for(what: str, condition: Callable[[], bool], *, limit_s: float) -> None:
    """Wait until `condition` is true; fail after `limit_s` seconds."""
    pause = threading.Event()
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until, f"expected {what} within {limit_s:.0f} s"
        pause.wait(POLL_S)


def run(*arguments: str) -> Answer:
    """Run a `sovctl` command."""
    return subprocess.run(
        sovctl_command(*arguments), capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
    )


def succeed(*arguments: str) -> Answer:
    """Run a `sovctl` command; fail if its exit code is not 0."""
    done = run(*arguments)
    assert done.returncode == 0, f"sovctl {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
    return done


@dataclass
class LabSite:
    """A site on the lab, planned and applied by the commands.

    Args:
        folder: of site.yaml.
        first_plan: the signed body of the first plan.
        applied: result of the first apply.
    """

    folder: Path
    first_plan: dict[str, Any] = field(default_factory=dict)
    applied: Answer | None = None
    lab: Lab = field(default_factory=lambda: Lab(NAME))

    @property
    def file(self) -> Path:
        """Path of site.yaml."""
        return self.folder / "site.yaml"

    @property
    def state(self) -> Path:
        """State folder of the site."""
        return self.folder / ".sovctl"

    def provision(self) -> None:
        """Plan and apply the site."""
        self.succeed("plan", str(self.file))
        self.first_plan = json.loads((self.state / "plans" / "plan.json").read_text())["plan"]
        self.applied = self.run("apply", str(self.file), "--yes")

    def run(self, *arguments: str) -> Answer:
        """Run a `sovctl` command."""
        return run(*arguments)

    def succeed(self, *arguments: str) -> Answer:
        """Run a `sovctl` command; fail if its exit code is not 0."""
        return succeed(*arguments)

    def run_json(self, *arguments: str, accept: Sequence[int] = (0,)) -> Any:
        """Return the JSON document that a `sovctl` command prints."""
        done = self.run(*arguments, "--json")
        assert done.returncode in accept, f"sovctl {arguments[0]} ended with {done.returncode}: {done.stderr}"
        return json.loads(done.stdout)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a `sovctl` command in the background; `ended` waits for it."""
        return subprocess.Popen(sovctl_command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def changes(self) -> dict[str, dict[str, Any]]:
        """Make a plan, which is saved, and return its changes by id."""
        return {change["id"]: change for change in self.run_json("plan", str(self.file))["changes"]}

    def apply(self, *options: str) -> Answer:
        """Apply the saved plan; fail if the exit code is not 0."""
        return self.succeed("apply", str(self.file), "--yes", *options)

    def mend(self) -> None:
        """Restore the planned state after changes of a test."""
        if self.changes():
            self.apply()
        assert not self.changes()

    def on(self, node: str, command: str, *, accept: Sequence[int] = (0,), limit_s: float = 120) -> str:
        """Run a shell command on a node over ssh, and return its standard output."""
        words = ssh_command(self.lab, node_named(node), [command])
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit_s, check=False)
        assert done.returncode in accept, f"on {node}: {command}: ended with {done.returncode}: {done.stderr}"
        return done.stdout.strip()

    def answers(self, node: str) -> bool:
        """Return whether an ssh login to a node succeeds."""
        words = ssh_command(self.lab, node_named(node), ["true"])
        return (
            subprocess.run(
                [*words[:-2], "-o", "ConnectTimeout=3", *words[-2:]], capture_output=True, check=False
            ).returncode
            == 0
        )

    def journal(self) -> list[dict[str, Any]]:
        """Return the events of the newest apply, without an incomplete last line."""
        lines = self.newest_journal().read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def newest_journal(self) -> Path:
        """Return the path of the newest journal."""
        return max((self.state / "journal").glob("*.jsonl"))

    @contextmanager
    def edited(self, change: Callable[[dict[str, Any]], None]) -> Iterator[None]:
        """Change values of site.yaml, and restore the file at the end."""
        before = self.file.read_bytes()
        values = yaml.safe_load(before)
        change(values)
        self.file.write_text(yaml.safe_dump(values, sort_keys=False))
        try:
            yield
        finally:
            self.file.write_bytes(before)

    @contextmanager
    def variant(self, change: Callable[[dict[str, Any]], None]) -> Iterator[Path]:
        """Write a changed copy of site.yaml, and remove it at the end. The site and its state do not change."""
        values = yaml.safe_load(self.file.read_text())
        change(values)
        path = self.folder / "variant.yaml"
        path.write_text(yaml.safe_dump(values, sort_keys=False))
        try:
            yield path
        finally:
            path.unlink()

    def swap_host_keys(self, folder: Path, *nodes: str) -> Path:
        """Write a known_hosts file in which these nodes have the host key of another node; return its path."""
        lines = (self.folder / "access" / "known_hosts").read_text().splitlines()
        keys = dict(line.split(" ", 1) for line in lines)
        names = list(keys)
        other = dict(zip(names, names[1:] + names[:1], strict=True))
        path = folder / "known_hosts"
        path.write_text(
            "".join(f"{each} {keys[other[each] if each.split(',')[0] in nodes else each]}\n" for each in names)
        )
        return path

    def copy_state(self, target: Path) -> Path:
        """Copy the state folder, so that a test can damage the copy."""
        shutil.copytree(self.state, target, symlinks=True)
        return target

    def chat(self, model: str, text: str, *, stream: bool) -> dict[str, str]:
        """Send one user message with the openai client; return {"text", "route"}."""
        return client.chat(
            NAME,
            base_url=f"https://{GATEWAY}:{GATEWAY_PORT}/v1",
            ca_file=self.state / "pki" / "ca.pem",
            key_file=self.folder / "secrets" / "client-key",
            model=model,
            text=text,
            stream=stream,
        )

    def post(self, model: str, content: Any, **fields: Any) -> tuple[int, str, dict[str, Any]]:
        """Send one chat with any content; return status, route and body. Status 0: no answer."""
        body = {"model": model, "messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 160}
        body |= fields
        return self.ask("POST", "/v1/chat/completions", body)

    def gateway_is_ready(self) -> bool:
        """Return whether /readyz of the gateway returns 200."""
        return self.ask("GET", "/readyz", None)[0] == 200

    def ask(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        key: str = "client-key",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[int, str, dict[str, Any]]:
        """Send a request to the gateway; return status, route and body. Status 0: no answer.

        Args:
            key: file of the client's API key in the folder of secrets.
        """
        job = {
            "host": GATEWAY,
            "port": GATEWAY_PORT,
            "ca_file": str(self.state / "pki" / "ca.pem"),
            "key_file": str(self.folder / "secrets" / key),
            "headers": dict(headers),
            "method": method,
            "path": path,
            "body": body,
        }
        done = subprocess.run(
            ["ip", "netns", "exec", NAME, sys.executable, "-c", _ASK],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"the request could not be sent: {done.stderr.strip().splitlines()[-1:]}"
        status, route, answer = json.loads(done.stdout)
        return status, route, answer

    def captured(self) -> list[dict[str, Any]]:
        """Return the requests that the host outside received."""
        found: list[dict[str, Any]] = self.run_json("lab", "capture", "--name", NAME)
        return found

    def searched(self, values: Sequence[str]) -> list[search.Place]:
        """Search the controller and all nodes for values."""
        return [*search.search_controller(NAME, self.folder, values), *search.search_nodes(NAME, values)]

    def wait_for_pool(self) -> None:
        """Wait until the pool completes the prompt of the probe.

        The probe waits on the node, because a login for each attempt would use CPU time that the pool needs to start.
        """
        probe = "/usr/local/lib/sovctl/probe --config /etc/sovctl/pools/chat.probe.json"
        command = f"sudo {probe} --unit {POOL_UNIT} --wait {POOL_LIMIT_S:.0f}"
        said = self.on("n1", command, accept=(0, 1), limit_s=POOL_LIMIT_S + 60)
        assert json.loads(said)["ok"], f"expected the pool to answer within {POOL_LIMIT_S:.0f} s: {said}"

    def processes(self, node: str) -> set[int]:
        """Return the PIDs of all processes of a node, in its PID namespace."""
        return {int(word) for word in self.on(node, "ps -e -o pid=").split()}

    def workers(self) -> list[int]:
        """Return the PIDs of the pool's workers on n1, sorted."""
        return sorted(int(word) for word in self.on("n1", "pgrep -f '^VLLM::Worker' || true").split())

    def unit(self, node: str, unit: str, name: str) -> str:
        """Return a property of a systemd unit."""
        return self.on(node, f"systemctl show --property {name} --value {unit}")


def move(values: dict[str, Any], name: str, address: str) -> None:
    """Change the address of a node in the values of a site.yaml."""
    for group in values["node_groups"]:
        for node in group["nodes"]:
            if node["name"] == name:
                node["address"] = address


def ended(process: subprocess.Popen[str], *, limit_s: float = COMMAND_LIMIT_S) -> tuple[int, str]:
    """Wait for a started `sovctl` command; return its exit code and output."""
    said, _ = process.communicate(timeout=limit_s)
    return process.returncode, said


class SharedLab:
    """The lab of a test run. It is rebuilt only if a test file requests its other state.

    Args:
        folder: for the folders that `sovctl lab up` writes.
    """

    def __init__(self, folder: Path) -> None:
        self.lab = Lab(NAME)
        self._folder = folder
        self._builds = 0
        self._unprovisioned: Path | None = None
        self._site: LabSite | None = None

    def unprovisioned(self) -> Path:
        """Return the folder that `up` wrote, of a lab whose nodes have no configuration of a site."""
        if self._unprovisioned is None:
            self._unprovisioned = self._rebuild()
        return self._unprovisioned

    def of_preset(self, preset: str) -> Path:
        """Return the folder of a new lab of another preset. The caller removes the lab by `down`."""
        return self._rebuild("--preset", preset)

    def site(self) -> LabSite:
        """Return the site of a lab that was planned and applied."""
        if self._site is None:
            site = LabSite(self._rebuild())
            site.provision()
            self._site = site
        return self._site

    def down(self) -> None:
        """Remove the lab, also one of an earlier run that crashed."""
        self._site = self._unprovisioned = None
        succeed("lab", "down", "--name", NAME)

    def _rebuild(self, *options: str) -> Path:
        self.down()
        self._builds += 1
        directory = self._folder / f"site-{self._builds}"
        succeed("lab", "up", "--name", NAME, "--directory", str(directory), *options)
        return directory
