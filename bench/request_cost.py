"""Processor time of one request, by the shape of its body: no shape may be expensive for its size.

    make bench-request-cost                             prints a table, writes build/bench/request_cost.json
    python -m bench.request_cost --check                exits with 1 if a target is missed
    python -m bench.request_cost --only names/string    one shape; --size 8388608: bodies of this many bytes

A gateway process with everything on receives one request of each shape (`traffic.request_shapes`). Its processor time
is the user and system time of all its processes from /proc, from before the request until it rests after the answer:
inspection, tokens, vault, audit record and upstream connection included. A body below 1 MiB counts as 1 MiB, which has
the smallest work budget (`limits.max_work_per_mib`). The least of several rounds counts, because other work on the
machine only slows; every round has another seed, so that no text is cached.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.contenders.ours import write_config
from bench.traffic.process import Running, free_port, started, wait_for_port
from bench.traffic.prompts import scenario
from bench.traffic.request_shapes import CONTENTS, request_body
from bench.traffic.wrk import Target
from sovctl.support.atomic_files import write_atomic

MOST_S_PER_MIB = 1.5  # seconds of a core; what this project promises (issue 15)
ROUNDS = 2
SIZES = (400 << 10, 2 << 20)
_MIB = 1 << 20
_RESTED_S, _REST_S = 0.02, 0.15  # processor time within such a pause in which a gateway counts as resting
SHAPES = [
    *(f"{content}/string" for content in CONTENTS),
    *(f"{content}/pages" for content in ("prose", "names", "labels", "cards", "blob", "arabic", "both-scripts")),
    *(
        f"{content}/{container}"
        for content in ("prose", "names", "letter-space", "digits", "mails", "languages")
        for container in ("messages", "parts", "arguments", "named", "keys", "nested", "in-strings", "numbers")
    ),
]


@dataclass(frozen=True)
class Row:
    """One shape at one size."""

    shape: str
    body_bytes: int
    status: int
    reason: str
    """Of a refusal; empty for an answer."""
    cpu_s: float
    cpu_s_per_mib: float
    """A body below 1 MiB counts as 1 MiB."""


def measure(gateway: Running, target: Target, shapes: list[str], sizes: tuple[int, ...]) -> list[Row]:
    """Send every shape in every size, and print its row."""
    rows = []
    for size in sizes:
        for shape in shapes:
            rows.append(min((_send(gateway, target, shape, size, seed) for seed in range(ROUNDS)), key=_cost))
            show(rows[-1])
    return rows


def _cost(row: Row) -> float:
    return row.cpu_s_per_mib


def _send(gateway: Running, target: Target, shape: str, size: int, seed: int) -> Row:
    request = request_body(shape, random.Random(seed), size=size)
    request["messages"].insert(0, {"role": "system", "content": f"{scenario(200, 0, 0)} Summary: yes END."})
    body = json.dumps(request, ensure_ascii=False).encode()
    before = _rested(gateway)
    connection = http.client.HTTPConnection(target.host, target.port, timeout=300)
    connection.request(
        "POST",
        "/v1/chat/completions",
        body,
        {"authorization": f"Bearer {target.key}", "content-type": "application/json"},
    )
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    cpu_s = _rested(gateway) - before
    reason = json.loads(answer)["error"]["sovctl"]["reason"] if response.status >= 400 else ""
    return Row(shape, len(body), response.status, reason, round(cpu_s, 3), round(cpu_s / max(1, len(body) / _MIB), 3))


def _rested(gateway: Running) -> float:
    """Wait until the gateway rests; return its processor time so far."""
    before = gateway.cpu_s()
    while True:
        time.sleep(_REST_S)
        now = gateway.cpu_s()
        if now - before <= _RESTED_S:
            return now
        before = now


def show(row: Row) -> None:
    """Print one row of the table."""
    missed = "  MISSED" if row.cpu_s_per_mib > MOST_S_PER_MIB else ""
    print(
        f"{row.shape:26}{row.body_bytes / _MIB:>8.2f}{row.status:>7}{row.cpu_s:>9.2f}{row.cpu_s_per_mib:>9.2f}"
        f"  {row.reason}{missed}",
        flush=True,
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure the processor time of requests by shape.")
    parser.add_argument("--check", action="store_true", help="end with 1 when a bar is missed")
    parser.add_argument("--only", help="shapes, by comma")
    parser.add_argument("--size", type=int, help="bytes of a body; default: " + ", ".join(map(str, SIZES)))
    parser.add_argument("--output", type=Path, default=Path("build/bench/request_cost.json"))
    options = parser.parse_args()
    shapes = options.only.split(",") if options.only else SHAPES
    cores = os.sched_getaffinity(0)
    print(f"{'':26}{'MiB':>8}{'status':>7}{'CPU s':>9}{'s/MiB':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        upstream_command = [sys.executable, "-m", "bench.traffic.upstream", str(port)]
        with started(upstream_command, cores=cores, log=folder / "upstream.log") as upstream:
            wait_for_port(upstream, port)
            config, target = write_config(folder / "gateway", port, free_port(), workers=1)
            command = [sys.executable, "-m", "sovctl.cli", "gateway", "serve", f"--config={config}"]
            with started(command, cores=cores, log=folder / "log") as gateway:
                wait_for_port(gateway, target.port)
                rows = measure(gateway, target, shapes, (options.size,) if options.size else SIZES)
    worst = max(rows, key=_cost)
    result: dict[str, Any] = {
        "most_s_per_mib": MOST_S_PER_MIB,
        "rounds": ROUNDS,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "worst": asdict(worst),
        "rows": [asdict(row) for row in rows],
    }
    write_atomic(options.output, json.dumps(result, indent=2) + "\n")
    print(f"worst: {worst.shape}, {worst.cpu_s_per_mib:.2f} s/MiB; target: at most {MOST_S_PER_MIB} s/MiB")
    return int(options.check and worst.cpu_s_per_mib > MOST_S_PER_MIB)


if __name__ == "__main__":
    sys.exit(main())
