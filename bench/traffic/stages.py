"""CPU profile of a running gateway under load, by module and function.

    python -m bench.gateway --profile 2k3

A CPU timer (ITIMER_PROF) interrupts the gateway's main thread every millisecond and records the stack. A tracing
profiler would slow frequent calls; sampling does not. Time in C code is attributed to the calling Python function. Time
of other threads (vault, ledger) is printed by thread. The stacks are written to build/bench/gateway.stacks, one line
each with a count, in the format of flame graph tools.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_INTERVAL_S = 0.001
_ROWS = 45


def run(shape: object, folder: Path, cores: list[int], output: Path) -> int:
    """Profile our gateway under this shape; print the table."""
    # Imported here, because this module also runs inside the gateway's process.
    from bench.contenders.ours import write_config
    from bench.traffic.process import free_port, started, wait_for_port
    from bench.traffic.prompts import Shape
    from bench.traffic.streams import load_streams
    from bench.traffic.wrk import load

    assert isinstance(shape, Shape)
    clients, upstream_port = set(cores[1:]), free_port()
    command = [sys.executable, "-m", "bench.traffic.upstream", str(upstream_port)]
    samples = folder / "samples.json"
    with started(command, cores=clients, log=folder / "upstream.log") as upstream:
        wait_for_port(upstream, upstream_port)
        config, target = write_config(folder / "ours", upstream_port, free_port(), workers=1)
        ours = [sys.executable, "-m", "bench.traffic.stages", str(config), str(samples)]
        with started(ours, cores={cores[0]}, log=folder / "log") as gateway:
            wait_for_port(gateway, target.port)

            def once(seconds: float) -> int:
                if shape.chunks:
                    return load_streams(target, shape, connections=16, seconds=seconds, cores=clients).requests
                return load(target, shape, connections=16, seconds=seconds, cores=clients, folder=folder).requests

            once(2)
            os.kill(_profiled(gateway.pids(), samples), signal.SIGUSR1)
            before = gateway.cpu_s()
            threads = _thread_cpu_s(gateway.pids())
            requests = once(8)
            cpu_s = gateway.cpu_s() - before
            spent = {name: at - threads.get(name, 0.0) for name, at in _thread_cpu_s(gateway.pids()).items()}
    stacks = Counter({tuple(stack): count for stack, count in json.loads(samples.read_text())})
    (output / "gateway.stacks").write_text("".join(f"{';'.join(s)} {n}\n" for s, n in stacks.most_common()))
    _show(stacks, requests, cpu_s, spent, shape.name)
    return 0


def _profiled(pids: list[int], samples: Path) -> int:
    """The process that writes `samples`, and not the `taskset` it may have come from."""
    return next(pid for pid in pids if str(samples) in Path(f"/proc/{pid}/cmdline").read_text())


def _thread_cpu_s(pids: list[int]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                name = f"{(task / 'comm').read_text().strip()}/{task.name}"
                spent[name] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return spent


def _show(stacks: Counter[tuple[str, ...]], requests: int, cpu_s: float, spent: dict[str, float], load: str) -> None:
    total = sum(stacks.values())
    print(f"{load}: {requests} requests, {cpu_s / requests * 1000:.3f} CPU ms each, {total} samples of the main thread")
    main_s = max(spent.values())
    for name, seconds in sorted(spent.items(), key=lambda each: -each[1]):
        if seconds > 0.01 * cpu_s:
            print(f"  thread {name:24}{seconds / requests * 1000:8.3f} ms per request")
    ms = main_s / requests * 1000 / total  # of one sample
    for title, counts in _groups(stacks):
        print(f"\n{title:64}{'ms/request':>11}{'share':>8}")
        for name, count in counts.most_common(_ROWS):
            if count * 200 >= total:
                print(f"{name:64}{count * ms:>11.4f}{count / total:>8.1%}")


def _groups(stacks: Counter[tuple[str, ...]]) -> Iterator[tuple[str, Counter[str]]]:
    modules, own, inside = Counter[str](), Counter[str](), Counter[str]()
    for stack, count in stacks.items():
        modules[stack[-1].rpartition(":")[0]] += count
        own[stack[-1]] += count
        for each in {frame for frame in stack if frame.startswith("sovctl.")}:
            inside[each] += count
    yield "self time by module, C code called from it included", modules
    yield "self time by function", own
    yield "our functions with everything they call", inside


def _sample(target: Path) -> None:
    """Note the main thread's stack at every tick of processor time, once SIGUSR1 has come; written at the end."""
    stacks: Counter[tuple[str, ...]] = Counter()

    def tick(_signal: int, frame: FrameType | None) -> None:
        stack: list[str] = []
        while frame is not None:
            stack.append(f"{frame.f_globals.get('__name__', '?')}:{frame.f_code.co_qualname}")
            frame = frame.f_back
        stacks[tuple(reversed(stack))] += 1

    def begin(_signal: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGPROF, tick)
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGTERM, stop)  # uvicorn raises the signal again at its end; the default would just end us
    from sovctl.gateway.commands.main import main

    try:
        main(["serve", "--config", sys.argv[1]])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.write_text(json.dumps([[stack, count] for stack, count in stacks.items()]))


if __name__ == "__main__":
    _sample(Path(sys.argv[2]))
