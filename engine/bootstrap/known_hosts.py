"""The file of host keys (`access.known_hosts_file`): entries of a node, and a new entry with its origin.

    10.20.1.11 ssh-ed25519 AAAA... dgx-1 enrolled=2026-11-28T20:00:00Z by=ops witness=anna read-at=console

`ssh-keygen -F` finds the entries, so that hashed names and patterns are found as ssh finds them (sshd(8)). Other
entries and comments of the file are kept.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.errors import InputError, MissingTool

from .host_key import HostKey, parse_host_key

_FOUND = re.compile(r"# Host .+ found: line (\d+)")
_DEFAULT_PORT = 22


@dataclass(frozen=True)
class Entry:
    """A line of the file that applies to a node.

    Args:
        number: of the line, from 1.
        marker: `@revoked`, or empty.
        hosts: names and addresses of the line, as written.
    """

    number: int
    marker: str
    hosts: str
    key: HostKey


def host_pattern(address: str, port: int) -> str:
    """Return the name of an ssh server in the file: `ADDRESS`, or `[ADDRESS]:PORT` (sshd(8))."""
    return address if port == _DEFAULT_PORT else f"[{address}]:{port}"


def entries_of(path: Path, pattern: str) -> list[Entry]:
    """Return the entries of a host, in the order of the file; none if the file is absent.

    Entries of certificate authorities are omitted.

    Raises:
        InputError: the file is unreadable, or an entry of the host is invalid.
    """
    if not path.exists():
        return []
    _read(path)
    try:
        done = subprocess.run(
            ["ssh-keygen", "-F", pattern, "-f", str(path)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise MissingTool("command `ssh-keygen` not found", hint="apt-get install openssh-client") from None
    found, number = [], 0
    for line in done.stdout.splitlines():
        if match := _FOUND.match(line):
            number = int(match[1])
            continue
        words = line.split()
        marker = words.pop(0) if words[0].startswith("@") else ""
        if marker != "@cert-authority":
            found.append(Entry(number, marker, words[0], parse_host_key(" ".join(words[1:]), where=f"{path}:{number}")))
    return found


def add(path: Path, pattern: str, key: HostKey, *, origin: str, without: tuple[Entry, ...] = ()) -> None:
    """Write an entry at the end of the file, and remove the entries `without`. Atomic.

    Args:
        origin: comment of the entry: one line.

    Raises:
        InputError: an entry to remove is also for other hosts.
    """
    for entry in without:
        if not entry.hosts.startswith("|1|") and any(sign in entry.hosts for sign in "*?!"):
            hint = "replace the pattern by one line for each host"
            raise InputError("the entry to replace is also for other hosts", where=f"{path}:{entry.number}", hint=hint)
    removed = {entry.number for entry in without}
    lines = _read(path).splitlines() if path.exists() else []
    kept = [line for number, line in enumerate(lines, 1) if number not in removed]
    write_atomic(path, "\n".join([*kept, f"{pattern} {key.line} {origin}"]) + "\n")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read host keys: {read_error_reason(error)}", where=str(path)) from None
