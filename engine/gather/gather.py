"""Collects captures from all nodes concurrently, read-only.

pyinfra runs `facts/probes/node_probe.py` on each node, in a separate process (`worker`) because it needs the patched
sockets of gevent. A capture is raw tool output; `facts/node.py` parses it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError, NodeUnreachable, SovctlError

from ..spec import Node, SiteSpec
from .captures import Capture

# Hints by cause of failure (`worker.classify`).
REMEDIES = {
    "authentication": "check that the nodes accept access.key_file for access.user",
    "host-key": "the host key differs from access.known_hosts_file; find the reason before you change that file",
    "unreachable": "check that the node is up and the address is right; try ssh with the same key and address",
    "sudo": "install sudo on the node, and permit it to access.user without a password",
    "probe": "the probe did not print JSON; check python3 on the node",
}


@dataclass(frozen=True)
class Request:
    """Request to the probe of a node, as plain values.

    Args:
        commands: argv of read-only commands, by name.
        hash: globs of files; a capture has their SHA-256, mode and owner.
        read: files whose text the capture contains: configuration, never secrets.
        timeout_s: seconds after which a command counts as not measured.
    """

    commands: dict[str, list[str]]
    hash: tuple[str, ...]
    read: tuple[str, ...]
    timeout_s: int


@dataclass(frozen=True)
class Gathered:
    """Result of one gather.

    Args:
        captures: by node name.
        failures: (cause, message) of the nodes that could not be observed, by node name; causes are in `REMEDIES`.
    """

    captures: dict[str, Capture]
    failures: dict[str, tuple[str, str]]

    def require_all(self, spec: SiteSpec) -> dict[str, Capture]:
        """Return the captures.

        Raises:
            NodeUnreachable: one or more nodes failed; the message contains each with its cause.
        """
        if self.failures:
            raise _unreachable(self.failures, [node for _, node in spec.nodes()])
        return self.captures


def gather(
    spec: SiteSpec,
    site_folder: Path,
    requests: dict[str, Request],
    *,
    report: Callable[[str], None] = lambda _: None,
) -> Gathered:
    """Observe the nodes in `requests`.

    Args:
        site_folder: base of relative paths in `spec.access`.
        requests: by node name.
        report: called with a line of progress for each node.

    Raises:
        InputError: a file of `access` is unusable.
    """
    job = {
        "user": spec.access.user,
        "port": spec.access.port,
        "key_file": str(_existing(site_folder / spec.access.key_file, "access.key_file")),
        "known_hosts_file": str(_existing(site_folder / spec.access.known_hosts_file, "access.known_hosts_file")),
        "connect_timeout_s": spec.access.connect_timeout_s,
        "nodes": [
            {"name": name, "address": str(spec.node(name).address), "request": vars(request)}
            for name, request in requests.items()
        ],
    }
    captures: dict[str, Capture] = {}
    failures: dict[str, tuple[str, str]] = {}
    for answer in _run_worker(job):
        name = answer["node"]
        if "error" in answer:
            failures[name] = (answer["error"], answer["message"])
            report(f"{name}: {answer['message']}")
        else:
            captures[name] = {"node": name, "captured": _now(), **answer["capture"]}
            report(f"{name}: {len(answer['capture']['commands'])} probes")
    for name in requests:
        if name not in captures and name not in failures:
            failures[name] = ("unreachable", "no answer")
    if any(kind == "key" for kind, _ in failures.values()):
        raise InputError(
            "not a private key without passphrase",
            where="site.yaml: access.key_file",
            hint="RSA, ECDSA or Ed25519: ssh-keygen -t ed25519 -N '' -f FILE",
        )
    return Gathered(captures, failures)


def _run_worker(job: dict[str, Any]) -> list[dict[str, Any]]:
    process = subprocess.Popen(  # -P: import no module from the working directory
        [sys.executable, "-P", "-W", "ignore", "-m", "sovctl.engine.gather.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(json.dumps(job))
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        raise SovctlError(f"the gather worker exited with {process.returncode}: {err.strip().splitlines()[-1:]}")
    return [json.loads(text) for text in out.splitlines()]


def _unreachable(failures: dict[str, tuple[str, str]], nodes: list[Node]) -> NodeUnreachable:
    addresses = {node.name: node.address for node in nodes}
    lines = "; ".join(f"{name} ({addresses[name]}): {message}" for name, (_, message) in sorted(failures.items()))
    kinds = {kind for kind, _ in failures.values()}
    hint = REMEDIES[kinds.pop()] if len(kinds) == 1 else "fix each node separately; no node was changed"
    return NodeUnreachable(f"{len(failures)} of {len(nodes)} nodes cannot be observed: {lines}", hint=hint)


def _existing(path: Path, field: str) -> Path:
    if not path.is_file():
        raise InputError(f"no such file: {path}", where=f"site.yaml: {field}")
    return path.resolve()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
