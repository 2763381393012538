"""Load by wrk: as many requests as a gateway takes, over keep-alive connections.

result = load(target, SHAPES["2k3"], connections=16, seconds=3, cores={1}, folder=folder)
result.requests_per_s, result.p50_ms
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import debian
from bench.traffic.prompts import Shape, write_lua

_SCRIPT = Path(__file__).with_name("load.lua")
_rounds = itertools.count(1)


@dataclass(frozen=True)
class Target:
    """Where requests go."""

    host: str
    port: int
    key: str = "bench-key"
    path: str = "/v1/chat/completions"
    is_tls: bool = False

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self.is_tls else 'http'}://{self.host}:{self.port}"


@dataclass(frozen=True)
class Load:
    """Result of one load; only answers with status 200 count."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    failures: int
    first_p50_ms: float | None = None
    """Time to the first token, streams only."""

    @property
    def requests_per_s(self) -> float:
        """Answered requests per second of elapsed time."""
        return self.requests / self.seconds


def load(target: Target, shape: Shape, *, connections: int, seconds: float, cores: set[int], folder: Path) -> Load:
    """Run wrk once.

    Raises:
        subprocess.CalledProcessError: wrk itself failed.
    """
    prompts = folder / f"{shape.name}.lua"
    if not prompts.exists():
        write_lua(shape, prompts)
    offset = next(_rounds) * 10_000_000  # no two rounds share an address
    command = ["taskset", "-c", ",".join(map(str, sorted(cores))), debian.program("wrk"), "-t1", f"-c{connections}"]
    command += [f"-d{max(1, round(seconds))}s", "--timeout", "30s", "-s", str(_SCRIPT), target.url, "--"]
    command += [str(prompts), target.path, target.key, str(offset)]
    env = {**os.environ, **debian.libraries()}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    found = json.loads(next(line for line in said.splitlines() if line.startswith("RESULT "))[7:])
    answered = found["requests"] - found["bad_status"]
    return Load(
        answered,
        found["duration_us"] / 1e6,
        found["p50_us"] / 1000,
        found["p99_us"] / 1000,
        found["bad_status"] + found["broken"],
    )
