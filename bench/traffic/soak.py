"""Resident memory over many requests, sampled every 50,000, so that a leak is visible as a slope.

    python -m bench.gateway --soak 1000000

The count and the sizes are stored in build/bench/soak.json after every step, with the gateway's files in the same
folder, so that an interrupted run can resume. Each start begins a new line, because a new process starts with little
memory.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from bench.contenders.ours import write_config
from bench.traffic.process import free_port, started, wait_for_port
from bench.traffic.prompts import SHAPES
from bench.traffic.wrk import load
from sovctl.support.atomic_files import write_atomic

_STEP = 50_000
_MOST_GROWTH = 0.05  # of the size after the first two steps, over all the rest


def run(requests: int, output: Path, cores: list[int]) -> int:
    """Send so many requests in all; 1 when memory grew."""
    state_file, folder = output / "soak.json", (output / "soak").absolute()
    state: dict[str, Any] = {"requests": 0, "starts": []}
    if state_file.exists() and (found := json.loads(state_file.read_text()))["requests"] < requests:
        state = found
    else:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    clients, upstream_port = set(cores[1:]), free_port()
    command = [sys.executable, "-m", "bench.traffic.upstream", str(upstream_port)]
    sizes: list[tuple[int, int]] = []
    state["starts"].append(sizes)
    with started(command, cores=clients, log=folder / "upstream.log") as upstream:
        wait_for_port(upstream, upstream_port)
        config, target = write_config(folder / str(len(state["starts"])), upstream_port, free_port(), workers=1)
        serve = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
        with started(serve, cores={cores[0]}, log=folder / "log") as gateway:
            wait_for_port(gateway, target.port)
            since = 0
            while state["requests"] < requests:
                done = load(target, SHAPES["2k3"], connections=16, seconds=10, cores=clients, folder=folder)
                if done.failures:
                    print(f"{done.failures} requests failed")
                    return 1
                state["requests"] += done.requests
                since += done.requests
                if since >= _STEP or state["requests"] >= requests:
                    since = 0
                    sizes.append((state["requests"], gateway.rss_bytes()))
                    write_atomic(state_file, json.dumps(state))
                    print(f"{state['requests']:>10,} requests{gateway.rss_bytes() / 2**20:>9.1f} MiB", flush=True)
    if len(sizes) < 4:
        print("too few steps since the last start to tell")
        return 0
    growth = sizes[-1][1] / sizes[1][1] - 1
    print(f"{growth:+.1%} between the second step and the last (at most {_MOST_GROWTH:+.0%})")
    return int(growth > _MOST_GROWTH)
