"""Observe all nodes at once, read-only, and keep what they said.

pyinfra carries one probe to every node (`facts/node_probe.py`), in a process of its own because it needs gevent's
patched sockets. What comes back is a capture: raw tool output, saved as it is. Parsing is `facts/node.py`.
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

# What to try, by the kind of refusal (`worker.classify`).
REMEDIES = {
    "authentication": "is access.key_file the key that the nodes know, and access.user right?",
    "host-key": "the node is not the one in access.known_hosts_file; find out why before you change that file",
    "unreachable": "is the node up, and the address right? try: ssh with the same key and address",
    "sudo": "access.user needs password-less sudo on the node",
    "probe": "the node answered, but not in JSON; look at its python3",
}


@dataclass(frozen=True)
class Request:
    """What to look at on a node; plain values, the same for every node of a kind.

    Args:
        commands: name -> argv, read-only commands.
        hash: globs of files to describe by SHA-256, mode, owner.
        read: files whose text is wanted (configuration of ours, never secrets).
    """

    commands: dict[str, list[str]]
    hash: tuple[str, ...]
    read: tuple[str, ...]


def gather(
    spec: SiteSpec,
    site_folder: Path,
    requests: dict[str, Request],
    *,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Capture]:
    """Captures of every node named in `requests`.

    Args:
        site_folder: what relative paths in `spec.access` are relative to.
        requests: by node name.
        report: called with a line of progress as nodes answer.

    Raises:
        InputError: a file under `access` cannot be used.
        NodeUnreachable: one or more nodes did not answer; the message names every one of them and why.
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
            "expected a private key without a passphrase, got a file that cannot be read as one",
            where="site.yaml: access.key_file",
            hint="RSA, ECDSA or Ed25519: ssh-keygen -t ed25519 -N '' -f FILE",
        )
    if failures:
        raise _unreachable(failures, [node for _, node in spec.nodes()])
    return captures


def _run_worker(job: dict[str, Any]) -> list[dict[str, Any]]:
    process = subprocess.Popen(  # -P: a json.py that happens to lie where the operator stands is not ours
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
        raise SovctlError(f"the probe runner ended with {process.returncode}: {err.strip().splitlines()[-1:]}")
    return [json.loads(text) for text in out.splitlines()]


def _unreachable(failures: dict[str, tuple[str, str]], nodes: list[Node]) -> NodeUnreachable:
    addresses = {node.name: node.address for node in nodes}
    lines = "; ".join(f"{name} ({addresses[name]}): {message}" for name, (_, message) in sorted(failures.items()))
    kinds = {kind for kind, _ in failures.values()}
    hint = REMEDIES[kinds.pop()] if len(kinds) == 1 else "mend each node by itself; nothing was changed"
    return NodeUnreachable(f"{len(failures)} of {len(nodes)} nodes cannot be observed: {lines}", hint=hint)


def _existing(path: Path, field: str) -> Path:
    if not path.is_file():
        raise InputError(f"expected a file, found none at {path}", where=f"site.yaml: {field}")
    return path.resolve()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
