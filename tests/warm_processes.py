"""Forks processes of sovctl from one that has imported it: it saves the start of Python and the imports.

    done = warm_processes.sovctl("validate", "site.yaml", cwd=folder, env={...})      # a subprocess.CompletedProcess
    process = warm_processes.start(GATEWAY, ["check"], cwd=folder, env={...}, files=(0, 1, 2))

- A command is a process of its own, with its own streams, environment, folder and exit code. Only imports are shared.
- Values of modules are fresh for each command, because the first process only imports, reads constant tables and
  builds models.
- `make test-all` starts Python for each command.
- Not for tests of start-up and of terminals.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from examples import IS_COMPLETE

_MOST_BYTES = 1 << 20  # of one request


@dataclass(frozen=True)
class Program:
    """A program of sovctl."""

    name: str
    main: str
    """Module and function."""
    command: tuple[str, ...]
    """How Python starts it."""
    imported: tuple[str, ...]
    """Modules that most of its commands import when they run."""
    prepared: tuple[str, ...] = ()
    """Module and function of each call that fills caches of constant data or builds what no command changes."""


SOVCTL = Program(
    "sovctl",
    "sovctl.cli.main:main",
    (str(Path(sys.executable).parent / "sovctl"),),
    (
        "sovctl.cli.views.plan",
        "sovctl.cli.views.size",
        "sovctl.compliance.audit.site",
        "sovctl.compliance.report.publish",
        "sovctl.engine.apply.run",
        "sovctl.engine.checks.runner.evidence",
        "sovctl.engine.checks.runner.run",
        "sovctl.engine.plan.build",
        "sovctl.engine.plan.file",
        "sovctl.engine.sizing.report.summary",
        "sovctl.engine.site.site",
        "sovctl.engine.validation.load",
        "sovctl.engine.validation.what_if",
    ),
    ("sovctl.cli.main:command", "sovctl.engine.catalog:load_catalog", "warm_processes:build_models"),
)
GATEWAY = Program(
    "gateway",
    "sovctl.gateway.commands.main:main",
    (sys.executable, "-m", "sovctl.gateway"),
    ("sovctl.gateway.runtime.components", "sovctl.gateway.runtime.server"),
    (
        "sovctl.gateway.detect.labels:prepare",
        "sovctl.gateway.detect.special_categories.finder:prepare",
        "warm_processes:build_models",
    ),
)


@dataclass
class WarmProcess:
    """A running command, with the methods of `subprocess.Popen` that tests use."""

    pid: int
    returncode: int | None = None
    _connection: socket.socket = field(default_factory=socket.socket, repr=False)

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._read(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        if (code := self._read(timeout)) is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def _read(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            self.returncode = os.waitstatus_to_exitcode(int(self._connection.recv(64)))
            self._connection.close()
        return self.returncode


Process = WarmProcess | subprocess.Popen[bytes]


def start(
    program: Program, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], files: Sequence[int]
) -> Process:
    """Start a command.

    Args:
        files: descriptors of its standard input, output and error.
    """
    if IS_COMPLETE:
        given, out, err = files
        return subprocess.Popen([*program.command, *words], cwd=cwd, env=env, stdin=given, stdout=out, stderr=err)
    request = json.dumps({"words": list(words), "cwd": str(cwd), "env": dict(env)}).encode()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(_first_process(program))
    connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
    return WarmProcess(int(connection.recv(64)), _connection=connection)


def sovctl(
    *words: str | Path, cwd: Path, env: Mapping[str, str], answers: str = "", timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run one command of sovctl; see `_run_to_its_end`."""
    return _run_to_its_end(SOVCTL, words, cwd=cwd, env=env, answers=answers, timeout_s=timeout_s)


def gateway(
    *words: str | Path, env: Mapping[str, str] | None = None, answers: str = "", timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run one command of the gateway's own program in this folder; see `_run_to_its_end`."""
    environment = os.environ if env is None else env
    return _run_to_its_end(GATEWAY, words, cwd=Path.cwd(), env=environment, answers=answers, timeout_s=timeout_s)


def _run_to_its_end(
    program: Program, words: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], answers: str, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run one command without a terminal, and wait for its end.

    Args:
        answers: its standard input.

    Raises:
        subprocess.TimeoutExpired: it did not end; it has been killed.
    """
    arguments = [str(word) for word in words]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(answers.encode())
        given.seek(0)
        files = [stream.fileno() for stream in (given, out, err)]
        process = start(program, arguments, cwd=cwd, env=env, files=files)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())


@cache
def _first_process(program: Program) -> str:
    """Start the process to fork from, one for each process of tests; return its address."""
    folder = tempfile.mkdtemp(prefix="warm-")
    address = f"{folder}/s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen(64)
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        process = subprocess.Popen(
            [sys.executable, __file__, program.name, str(listening.fileno())],
            stdin=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": path},
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C ends the tests, and their end closes its input
        )

    def stop() -> None:
        process.communicate()  # its input ends, and so does it
        shutil.rmtree(folder)

    atexit.register(stop)
    return address


def _serve(listening: socket.socket) -> None:
    """Fork a process for each request; return in that process. The first process ends with its input."""
    assert threading.active_count() == 1  # a thread does not survive the fork
    running: dict[int, socket.socket] = {}
    ended, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([listening, sys.stdin, ended], [], [])
        if sys.stdin in ready:
            os._exit(0)
        if ended in ready:
            os.read(ended, 4096)
            for process in list(running):
                found, status = os.waitpid(process, os.WNOHANG)
                if found:
                    with contextlib.suppress(OSError), running.pop(process) as connection:  # the client may have ended
                        connection.send(str(status).encode())
        if listening in ready:
            connection, _ = listening.accept()
            request, files, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
            if (process := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listening, connection, *running.values()):
                    each.close()
                for number in (ended, signalled):
                    os.close(number)
                _become(json.loads(request), files)
                return
            for file in files:
                os.close(file)
            running[process] = connection
            with contextlib.suppress(OSError):
                connection.send(str(process).encode())


def _become(asked: dict[str, Any], files: Sequence[int]) -> None:
    """Give this process the streams, the folder, the environment and the arguments of a request."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv[1:] = asked["words"]


def build_models() -> None:
    """Build the validators of all models of the imported modules, which pydantic does at their first use."""
    waiting: list[type[BaseModel]] = [BaseModel]
    while waiting:
        for each in waiting.pop().__subclasses__():
            waiting.append(each)
            if each.__module__.startswith("sovctl."):
                each.model_rebuild()


def _function(name: str) -> Callable[[], Any]:
    module, _, function = name.partition(":")
    found: Callable[[], Any] = getattr(importlib.import_module(module), function)
    return found


def _run(program: Program) -> None:
    main = _function(program.main)
    for each in program.imported:
        importlib.import_module(each)
    for each in program.prepared:
        _function(each)()
    gc.collect()
    gc.freeze()  # Python frees all objects at its end, which takes 0.7 s for these
    _serve(socket.socket(fileno=int(sys.argv[2])))
    sys.argv[0] = program.command[0]
    sys.exit(main())


if __name__ == "__main__":
    _run({each.name: each for each in (SOVCTL, GATEWAY)}[sys.argv[1]])
