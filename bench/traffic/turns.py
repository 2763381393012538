"""Cost of each turn of a conversation, in processor time of the gateway or in instructions.

    python -m bench.gateway --turns                     processor time; part of `make bench-gateway`
    python -m bench.gateway --turn-instructions chat    instructions of the first and of the last turn

Many conversations proceed together, turn by turn, and the gateway's time is read between two turns. The time is that of
all its threads, in nanoseconds (/proc/PID/task/TID/schedstat). The least of several rounds counts, because other work
on the machine only slows; each round has new conversations.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.contenders.ours import write_config

from .conversations import KINDS, TURNS, Conversation, Kind
from .process import Running, free_port, started, wait_for_port
from .wrk import Target

_CONNECTIONS = 16
_CONVERSATIONS = 128
_NS = 1e9
_MS = 1e3


@dataclass(frozen=True)
class TurnCosts:
    """Cost of the turns of one kind of conversation.

    Args:
        cpu_ms: of a request, by turn.
        body_bytes: mean size of a request, by turn.
    """

    kind: str
    cpu_ms: list[float]
    body_bytes: list[int]

    @property
    def ratio(self) -> float:
        """Cost of the last turn / cost of the first."""
        return self.cpu_ms[-1] / self.cpu_ms[0]


def measure(folder: Path, *, gateway_cores: set[int], client_cores: set[int], rounds: int) -> list[TurnCosts]:
    """Measure every kind, and print its row."""
    upstream_port = free_port()
    command = [sys.executable, "-m", "bench.traffic.upstream", str(upstream_port)]
    found = []
    with started(command, cores=client_cores, log=folder / "upstream.log") as upstream:
        wait_for_port(upstream, upstream_port)
        config, target = write_config(folder / "turns", upstream_port, free_port(), workers=1)
        serve = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
        with started(serve, cores=gateway_cores, log=folder / "log") as gateway:
            wait_for_port(gateway, target.port)
            for kind in KINDS.values():
                asyncio.run(_round(gateway, target, kind, number=0))  # warm-up
                each = [asyncio.run(_round(gateway, target, kind, number=round_ + 1)) for round_ in range(rounds)]
                cpu_ms = [round(min(costs), 4) for costs in zip(*(costs for costs, _ in each), strict=True)]
                found.append(TurnCosts(kind.name, cpu_ms, each[0][1]))
                show(found[-1])
    return found


def show(costs: TurnCosts) -> None:
    """Print one row of the table."""
    shown = " ".join(f"{cost:.3f}" for cost in costs.cpu_ms)
    print(f"{costs.kind:12}CPU ms of turns 1 to {TURNS}: {shown}; the last / the first: {costs.ratio:.2f}", flush=True)


async def _round(gateway: Running, target: Target, kind: Kind, number: int) -> tuple[list[float], list[int]]:
    """Return the processor time and the size of a request, by turn."""
    conversations = [Conversation(kind, number * _CONVERSATIONS + each) for each in range(_CONVERSATIONS)]
    async with Clients(target) as clients:
        costs, sizes = [], []
        for _ in range(TURNS):
            before = _cpu_s(gateway)
            sizes.append(await clients.turn(conversations) // len(conversations))
            await asyncio.sleep(0.05)  # the last audit records
            costs.append((_cpu_s(gateway) - before) / len(conversations) * _MS)
    return costs, sizes


class Clients:
    """Connections over which conversations proceed."""

    def __init__(self, target: Target, connections: int = _CONNECTIONS) -> None:
        self._target = target
        self._connections = connections
        self._streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> Clients:
        for _ in range(self._connections):
            self._streams.append(await asyncio.open_connection(self._target.host, self._target.port, limit=1 << 20))
        return self

    async def __aexit__(self, *_error: object) -> None:
        for _, writer in self._streams:
            writer.close()

    async def turn(self, conversations: list[Conversation]) -> int:
        """Let every conversation make one turn; return the bytes of all requests."""
        sizes = [
            self._lane(reader, writer, conversations[place :: len(self._streams)])
            for place, (reader, writer) in enumerate(self._streams)
        ]
        return sum(await asyncio.gather(*sizes))

    async def _lane(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, conversations: list[Conversation]
    ) -> int:
        sent, target = 0, self._target
        for conversation in conversations:
            data = conversation.ask()
            more = "".join(f"{name}: {value}\r\n" for name, value in conversation.headers.items())
            writer.write(
                f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\nAuthorization: Bearer {target.key}\r\n{more}"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
                + data
            )
            sent += len(data)
            conversation.hear(_text_of(await read_answer(reader)))
        return sent


async def read_answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Read one response.

    Raises:
        RuntimeError: the status is not 200.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    data = await reader.readexactly(int(length.group(1))) if length else b""
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"expected an answer, got {head.splitlines()[0].decode(errors='replace')}: {data[:400]!r}")
    answer: dict[str, Any] = json.loads(data)
    return answer


def _text_of(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


def _cpu_s(gateway: Running) -> float:
    """Return the processor time of all threads so far."""
    total = 0
    for pid in gateway.pids():
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / _NS
