"""Runs commands on nodes through testinfra over ssh, with one connection per node, and on this controller.

Adds three features to testinfra's backends: a timeout for every command, a limit of its output, and standard input for
secrets. ssh verifies host keys with the site's known_hosts file only, and uses no password, agent or forwarding.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from testinfra.backend.base import CommandResult
from testinfra.backend.local import LocalBackend
from testinfra.backend.ssh import SshBackend
from testinfra.host import Host

from ...spec import SiteSpec
from ...spec.program_path import PROGRAM_PATH

LIMIT_BYTES = 32 << 20  # the largest known output, the XML report of 8 x B200, has 0.36 MB
GRACE_S = 15  # seconds for ssh to end after the timeout of its command on the node
SSH_LOST = 255  # connection failures, ssh(1) EXIT STATUS
ENDED_BY_US = -1

_OPTIONS = """\
Host *
  BatchMode yes
  StrictHostKeyChecking yes
  GlobalKnownHostsFile /dev/null
  UpdateHostKeys no
  IdentitiesOnly yes
  IdentityAgent none
  PreferredAuthentications publickey
  ForwardAgent no
  ClearAllForwardings yes
  PermitLocalCommand no
  ConnectionAttempts 1
  ServerAliveInterval 5
  ServerAliveCountMax 3
  LogLevel ERROR
  ControlMaster auto
  ControlPersist 60
"""


def ssh_config(spec: SiteSpec, site_folder: Path, control_folder: Path) -> str:
    """Return an ssh_config with a host entry for every node of a site; also usable with `ssh -F`.

    Args:
        control_folder: folder of the sockets of shared connections; its path must be short (108 bytes with the file).
    """
    key, known_hosts = (
        str((site_folder / name).resolve()).replace("%", "%%")  # `%` begins a token, ssh_config(5)
        for name in (spec.access.key_file, spec.access.known_hosts_file)
    )
    hosts = "".join(f"Host {node.name}\n  HostName {node.address}\n" for _, node in spec.nodes())
    return (
        f"# Written by sovctl from site.yaml (access, node_groups).\n{hosts}{_OPTIONS}"
        f"  User {spec.access.user}\n  Port {spec.access.port}\n"
        f'  IdentityFile "{key}"\n  UserKnownHostsFile "{known_hosts}"\n'
        f"  ConnectTimeout {spec.access.connect_timeout_s}\n"
        f"  ControlPath {control_folder}/%C\n"
    )


class Running:
    """Running commands of several threads, which another thread can end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False

    def start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command.

        Raises:
            OSError: its program is absent, or `stop` was called.
        """
        with self._lock:
            if self._is_stopped:
                raise OSError(errno.ECANCELED, "stopped")
            # A new process group in the same session, so that this process can kill the group, and `run` the session.
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
            )
            self._processes.add(process)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process group of a command if it still runs."""
        with self._lock:
            self._processes.discard(process)
            _end(process)

    def stop(self) -> None:
        """Kill all commands, and start no more."""
        with self._lock:
            self._is_stopped = True
            for process in self._processes:
                _kill(process)


class NodeBackend(SshBackend):  # type: ignore[misc]  # testinfra is not typed
    """testinfra's ssh backend; `run` also takes `timeout_s`, `stdin` and `running`."""

    def run(
        self,
        command: str,
        *args: str,
        timeout_s: float = 60,
        stdin: bytes = b"",
        running: Running | None = None,
        **_: Any,
    ) -> CommandResult:
        words = ["ssh", "-F", str(self.ssh_config), self.host.name, self.get_command(command, *args)]
        return _result(self, command, *run_bounded(words, timeout_s=timeout_s, stdin=stdin, running=running))


class ControllerBackend(LocalBackend):  # type: ignore[misc]  # testinfra is not typed
    """This machine, as the user who runs sovctl; `run` also takes `timeout_s`, `stdin` and `running`."""

    def run(
        self,
        command: str,
        *args: str,
        timeout_s: float = 60,
        stdin: bytes = b"",
        running: Running | None = None,
        **_: Any,
    ) -> CommandResult:
        words = ["sh", "-c", self.get_command(command, *args)]
        return _result(self, command, *run_bounded(words, timeout_s=timeout_s, stdin=stdin, running=running))


def node_host(name: str, config: Path) -> Host:
    """Return a testinfra host for a node of `ssh_config`."""
    return _host(NodeBackend(name, ssh_config=str(config)))


def controller_host() -> Host:
    """Return a testinfra host for this machine."""
    return _host(ControllerBackend())


def as_root(command: str, timeout_s: int) -> str:
    """Return a command that runs another as root, through sudo without a password, and ends it after `timeout_s`."""
    return f"sudo -n /usr/bin/env PATH={PROGRAM_PATH} timeout -k 5 {timeout_s} sh -c {shlex.quote(command)}"


def close_connections(config: Path, names: Sequence[str]) -> None:
    """Close the shared connections. A connection that was never open is not an error."""
    for name in names:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["ssh", "-F", str(config), "-O", "exit", name], capture_output=True, timeout=5, check=False)


def run_bounded(
    words: Sequence[str], *, timeout_s: float, stdin: bytes, running: Running | None = None
) -> tuple[int | None, bytes, bytes]:
    """Run a command; kill it after `timeout_s`, or if its output exceeds `LIMIT_BYTES`.

    Returns:
        Exit code (None if the command was killed), standard output, standard error.
    """
    running = running or Running()
    process = running.start(words)
    out, err = bytearray(), bytearray()
    readers = [
        threading.Thread(target=_read, args=(stream, into, process), daemon=True)
        for stream, into in ((process.stdout, out), (process.stderr, err))
    ]
    for reader in readers:
        reader.start()
    assert process.stdin is not None
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stdin)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        code: int | None = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        code = None
        err += f"timeout after {timeout_s:g} s".encode()
    finally:
        running.end(process)
    for reader in readers:
        reader.join(GRACE_S)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    if len(out) > LIMIT_BYTES or len(err) > LIMIT_BYTES:
        return None, b"", f"output of more than {LIMIT_BYTES} bytes".encode()
    return code, bytes(out), bytes(err)


def _read(stream: IO[bytes], into: bytearray, process: subprocess.Popen[bytes]) -> None:
    for chunk in _chunks(stream):
        into += chunk
        if len(into) > LIMIT_BYTES:
            _kill(process)
            return


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    with contextlib.suppress(OSError, ValueError):
        while chunk := os.read(stream.fileno(), 65536):
            yield chunk


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group if the command still runs, and wait for it."""
    if process.poll() is None:
        _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _result(backend: Any, command: str, code: int | None, out: bytes, err: bytes) -> CommandResult:
    return CommandResult(backend, ENDED_BY_US if code is None else code, command.encode(), out, err)


def _host(backend: Any) -> Host:
    host = Host(backend)
    backend.set_host(host)
    return host
