"""An agent of a swap group with stand-ins of its engines, of systemctl and of nvidia-smi. All are real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from standin_engine import RESIDUE_MIB, TOTAL_MIB
from waiting import until

from sovctl.engine.resources.context import ROLES

FILES = ROLES / "swap_group" / "files"
ENGINE = Path(__file__).with_name("standin_engine.py")
PYTHON = getattr(sys, "_base_executable", sys.executable)  # starts faster than that of a virtual environment
SPEED = 20.0
SYSTEMCTL = """#!/bin/sh
cd {folder}
runs() {{ [ -e "$1.pid" ] && kill -0 "$(cat "$1.pid")" 2>/dev/null; }}
case "$1" in
show) shift 3; for unit in "$@"; do runs "$unit" && echo active || echo inactive; echo; done ;;
start) runs "$2" && exit 0
   setsid {python} -IS {engine} {folder} "$2" {utilization} {speed} >> engines.txt 2>&1 < /dev/null &
   echo $! > "$2.pid" ;;
kill) kill -9 "$(cat "$3.pid")"; rm -f "gpu/$3"; sleep 0.1 ;;
esac
"""
NVIDIA_SMI = """#!/bin/sh
cd {folder}/gpu
used=0; for each in *; do [ -e "$each" ] && used=$((used + $(cat "$each"))); done
[ ! -e ../no-memory ] && echo "0, $(({total} - used)), {total}"
"""
LAUNCH = """
import sys, runpy
sys.argv = ["swap", {config!r}]
sys.path.insert(0, {files!r})
import swap_state
swap_state.SETTLE_S, swap_state.MIN_AWAKE_S, swap_state.FIRST_PAUSE_S = 0.05, 0.3, 0.2
swap_state.PROBE_PAUSE_S = 0.05
runpy.run_path({program!r}, run_name="__main__")
"""
"""Runs the agent with shorter times than those of a GPU."""


def load(name: str) -> Any:
    """Return a file of the role as a module."""
    if name in sys.modules:
        return sys.modules[name]
    sys.path.insert(0, str(FILES))
    try:
        loader = SourceFileLoader(name, str(FILES / name if (FILES / name).exists() else FILES / f"{name}.py"))
        spec = spec_from_loader(name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(FILES))


@dataclass
class Group:
    """A folder with everything, and the process of the agent."""

    folder: Path
    pools: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def config_file(self) -> Path:
        return self.folder / "swap.json"

    def start(self) -> None:
        code = LAUNCH.format(config=str(self.config_file), files=str(FILES), program=str(FILES / "swap"))
        environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        with (self.folder / "agent.txt").open("ab") as output:
            self.process = subprocess.Popen([PYTHON, "-BIS", "-c", code], env=environment, stdout=output, stderr=output)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=20)

    def status(self) -> dict[str, Any]:
        try:
            found = load("swap").control(self.config, "GET", "/status")
        except OSError as error:
            return {"error": str(error)}
        assert isinstance(found, dict)
        return found

    def command(self, *words: str) -> dict[str, Any]:
        done = subprocess.run(
            [PYTHON, "-IBS", str(FILES / "swap"), *words, str(self.config_file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert not done.stderr, done.stderr
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def until_awake(self, pool: str | None = None) -> None:
        def serves() -> bool:
            found = self.status()
            return found.get("awake") is not None and pool in (None, found["awake"])

        until(serves, f"{pool or 'a pool'} awake")

    def request(self, pool: str, text: str, timeout_s: float = 60.0) -> tuple[int, dict[str, str]]:
        """Send a request as the proxy does: it asks for the turn, then passes the request to the engine."""
        swap = load("swap")
        status, headers = _ask(swap.UnixConnection(str(self.folder / "run" / "held.sock"), timeout_s), "GET", pool)
        if status != 200:
            return status, headers
        assert headers["X-Accel-Redirect"] == f"@engine-{pool}"
        body = json.dumps({"model": pool, "messages": [{"role": "user", "content": text}]})
        return _ask(swap.UnixConnection(str(self.folder / f"{pool}.sock"), timeout_s), "POST", pool, body)

    def log(self, event: str) -> list[dict[str, Any]]:
        path = self.folder / "log"
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [row for row in rows if row["event"] == event]


def _ask(connection: HTTPConnection, method: str, pool: str, body: str = "") -> tuple[int, dict[str, str]]:
    target = "/v1/chat/completions" if method == "POST" else f"/held/{pool}"
    with closing(connection):
        connection.request(method, target, body or None)
        response = connection.getresponse()
        response.read()
    return response.status, dict(response.getheaders())


@contextmanager
def group(folder: Path, *pools: str, **settings: Any) -> Iterator[Group]:
    """Start an agent over engines that are stopped; end all processes after it."""
    for name in ("bin", "gpu", "run"):
        (folder / name).mkdir()
    utilization = 0.9
    words = {"folder": folder, "python": PYTHON, "engine": ENGINE, "utilization": utilization, "speed": SPEED}
    for name, text in (("systemctl", SYSTEMCTL), ("nvidia-smi", NVIDIA_SMI)):
        script = folder / "bin" / name
        script.write_text(text.format(total=TOTAL_MIB, **words))
        script.chmod(0o755)
    engines = [
        {
            "pool": pool,
            "unit": pool,
            "socket": str(folder / f"{pool}.sock"),
            "model": pool,
            "request": {
                "path": "/chat/completions",
                "body": {"messages": [{"role": "user", "content": "probe"}], "max_tokens": 2},
                "answer": "choices",
            },
            "gpus": 1,
            "utilization": utilization,
            "residue_mib": RESIDUE_MIB,
            "start_timeout_s": 30,
            "awake_hours": [],
        }
        for pool in pools
    ]
    config = {
        "group": "test",
        "engines": engines,
        "memory": ["nvidia-smi"],
        "folder": str(folder / "run"),
        "state": str(folder / "state.json"),
        "hold_s": 60,
        "max_held": 256,
        "lead_s": 15,
        "timezone": "UTC",
        **settings,
    }
    made = Group(folder, pools, config=config)
    made.config_file.write_text(json.dumps(config))
    made.start()
    try:
        yield made
    finally:
        made.kill()
        for each in folder.glob("*.pid"):
            with suppress(ProcessLookupError, ValueError):
                os.kill(int(each.read_text()), signal.SIGKILL)
