"""The agent of a swap group with real vLLM servers on a real GPU: not run without both."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.facts.hardware.gpu import GpuReport
from sovctl.engine.resources.context import ROLES
from sovctl.engine.resources.serving.swap import asleep_gib

pytestmark = pytest.mark.gpu
MODEL = os.environ.get("SOVCTL_TEST_MODEL", "")
SYSTEMCTL = """#!/bin/sh
cd {folder}
runs() {{ [ -e "$1.pid" ] && kill -0 "$(cat "$1.pid")" 2>/dev/null; }}
case "$1" in
show) shift 3; for unit in "$@"; do runs "$unit" && echo active || echo inactive; echo; done ;;
start) runs "$2" && exit 0
   VLLM_SERVER_DEV_MODE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 setsid vllm serve {model} --served-model-name "$2" \\
      --uds {folder}/"$2".sock --enable-sleep-mode --enforce-eager --max-model-len 2048 --load-format dummy \\
      --gpu-memory-utilization 0.8 >> "$2.txt" 2>&1 < /dev/null &
   echo $! > "$2.pid" ;;
kill) kill -9 -- -"$(cat "$3.pid")" ;;
esac
"""


@pytest.fixture
def config(report: GpuReport, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Settings of an agent over two servers of one model folder, `SOVCTL_TEST_MODEL`."""
    assert report.gpus
    if shutil.which("vllm") is None or not MODEL:
        pytest.skip("not run: no vllm, or SOVCTL_TEST_MODEL names no folder of a model")
    (tmp_path / "bin").mkdir()
    (tmp_path / "run").mkdir()
    script = tmp_path / "bin" / "systemctl"
    script.write_text(SYSTEMCTL.format(folder=tmp_path, model=MODEL))
    script.chmod(0o755)
    request = {"path": "/completions", "body": {"prompt": "ping", "max_tokens": 2}, "answer": "choices"}
    engines = [
        {
            "pool": pool,
            "unit": pool,
            "socket": str(tmp_path / f"{pool}.sock"),
            "model": pool,
            "request": request,
            "gpus": 1,
            "utilization": 0.8,
            "residue_mib": round(asleep_gib() * 1024),
            "start_timeout_s": 600,
            "awake_hours": [],
        }
        for pool in ("chat", "code")
    ]
    made = {
        "group": "gpu",
        "engines": engines,
        "memory": [
            "nvidia-smi",
            "--query-gpu=index,memory.free,memory.total",
            "--format=csv,noheader,nounits",
            "--id=0",
        ],
        "folder": str(tmp_path / "run"),
        "state": str(tmp_path / "state.json"),
        "hold_s": 60,
        "max_held": 256,
        "lead_s": 15,
        "timezone": "UTC",
    }
    (tmp_path / "swap.json").write_text(json.dumps(made))
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    agent = subprocess.Popen(
        [str(ROLES / "swap_group" / "files" / "swap"), str(tmp_path / "swap.json")], env=environment
    )
    yield made
    agent.kill()
    agent.wait(timeout=20)
    for each in tmp_path.glob("*.pid"):
        os.killpg(int(each.read_text()), signal.SIGKILL)


def test_two_servers_take_turns_on_one_gpu(config: dict[str, Any], tmp_path: Path) -> None:
    program = ROLES / "swap_group" / "files" / "swap"

    def run(*words: str, timeout_s: float = 60) -> dict[str, Any]:
        command = [str(program), *words, str(tmp_path / "swap.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert run("--wait", "1500", timeout_s=1600)["is_ready"]
    for pool in ("code", "chat", "code", "chat"):
        run("--want", pool)
        until_s = time.monotonic() + 60
        while run("--show")["awake"] != pool:
            assert time.monotonic() < until_s, run("--show")
            time.sleep(0.2)
        states = {each["pool"]: each["state"] for each in run("--show")["engines"]}
        assert sorted(states.values()) == ["asleep", "awake"]
