"""Runs the steps of `sovctl lab demo`, from `lab up` to a verified report.

Every step runs `sovctl` in a process of its own; its JSON output is the source of the summary (`views/demo.py`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sovctl.engine.lab.lifecycle.leak_search import Place, search_controller, search_nodes
from sovctl.engine.lab.services.chat import chat
from sovctl.support.errors import ExitCode, SovctlError

from . import output

GATEWAY_URL = "https://10.77.0.21:8443/v1"
IBAN, EMAIL = "DE89370400440532013000", "anna.schmidt@example.com"
"""Sample identifiers: the German example IBAN of the IBAN registry, and an address in a reserved domain (RFC 2606)."""
SENT = f"Please confirm the transfer to {IBAN} and write to {EMAIL} today."


@dataclass
class Demo:
    """Results of the steps."""

    name: str
    folder: Path
    times_s: dict[str, float] = field(default_factory=dict)
    first_plan: dict[str, Any] = field(default_factory=dict)
    second_plan: dict[str, Any] = field(default_factory=dict)
    verify: dict[str, Any] = field(default_factory=dict)
    reports: list[dict[str, Any]] = field(default_factory=list)
    chats: list[tuple[str, str, bool]] = field(default_factory=list)
    seen_outside: str = ""
    places: list[Place] = field(default_factory=list)
    audit_ok: bool = False

    @property
    def problems(self) -> list[str]:
        """Failures; empty if the demo succeeded."""
        found = []
        if self.second_plan.get("changes"):
            found.append("the second plan is not empty")
        if any(not is_same for _, _, is_same in self.chats):
            found.append("a client received a text that differs from its own")
        found += [f"{place.hits} raw values in {place.name}" for place in self.places if place.hits]
        found += [f"{place.name} could not be searched" for place in self.places if place.files == 0]
        if any(word in self.verify.get("counts", {}) for word in ("FAIL", "UNKNOWN")):
            found.append("verify has verdicts that are FAIL or UNKNOWN")
        if not self.audit_ok:
            found.append("the ledger or the report does not verify")
        return found


def run(name: str, folder: Path, *, engine: str | None = None) -> Demo:
    """Run the demo in a new lab. `folder` is recreated; the lab stays up.

    Args:
        engine: inference engine of the lab; None for its default.

    Raises:
        SovctlError: a step failed; its message was already printed.
    """
    demo = Demo(name, folder)
    shutil.rmtree(folder, ignore_errors=True)
    site = str(folder / "site.yaml")
    with _step(demo, "lab", "start the nodes, and a cloud outside the firewall"):
        _sovctl("lab", "down", "--name", name)
        _sovctl("lab", "up", "--name", name, "--directory", str(folder), *(["--engine", engine] if engine else []))
    with _step(demo, "plan", "list the changes on every node"):
        _sovctl("plan", site)
        demo.first_plan = _plan(folder)
    with _step(demo, "apply", "apply in waves; each wave is verified before the next"):
        _sovctl("apply", site, "--yes")
    with _step(demo, "chat", "send a request through the gateway with the OpenAI client"):
        _chat(demo)
    with _step(demo, "plan again", "confirm that the plan is empty"):
        demo.second_plan = _sovctl_json("plan", site)
    with _step(demo, "verify", "run every check on every node over SSH"):
        demo.verify = _sovctl_json("verify", site, accept=(0, 1))
    with _step(demo, "report", "write the report with evidence and proofs"):
        demo.reports = _sovctl_json("report", site)
        done = subprocess.run(
            [*_command(), "audit", "verify", str(folder / ".sovctl")], capture_output=True, check=False
        )
        demo.audit_ok = done.returncode in (ExitCode.OK, ExitCode.UNPROVEN)  # the demo keeps no checkpoint elsewhere
    with _step(demo, "search", "search all files for the IBAN and the e-mail address"):
        values = [IBAN, EMAIL]
        demo.places = [*search_controller(name, folder, values), *search_nodes(name, values)]
    return demo


def _chat(demo: Demo) -> None:
    common = {
        "base_url": GATEWAY_URL,
        "ca_file": demo.folder / ".sovctl" / "pki" / "ca.pem",
        "key_file": demo.folder / "secrets" / "client-key",
        "text": SENT,
    }
    for model, stream in (("assistant", True), ("assistant", False), ("private", True)):
        answer = chat(demo.name, model=model, stream=stream, **common)  # type: ignore[arg-type]
        demo.chats.append((model, answer["route"], answer["text"] == SENT))
    captured = _sovctl_json("lab", "capture", "--name", demo.name)
    bodies = [json.loads(each["body"]) for each in captured if each["kind"] == "http" and each.get("body")]
    texts = [body["messages"][-1]["content"] for body in bodies if body.get("messages")]
    if not texts:
        raise SovctlError("the cloud received no chat request")
    demo.seen_outside = texts[-1]


@contextmanager
def _step(demo: Demo, name: str, what: str) -> Iterator[None]:
    output.info(f"\n{output.style(name, 'bold', sys.stderr)}: {what}")
    started = time.monotonic()
    yield
    demo.times_s[name] = time.monotonic() - started
    output.info(f"{name}: {demo.times_s[name]:.1f} s")


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", "sovctl.cli"]


def _sovctl(*arguments: str) -> None:
    output.info(output.style(f"$ sovctl {' '.join(arguments)}", "cyan", sys.stderr))
    done = subprocess.run([*_command(), *arguments], check=False)
    if done.returncode != 0:
        raise SovctlError(f"sovctl {arguments[0]} exited with code {done.returncode}")


def _sovctl_json(*arguments: str, accept: tuple[int, ...] = (0,)) -> Any:
    output.info(output.style(f"$ sovctl {' '.join(arguments)}", "cyan", sys.stderr))
    done = subprocess.run([*_command(), *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in accept:
        raise SovctlError(f"sovctl {arguments[0]} exited with code {done.returncode}")
    return json.loads(done.stdout)


def _plan(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / ".sovctl" / "plans" / "plan.json").read_text())["plan"]
    return body
