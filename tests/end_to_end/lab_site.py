"""One site on a real lab, driven by the commands a person types; and what the tests ask of its nodes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sovctl.engine.lab.layout import Lab, node_named
from sovctl.engine.lab.lifecycle import leak_search as search
from sovctl.engine.lab.node.shell import ssh_command
from sovctl.engine.lab.services import chat as client

NAME = "sovsite"
GATEWAY, GATEWAY_PORT = "10.77.0.21", 8443
POOL_UNIT = "sovctl-pool-chat"
POOL_LIMIT_S = 300.0  # a restart takes 25 s on two quiet cores; the rest is for a machine that does other things too
COMMAND_LIMIT_S = 900.0  # the first apply takes 110 s on two quiet cores
POLL_S = 0.3

IBAN, EMAIL = "DE89370400440532013000", "anna.schmidt@example.com"
"""Specimens: the IBAN that Germany's documentation uses, and an address under a name reserved for examples."""
SENT = f"Please confirm the transfer to {IBAN} and write to {EMAIL} today."

# Asks the gateway from inside the lab: what to ask and the key's path come in on standard input. Status 0: no answer.
_ASK = """
import http.client, json, ssl, sys
job = json.load(sys.stdin)
context = ssl.create_default_context(cafile=job["ca_file"])
connection = http.client.HTTPSConnection(job["host"], job["port"], context=context, timeout=120)
headers = {"content-type": "application/json", "authorization": "Bearer " + open(job["key_file"]).read().strip()}
try:
    connection.request(job["method"], job["path"], json.dumps(job["body"]), headers)
    response = connection.getresponse()
    print(json.dumps([response.status, response.getheader("x-sovctl-route") or "", json.loads(response.read())]))
except OSError:
    print(json.dumps([0, "", {}]))
"""

Answer = subprocess.CompletedProcess[str]


def sovctl_command(*arguments: str) -> list[str]:
    """The words that run our `sovctl`."""
    return [sys.executable, "-m", "sovctl.cli", *arguments]


def wait_for(what: str, condition: Callable[[], bool], *, limit_s: float) -> None:
    """Return when `condition` holds; fail when it does not in time."""
    pause = threading.Event()
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until, f"expected {what} within {limit_s:.0f} s"
        pause.wait(POLL_S)


@dataclass
class LabSite:
    """A lab of its own, planned and applied once by the commands.

    Args:
        folder: of site.yaml.
        first_plan: the signed body of the first plan.
        applied: what the first apply said.
    """

    folder: Path
    first_plan: dict[str, Any] = field(default_factory=dict)
    applied: Answer | None = None
    lab: Lab = field(default_factory=lambda: Lab(NAME))

    @property
    def file(self) -> Path:
        """The site description."""
        return self.folder / "site.yaml"

    @property
    def state(self) -> Path:
        """What this controller remembers of the site."""
        return self.folder / ".sovctl"

    def make(self) -> None:
        """A fresh lab, one plan, one apply."""
        self.down()
        self.succeed("lab", "up", "--name", NAME, "--directory", str(self.folder))
        self.succeed("plan", str(self.file))
        self.first_plan = json.loads((self.state / "plans" / "plan.json").read_text())["plan"]
        self.applied = self.run("apply", str(self.file), "--yes")

    def down(self) -> None:
        """Leave nothing of the lab."""
        self.succeed("lab", "down", "--name", NAME)

    def run(self, *arguments: str) -> Answer:
        """One `sovctl` to its end."""
        return subprocess.run(
            sovctl_command(*arguments), capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )

    def succeed(self, *arguments: str) -> Answer:
        """One `sovctl` that must end with 0."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"sovctl {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
        return done

    def run_json(self, *arguments: str, accept: Sequence[int] = (0,)) -> Any:
        """The one JSON document a `sovctl` prints."""
        done = self.run(*arguments, "--json")
        assert done.returncode in accept, f"sovctl {arguments[0]} ended with {done.returncode}: {done.stderr}"
        return json.loads(done.stdout)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A `sovctl` that goes on while the test does; for its end, see `ended`."""
        return subprocess.Popen(sovctl_command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def changes(self) -> dict[str, dict[str, Any]]:
        """What a plan made now would change, by id; the plan is saved."""
        return {change["id"]: change for change in self.run_json("plan", str(self.file))["changes"]}

    def apply(self, *options: str) -> Answer:
        """Carry out the saved plan; must end with 0."""
        return self.succeed("apply", str(self.file), "--yes", *options)

    def mend(self) -> None:
        """Whatever a failed test left: plan, apply, nothing is left."""
        if self.changes():
            self.apply()
        assert not self.changes()

    def on(self, node: str, command: str, *, accept: Sequence[int] = (0,), limit_s: float = 120) -> str:
        """What a shell command prints on a node, over ssh."""
        words = ssh_command(self.lab, node_named(node), [command])
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit_s, check=False)
        assert done.returncode in accept, f"on {node}: {command}: ended with {done.returncode}: {done.stderr}"
        return done.stdout.strip()

    def answers(self, node: str) -> bool:
        """True when a node can be logged in to."""
        words = ssh_command(self.lab, node_named(node), ["true"])
        return (
            subprocess.run(
                [*words[:-2], "-o", "ConnectTimeout=3", *words[-2:]], capture_output=True, check=False
            ).returncode
            == 0
        )

    def journal(self) -> list[dict[str, Any]]:
        """Events of the newest apply; a last line that is being written is left out."""
        lines = self.newest_journal().read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def newest_journal(self) -> Path:
        """Where they are."""
        return max((self.state / "journal").glob("*.jsonl"))

    @contextmanager
    def edited(self, change: Callable[[dict[str, Any]], None]) -> Iterator[None]:
        """site.yaml with a change of values, as it was again afterwards."""
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
        """A site.yaml beside the real one, with a change of values; the real one and its state are not touched."""
        values = yaml.safe_load(self.file.read_text())
        change(values)
        path = self.folder / "variant.yaml"
        path.write_text(yaml.safe_dump(values, sort_keys=False))
        try:
            yield path
        finally:
            path.unlink()

    def copy_state(self, target: Path) -> Path:
        """The state somewhere else, to be damaged."""
        shutil.copytree(self.state, target, symlinks=True)
        return target

    def chat(self, model: str, text: str, *, stream: bool) -> dict[str, str]:
        """One user message by the openai client: {"text", "route"}."""
        return client.chat(
            NAME,
            base_url=f"https://{GATEWAY}:{GATEWAY_PORT}/v1",
            ca_file=self.state / "pki" / "ca.pem",
            key_file=self.folder / "secrets" / "client-key",
            model=model,
            text=text,
            stream=stream,
        )

    def post(self, model: str, content: Any) -> tuple[int, str, dict[str, Any]]:
        """One chat with any content: status, route, body; status 0 when nobody answered."""
        body = {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": 160}
        return self._ask("POST", "/v1/chat/completions", body)

    def gateway_is_ready(self) -> bool:
        """What the gateway says of itself; False when it says nothing."""
        return self._ask("GET", "/readyz", None)[0] == 200

    def _ask(self, method: str, path: str, body: Any) -> tuple[int, str, dict[str, Any]]:
        job = {
            "host": GATEWAY,
            "port": GATEWAY_PORT,
            "ca_file": str(self.state / "pki" / "ca.pem"),
            "key_file": str(self.folder / "secrets" / "client-key"),
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
        assert done.returncode == 0, f"the question could not be asked: {done.stderr.strip().splitlines()[-1:]}"
        status, route, answer = json.loads(done.stdout)
        return status, route, answer

    def captured(self) -> list[dict[str, Any]]:
        """All that reached the host outside."""
        found: list[dict[str, Any]] = self.run_json("lab", "capture", "--name", NAME)
        return found

    def searched(self, values: Sequence[str]) -> list[search.Place]:
        """Every place where raw values could have been left, searched for them."""
        return [*search.search_controller(NAME, self.folder, values), *search.search_nodes(NAME, values)]

    def wait_for_pool(self) -> None:
        """Return when the pool completes a prompt: the probe's own question, counted nowhere.

        It waits on the node: to log in for every question takes the CPU that the pool would start with.
        """
        probe = "/usr/local/lib/sovctl/probe --config /etc/sovctl/pools/chat.probe.json"
        command = f"sudo {probe} --unit {POOL_UNIT} --wait {POOL_LIMIT_S:.0f}"
        said = self.on("n1", command, accept=(0, 1), limit_s=POOL_LIMIT_S + 60)
        assert json.loads(said)["ok"], f"expected the pool to answer within {POOL_LIMIT_S:.0f} s: {said}"

    def processes(self, node: str) -> set[int]:
        """Numbers of all processes of a node, as the node counts."""
        return {int(word) for word in self.on(node, "ps -e -o pid=").split()}

    def workers(self) -> list[int]:
        """Processes of the pool's ranks on n1, as the node counts; sorted."""
        return sorted(int(word) for word in self.on("n1", "pgrep -f '^VLLM::Worker' || true").split())

    def unit(self, node: str, unit: str, name: str) -> str:
        """One property of a systemd unit."""
        return self.on(node, f"systemctl show --property {name} --value {unit}")


def ended(process: subprocess.Popen[str], *, limit_s: float = COMMAND_LIMIT_S) -> tuple[int, str]:
    """Exit code and words of a `sovctl` that was started."""
    said, _ = process.communicate(timeout=limit_s)
    return process.returncode, said
