"""Counts the instructions of sovctl's gateway per request, independent of the load of the machine.

    python -m bench.gateway --instructions 2k3
    python -m bench.gateway --turn-instructions chat      of the first and of the last turn of a conversation

The gateway runs under valgrind's callgrind, which counts the instructions of all its threads, without the kernel.
Counting starts after warm-up requests. Results repeat within 0.5 %. The instructions by C function are written to
build/bench/gateway.callgrind, for callgrind_annotate or KCachegrind.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contenders import debian
from bench.contenders.ours import write_config
from bench.traffic.conversations import TURNS, Conversation, Kind
from bench.traffic.process import Running, free_port, started, wait_for_port
from bench.traffic.prompts import Shape, body
from bench.traffic.turns import Clients
from bench.traffic.wrk import Target

_CONNECTIONS = 16
_WARM, _COUNTED = 6, 5
"""Requests of each connection."""
_CONVERSATIONS = 32
_FEW_CONNECTIONS = 4  # for turns, whose later requests are long; a slow gateway reaches its timeouts with more
_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
_START_TIMEOUT_S = 600.0  # the start is about 20 times slower under valgrind


def run(shape: Shape, folder: Path, cores: list[int], output: Path) -> int:
    """Print the instructions per request of this shape."""
    with _counted_gateway(folder, cores) as (target, counter):
        asyncio.run(_ask(target, shape, first=0, each=_WARM))
        with counter.counting():
            asyncio.run(_ask(target, shape, first=_WARM * _CONNECTIONS, each=_COUNTED))
    shutil.copy(counter.file, output / "gateway.callgrind")
    print(
        f"{shape.name}: {counter.totals()[-1] / (_COUNTED * _CONNECTIONS) / 1e6:.2f} million instructions per request"
    )
    return 0


def run_turns(kind: Kind, folder: Path, cores: list[int], output: Path) -> int:
    """Print the instructions of a request in the first and in the last turn of conversations of this kind."""
    conversations = [Conversation(kind, number) for number in range(_CONNECTIONS, _CONNECTIONS + _CONVERSATIONS)]

    async def turns(some: list[Conversation], number: int) -> None:
        async with Clients(target, connections=_FEW_CONNECTIONS) as clients:
            for _ in range(number):
                await clients.turn(some)

    with _counted_gateway(folder, cores) as (target, counter):
        asyncio.run(turns([Conversation(kind, number) for number in range(_CONNECTIONS)], TURNS))
        with counter.counting():
            asyncio.run(turns(conversations, 1))
        counter.dump()
        asyncio.run(turns(conversations, TURNS - 2))
        with counter.counting():
            asyncio.run(turns(conversations, 1))
    shutil.copy(counter.file, output / "gateway-turns.callgrind")
    first, last = (total / _CONVERSATIONS / 1e6 for total in counter.totals())
    print(
        f"{kind.name}: {first:.2f} million instructions in turn 1, {last:.2f} in turn {TURNS}: {last / first:.2f} times"
    )
    return 0


class _Counter:
    """Counts the instructions of one gateway.

    Args:
        file: of the last part; `dump` ends a part, whose file has a number at its end.
    """

    def __init__(self, gateway: Running, file: Path, environment: dict[str, str]) -> None:
        self.file = file
        self._gateway = gateway
        self._environment = environment

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the instructions within this context."""
        self._control("-i", "on")
        yield
        self._control("-i", "off")

    def dump(self) -> None:
        """Begin to count at zero again."""
        self._control("-d")

    def totals(self) -> list[int]:
        """Return the instructions of every part, in order; the gateway must have ended."""
        # A part at the end of the process may be empty, or the only one.
        files = [*sorted(self.file.parent.glob(f"{self.file.name}.*")), self.file]
        counts = [sum(int(each) for each in _TOTAL.findall(file.read_text(errors="replace"))[-1:]) for file in files]
        return [count for count in counts if count]

    def _control(self, *words: str) -> None:
        switch = [_control(), *words, *map(str, self._gateway.pids())]
        subprocess.run(switch, check=True, capture_output=True, env={**os.environ, **self._environment})


@contextmanager
def _counted_gateway(folder: Path, cores: list[int]) -> Iterator[tuple[Target, _Counter]]:
    """Start a gateway under callgrind, and its upstream."""
    debian.make("valgrind")
    upstream_port, counted = free_port(), folder / "callgrind"
    environment = {**debian.libraries(), "PYTHONHASHSEED": "0"}  # fixed order of sets
    command = [sys.executable, "-m", "bench.traffic.upstream", str(upstream_port)]
    with started(command, cores=set(cores), log=folder / "upstream.log") as upstream:
        wait_for_port(upstream, upstream_port)
        config, target = write_config(folder / "ours", upstream_port, free_port(), workers=1)
        valgrind = [debian.program("valgrind"), "--tool=callgrind", "--quiet", "--instr-atstart=no"]
        serve = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
        command = [*valgrind, f"--callgrind-out-file={counted}", *serve]
        with started(command, cores=set(cores), log=folder / "log", env=environment) as gateway:
            wait_for_port(gateway, target.port, timeout_s=_START_TIMEOUT_S)
            yield target, _Counter(gateway, counted, environment)


def _control() -> str:
    return str(Path(debian.program("valgrind")).with_name("callgrind_control"))


async def _ask(target: Target, shape: Shape, *, first: int, each: int) -> None:
    """Send `each` requests over every connection."""

    async def one(place: int) -> None:
        reader, writer = await asyncio.open_connection(target.host, target.port)
        for number in range(first + place * each, first + (place + 1) * each):
            data = body(shape, number)
            writer.write(
                f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\nAuthorization: Bearer {target.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
                + data
            )
            await _answer(reader)
        writer.close()

    await asyncio.gather(*map(one, range(_CONNECTIONS)))


async def _answer(reader: asyncio.StreamReader) -> None:
    """Read one response.

    Raises:
        RuntimeError: the status is not 200.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"expected an answer, got {head.splitlines()[0].decode(errors='replace')}")
    if length := re.search(rb"content-length: (\d+)", head):
        await reader.readexactly(int(length.group(1)))
    else:
        await reader.readuntil(b"\r\n0\r\n\r\n")
