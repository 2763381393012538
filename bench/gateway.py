"""Compares the gateway with other proxies: requests/s, added latency, CPU time, memory.

    make bench-gateway                                 installs the peers, measures, prints, checks the targets
    python -m bench.gateway --only nginx,sovctl        some contenders; --quick: one short round
    python -m bench.gateway --profile 2k3              CPU profile of sovctl, by module and function
    python -m bench.gateway --instructions 2k3         instructions per request of sovctl
    python -m bench.gateway --turns                    conversations of sovctl: cost of each turn
    python -m bench.gateway --turn-instructions agent  instructions of the first and of the last turn
    python -m bench.gateway --soak 1000000             memory over many requests; resumes after an interruption

All contenders use the same local upstream in one run on one machine, with one worker each. The processes of a contender
share one core; upstream and clients use the others, in a network with loopback only. Every request has a unique text
and starts a new conversation (see `traffic.prompts`), over keep-alive connections. CPU time is the user and system time
of all processes of a gateway from /proc, per answered request. The best of several rounds counts, because other work on
the machine only slows. The table and all settings are written to build/bench/gateway.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.contenders import debian
from bench.contenders.start import CONTENDERS, Contender, Place
from bench.traffic import bars, instructions, machine, network, soak, stages, turns
from bench.traffic.conversations import KINDS
from bench.traffic.held import events_held_back
from bench.traffic.process import Running, free_port, started, wait_for_port
from bench.traffic.prompts import SHAPES, Shape
from bench.traffic.round_trip import Seen, try_out
from bench.traffic.streams import load_streams
from bench.traffic.wrk import Load, Target, load
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import SovctlError, SpecError

ALL = (("2k3", 1), ("2k3", 16), ("2k3", 64), ("2k3s", 16))
MASKING = (("2k0", 16), ("20k30", 16), ("wso2", 16))
TWO_WORKERS = (("2k3", 64), ("wso2", 64))
_REQUESTS_PER_CONNECTION, _LONGEST_S = 20, 20.0


@dataclass
class Row:
    """One contender under one load: the best value of each figure over the rounds."""

    contender: str
    shape: str
    connections: int
    workers: int
    requests_per_s: float
    cpu_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    first_ms: float | None
    rss_mib: float
    failures: int


@dataclass(frozen=True)
class Bench:
    """Duration, rounds and cores of the measurements."""

    folder: Path
    rounds: int
    seconds: float
    gateway_cores: set[int]
    client_cores: set[int]

    def measure(self, contender: Contender, cells: tuple[tuple[str, int], ...], *, workers: int = 1) -> Measured:
        """Start a contender, send a test request, and run every load."""
        # With more than one worker, clients and upstream share the cores.
        is_spread = workers > 1
        cores = self.gateway_cores | self.client_cores if is_spread else self.gateway_cores
        clients = cores if is_spread else self.client_cores
        folder = Path(tempfile.mkdtemp(prefix=f"{contender.name}-", dir=self.folder))
        with ExitStack() as stack:
            port = free_port()
            command = [sys.executable, "-m", "bench.traffic.upstream", str(port)]
            upstream = stack.enter_context(started(command, cores=clients, log=folder / "upstream.log"))
            wait_for_port(upstream, port)
            gateways, target = stack.enter_context(contender.start(Place(folder, port, cores, workers)))
            seen = try_out(target, port, SHAPES["2k3"])
            rows = [
                self._cell(contender.name, SHAPES[shape], connections, gateways, target, clients, workers)
                for shape, connections in cells
            ]
            held = events_held_back(target, port)
        return Measured(rows, seen, held, target.is_tls)

    def _cell(
        self,
        name: str,
        shape: Shape,
        connections: int,
        gateways: list[Running],
        target: Target,
        clients: set[int],
        workers: int,
    ) -> Row:
        warm = self._load(target, shape, connections, clients, seconds=self.seconds / 2)
        # Requests in flight at the end of a round cost time and are not counted, so slow contenders get longer rounds.
        enough_s = _REQUESTS_PER_CONNECTION * connections / max(warm.requests_per_s, 0.1)
        seconds = min(max(self.seconds, enough_s), _LONGEST_S)
        loads: list[tuple[Load, float]] = []
        for _ in range(self.rounds if seconds == self.seconds else 1):
            before = sum(each.cpu_s() for each in gateways)
            done = self._load(target, shape, connections, clients, seconds=seconds)
            loads.append((done, sum(each.cpu_s() for each in gateways) - before))
        good = [(each, cpu_s) for each, cpu_s in loads if each.requests]
        first = [each.first_p50_ms for each, _ in good if each.first_p50_ms is not None]
        row = Row(
            name,
            shape.name,
            connections,
            workers,
            round(max((each.requests_per_s for each, _ in good), default=0.0), 1),
            round(min(cpu_s / each.requests * 1000 for each, cpu_s in good), 4) if good and gateways else None,
            round(min(each.p50_ms for each, _ in good), 3) if good else None,
            round(min(each.p99_ms for each, _ in good), 3) if good else None,
            round(min(first), 3) if first else None,
            round(sum(each.rss_bytes() for each in gateways) / 2**20, 1),
            sum(each.failures for each, _ in loads),
        )
        show(row)
        return row

    def _load(self, target: Target, shape: Shape, connections: int, clients: set[int], *, seconds: float) -> Load:
        if shape.chunks:
            return load_streams(target, shape, connections=connections, seconds=seconds, cores=clients)
        return load(target, shape, connections=connections, seconds=seconds, cores=clients, folder=self.folder)


@dataclass(frozen=True)
class Measured:
    """Results of one contender."""

    rows: list[Row]
    seen: Seen
    held: int
    """Stream events that were withheld unnecessarily."""
    is_tls: bool


def header() -> str:
    """Return the header of the table."""
    return (
        f"{'':12}{'load':>7}{'conn':>5}{'wrk':>4}{'requests/s':>12}{'CPU ms':>9}{'p50 ms':>9}{'p99 ms':>9}"
        f"{'first ms':>9}{'MiB':>7}{'failed':>7}"
    )


def show(row: Row) -> None:
    """Print one row of the table."""

    def figure(value: float | None, digits: int = 2) -> str:
        return "-" if value is None else f"{value:,.{digits}f}"

    print(
        f"{row.contender:12}{row.shape:>7}{row.connections:>5}{row.workers:>4}{row.requests_per_s:>12,.0f}"
        f"{figure(row.cpu_ms, 3):>9}{figure(row.p50_ms):>9}{figure(row.p99_ms):>9}{figure(row.first_ms):>9}"
        f"{row.rss_mib:>7.0f}{row.failures:>7}",
        flush=True,
    )


def measure(bench: Bench, names: list[str]) -> dict[str, Any]:
    """Measure these contenders."""
    rows: list[Row] = []
    tried: dict[str, dict[str, Any]] = {}
    print(header())
    for name in names:
        contender = CONTENDERS[name]
        found = bench.measure(contender, ALL + (MASKING if contender.is_masking else ()))
        rows += found.rows
        tried[name] = {**asdict(found.seen), "held_back": found.held, "tls": found.is_tls}
    two_workers = "not measured"
    if "sovctl" in names:
        try:
            rows += bench.measure(CONTENDERS["sovctl"], TWO_WORKERS, workers=2).rows
            two_workers = "measured"
        except SovctlError as error:
            problems = error.problems if isinstance(error, SpecError) else [error]
            two_workers = "refused: " + "; ".join(map(str, problems))
    return {"rows": [asdict(row) for row in rows], "round_trip": tried, "two_workers": two_workers}


def _turns(bench: Bench) -> list[dict[str, Any]]:
    """Measure the turns of conversations."""
    costs = turns.measure(
        bench.folder, gateway_cores=bench.gateway_cores, client_cores=bench.client_cores, rounds=bench.rounds
    )
    return [{**asdict(each), "ratio": each.ratio} for each in costs]


def _only_turns(bench: Bench, output: Path, *, is_checked: bool) -> int:
    """Measure the turns of conversations, and nothing else."""
    found = _turns(bench)
    judged = bars.judge_turns(found)
    write_atomic(output, json.dumps({"turns": found, "bars": [asdict(bar) for bar in judged]}, indent=2) + "\n")
    missed = bars.show_bars(judged)
    return int(is_checked and missed)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure the gateway and its peers.")
    parser.add_argument("--check", action="store_true", help="end with 1 when a bar is missed")
    parser.add_argument("--only", default=",".join(CONTENDERS), help="contenders, by comma: " + ", ".join(CONTENDERS))
    parser.add_argument("--quick", action="store_true", help="one round of two seconds; too short for a bar")
    parser.add_argument("--profile", choices=sorted(SHAPES), help="where our time goes under this load")
    parser.add_argument("--instructions", choices=sorted(SHAPES), help="how many a request of ours takes")
    parser.add_argument("--turns", action="store_true", help="the turns of conversations of ours only")
    parser.add_argument("--turn-instructions", choices=sorted(KINDS), help="how many the first and last turn take")
    parser.add_argument("--soak", type=int, metavar="REQUESTS", help="memory over so many requests")
    parser.add_argument("--output", type=Path, default=Path("build/bench/gateway.json"))
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := sorted(set(names) - set(CONTENDERS)):
        parser.error(f"--only: expected some of {', '.join(CONTENDERS)}, got {', '.join(unknown)}")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        parser.error("expected at least two cores: one for the gateway, one for its clients")
    is_only_turns = options.turns or options.turn_instructions
    if not is_only_turns:
        debian.make("nginx", "wrk")
    if not (is_only_turns or options.profile or options.instructions or options.soak):
        for environment in {each for name in names for each in CONTENDERS[name].environments}:
            environment.make()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that child processes are stopped
    is_alone = network.enter("bench.gateway", sys.argv[1:])
    options.output.parent.mkdir(parents=True, exist_ok=True)
    if options.soak:
        return soak.run(options.soak, options.output.parent, cores)
    with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:
        rounds, seconds = (1, 2.0) if options.quick else (3, 3.0)
        bench = Bench(Path(folder).absolute(), rounds, seconds, {cores[0]}, set(cores[1:]))
        if options.instructions:
            return instructions.run(SHAPES[options.instructions], bench.folder, cores, options.output.parent)
        if options.turn_instructions:
            return instructions.run_turns(KINDS[options.turn_instructions], bench.folder, cores, options.output.parent)
        if options.turns:
            return _only_turns(bench, options.output.with_name("gateway-turns.json"), is_checked=options.check)
        if options.profile:
            return stages.run(SHAPES[options.profile], bench.folder, cores, options.output.parent)
        result = measure(bench, names)
        if "sovctl" in names:
            result["turns"] = _turns(bench)
    result |= {
        "rounds": rounds,
        "seconds": seconds,
        "network": "loopback only" if is_alone else "host network: namespaces are not permitted",
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.platform(),
            "wake_us": machine.wake_us(bench.gateway_cores, bench.client_cores),
        },
        "peers": {e.name: e.freeze() for name in names for e in CONTENDERS[name].environments},
        "shapes": {shape.name: asdict(shape) for shape in SHAPES.values()},
    }
    result["bars"] = [asdict(bar) for bar in bars.judge(result)]
    write_atomic(options.output, json.dumps(result, indent=2) + "\n")
    missed = bars.show(result)
    return int(options.check and missed)


if __name__ == "__main__":
    sys.exit(main())
