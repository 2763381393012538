"""Runs sovctl in a process that is forked from one that has imported it: it saves the start of Python and the imports.

    done = warm_sovctl.run("validate", "site.yaml", cwd=folder, env={...})      # a subprocess.CompletedProcess

- The command is a process of its own, with its own streams, environment, folder and exit code. Only imports are shared.
- Values of modules are fresh for each command, because the first process only imports.
- `make test-all` starts Python for each command.
- Not for tests of start-up, of signals and of terminals.
"""

from __future__ import annotations

import array
import atexit
import contextlib
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
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from examples import IS_COMPLETE

# What most commands import when they run; `sovctl.cli.main` imports the rest.
_IMPORTED = (
    "sovctl.cli.main",
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
)
_ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}  # of the imports, as of a person's shell
_MOST_BYTES = 1 << 20  # of one request


def run(
    *words: str | Path, cwd: Path, env: Mapping[str, str], answers: str = "", timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run one command of sovctl without a terminal, and wait for its end.

    Args:
        answers: its standard input.

    Raises:
        subprocess.TimeoutExpired: it did not end; it has been killed.
    """
    arguments = [str(word) for word in words]
    if IS_COMPLETE:
        command = [str(Path(sys.executable).parent / "sovctl"), *arguments]
        return subprocess.run(
            command, cwd=cwd, env=env, input=answers, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(answers)
        given.seek(0)
        files = array.array("i", [given.fileno(), out.fileno(), err.fileno()])
        request = json.dumps({"words": arguments, "cwd": str(cwd), "env": dict(env)}).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(timeout_s)
            connection.connect(_server())
            connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            process = int(connection.recv(64))
            try:
                status = int(connection.recv(64))
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["sovctl", *arguments], timeout_s) from None
        out.seek(0)
        err.seek(0)
        texts = [stream.read().decode().replace("\r\n", "\n") for stream in (out, err)]
        return subprocess.CompletedProcess(["sovctl", *arguments], os.waitstatus_to_exitcode(status), *texts)


@cache
def _server() -> str:
    """Start the process to fork from, one for each process of tests; return its address."""
    folder = tempfile.mkdtemp(prefix="warm-")
    address = f"{folder}/s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen()
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        process = subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno())],
            stdin=subprocess.PIPE,
            env=_ENVIRONMENT | {"PYTHONPATH": path},
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C ends the tests, and their end closes its input
        )

    def stop() -> None:
        process.communicate()  # its input ends, and so does it
        shutil.rmtree(folder)

    atexit.register(stop)
    return address


def _serve(listening: socket.socket) -> None:
    """Fork a process for each request. Returns in that process, and ends in the first one with its input."""
    for name in _IMPORTED:
        importlib.import_module(name)
    assert threading.active_count() == 1  # a thread does not survive the fork
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        request, files, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
        if (process := os.fork()) == 0:
            asked = json.loads(request)
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            connection.close()
            listening.close()
            os.chdir(asked["cwd"])
            os.environ.clear()
            os.environ.update(asked["env"])
            sys.argv[:] = [str(Path(sys.executable).parent / "sovctl"), *asked["words"]]
            return
        for file in files:
            os.close(file)
        with contextlib.suppress(OSError):  # the client may have ended
            connection.send(str(process).encode())
            _, status = os.waitpid(process, 0)
            connection.send(str(status).encode())
        connection.close()
    os._exit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    main: Callable[[], None] = importlib.import_module("sovctl.cli.main").main
    main()
