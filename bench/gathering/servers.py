"""Real ssh servers on loopback addresses, with temporary keys, for tests and benchmarks of connections to many nodes.

    with ssh_servers(Path("/tmp/x"), ["127.50.0.1", "127.50.0.2"]) as servers:
        servers.port                                     # the same at both addresses

Requires root, because a session then needs no sudo password, and OpenSSH. Each server is one sshd with its own address;
all nodes share the file system and the processor of this machine.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

START_TIMEOUT_S = 30.0
START_ATTEMPTS = 5
PORTS = range(20000, 32768)  # below the ports that Linux gives to clients, ip-sysctl
_CONFIG = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
PidFile none
LogLevel ERROR
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Servers:
    """Running servers. They share one port, one host key and one key of the client."""

    addresses: tuple[str, ...]
    port: int
    key_file: Path
    known_hosts_file: Path
    pids: tuple[int, ...]

    def processor_s(self) -> float:
        """Return the processor time of all servers and of their sessions, seconds."""
        parents, times = {}, {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                words = file.read_text().rpartition(")")[2].split()  # proc_pid_stat(5), from field 3 on
                pid = int(file.parent.name)
                parents[pid], times[pid] = int(words[1]), sum(map(int, words[11:15]))
        below = set(self.pids)
        while more := {pid for pid, parent in parents.items() if parent in below} - below:
            below |= more
        return sum(times.get(pid, 0) for pid in below) / os.sysconf("SC_CLK_TCK")


def can_serve() -> bool:
    """Return whether this process can start ssh servers."""
    return os.geteuid() == 0 and shutil.which("sshd") is not None and shutil.which("sudo") is not None


@contextlib.contextmanager
def ssh_servers(folder: Path, addresses: Sequence[str], *, session_path: str = "") -> Iterator[Servers]:
    """Start a server at each address; they end with the block.

    Args:
        folder: empty; for keys and configuration.
        addresses: in 127.0.0.0/8.
        session_path: PATH of the sessions; sshd's default if empty.
    """
    for name in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "key.pub", folder / "authorized_keys")
    path = f"SetEnv PATH={session_path}\n" if session_path else ""
    (folder / "sshd_config").write_text(_CONFIG.format(folder=folder) + path)
    Path("/run/sshd").mkdir(exist_ok=True)  # privilege separation, sshd(8)
    host_key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    port, processes = _start(folder, addresses)
    known = "".join(f"[{address}]:{port} {host_key}\n" for address in addresses)
    (folder / "known_hosts").write_text(known)
    try:
        yield Servers(
            tuple(addresses), port, folder / "key", folder / "known_hosts", tuple(each.pid for each in processes)
        )
    finally:
        _end(processes)


def _start(folder: Path, addresses: Sequence[str]) -> tuple[int, list[subprocess.Popen[bytes]]]:
    """Return the port and one server per address that answers at it; a port that another process uses is skipped."""
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    for _ in range(START_ATTEMPTS):
        port = random.choice(PORTS)
        command = [program, "-D", "-e", "-f", str(folder / "sshd_config"), "-p", str(port)]
        processes = []
        try:
            for address in addresses:
                with (folder / "sshd.log").open("ab") as log:
                    processes.append(subprocess.Popen([*command, "-o", f"ListenAddress={address}"], stderr=log))
            if all(_answers(address, port, process) for address, process in zip(addresses, processes, strict=True)):
                return port, processes
        except BaseException:
            _end(processes)
            raise
        _end(processes)
    raise RuntimeError(f"no ssh server started: {(folder / 'sshd.log').read_text()}")


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


def _answers(address: str, port: int, server: subprocess.Popen[bytes]) -> bool:
    """Return whether the server sends its greeting in time; one that ended does not."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1) as opened:
            if opened.recv(4) and server.poll() is None:
                return True
        time.sleep(0.02)
    return False
