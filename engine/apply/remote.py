"""Runs one command as root on several nodes concurrently, over ssh with the site's key and known host keys."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..spec import SiteSpec

SSH_FAILED = 255  # ssh(1), EXIT STATUS
_GRACE_S = 15
_LANES = 16


@dataclass(frozen=True)
class Answer:
    """Result of a command on a node; `code` is `SSH_FAILED` if the node did not answer in time."""

    code: int
    output: str
    error: str


def run_on(
    spec: SiteSpec, site_folder: Path, nodes: Collection[str], argv: Sequence[str], *, timeout_s: float, stdin: str = ""
) -> dict[str, Answer]:
    """Return the result of a command by node.

    Args:
        timeout_s: of the command; ssh has `access.connect_timeout_s` in addition.
        stdin: standard input of the command.
    """
    if not nodes:
        return {}
    with ThreadPoolExecutor(min(_LANES, len(nodes))) as lanes:
        answers = lanes.map(lambda node: _run(spec, site_folder, node, argv, timeout_s, stdin), nodes)
        return dict(zip(nodes, answers, strict=True))


def ssh_words(spec: SiteSpec, site_folder: Path, node: str, argv: Sequence[str]) -> list[str]:
    """Return the command that runs `argv` as root on a node. It ends with its parent, also if that is killed."""
    access = spec.access
    # `%` begins a token, ssh_config(5)
    known_hosts = str((site_folder / access.known_hosts_file).resolve()).replace("%", "%%")
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": f'"{known_hosts}"',
        "GlobalKnownHostsFile": "/dev/null",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "ConnectTimeout": str(access.connect_timeout_s),
        "ServerAliveInterval": "5",
        "LogLevel": "ERROR",
    }
    # setpriv(1) of util-linux ends ssh with its parent
    words = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "ssh",
        "-F",
        "/dev/null",
        *(f"-o{name}={value}" for name, value in options.items()),
    ]
    words += ["-i", str((site_folder / access.key_file).resolve()), "-p", str(access.port)]
    return [*words, f"{access.user}@{spec.node(node).address}", shlex.join(["sudo", "-n", "--", *argv])]


def _run(spec: SiteSpec, site_folder: Path, node: str, argv: Sequence[str], timeout_s: float, stdin: str) -> Answer:
    try:
        done = subprocess.run(
            ssh_words(spec, site_folder, node, argv),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s + spec.access.connect_timeout_s + _GRACE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(SSH_FAILED, "", f"no result after {timeout_s:.0f} s")
    return Answer(done.returncode, done.stdout, done.stderr.strip())
