"""Load of streamed answers: as wrk does it, but with the time to the first token, which wrk can't see.

    python -m bench.traffic.streams HOST PORT PATH KEY SHAPE CONNECTIONS SECONDS OFFSET [--tls]

A process of its own, so that it can be pinned; prints one JSON object.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator

import uvloop

from bench.traffic.prompts import SHAPES, VARIANTS, Shape, fill, pieces
from bench.traffic.wrk import Load, Target

_rounds = itertools.count(1)


def load_streams(target: Target, shape: Shape, *, connections: int, seconds: float, cores: set[int]) -> Load:
    """Run the client below once, pinned."""
    offset = next(_rounds) * 10_000_000 + 5_000_000_000
    command = ["taskset", "-c", ",".join(map(str, sorted(cores))), sys.executable, "-m", "bench.traffic.streams"]
    command += [target.host, str(target.port), target.path, target.key, shape.name, str(connections), str(seconds)]
    command += [str(offset), "--tls"] if target.is_tls else [str(offset)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Load(**json.loads(said))


class _Client(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], until: float, done: asyncio.Future[None]) -> None:
        self._requests, self._until, self._done = requests, until, done
        self._tail = b""
        self._sent = 0.0
        self._is_first = True
        self.total_s: list[float] = []
        self.first_s: list[float] = []
        self.failures = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        seen = self._tail + data
        if self._is_first and seen.startswith(b"HTTP/1.1 ") and not seen.startswith(b"HTTP/1.1 200"):
            self.failures += 1
            self._transport.close()
            return
        if self._is_first and b'"content":"' in seen.replace(b'"content":""', b"").replace(b": ", b":"):
            self._is_first = False
            self.first_s.append(time.perf_counter() - self._sent)
        if b"[DONE]" in seen and seen.endswith(b"0\r\n\r\n"):
            self.total_s.append(time.perf_counter() - self._sent)
            self._next()
            return
        self._tail = seen[-64:] if not self._is_first else seen[-4096:]

    def connection_lost(self, _error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)

    def _next(self) -> None:
        if time.perf_counter() > self._until:
            self._transport.close()
            return
        self._tail, self._is_first = b"", True
        self._sent = time.perf_counter()
        self._transport.write(next(self._requests))


def _requests(target: Target, shape: Shape, offset: int) -> Iterator[bytes]:
    templates = [pieces(shape, variant) for variant in range(VARIANTS)]
    head = f"POST {target.path} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\nAuthorization: Bearer {target.key}\r\n"
    for number in itertools.count(offset):
        body, _ = fill(templates[number % VARIANTS], number)
        yield f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _run(target: Target, shape: Shape, connections: int, seconds: float, offset: int) -> Load:
    loop = asyncio.get_running_loop()
    tls = None
    if target.is_tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE  # the bench's own certificate, on loopback
    requests = _requests(target, shape, offset)
    begun = time.perf_counter()
    ends = [loop.create_future() for _ in range(connections)]
    clients = [_Client(requests, begun + seconds, end) for end in ends]
    for client in clients:
        await loop.create_connection(lambda client=client: client, target.host, target.port, ssl=tls)
    await asyncio.wait(ends, timeout=seconds + 60)
    total = sorted(each for client in clients for each in client.total_s)
    first = sorted(each for client in clients for each in client.first_s)
    failures = sum(client.failures for client in clients)
    took_s = time.perf_counter() - begun
    if not total:
        return Load(0, took_s, 0.0, 0.0, failures)
    p50, p99 = total[len(total) // 2], total[len(total) * 99 // 100]
    return Load(len(total), took_s, p50 * 1000, p99 * 1000, failures, first[len(first) // 2] * 1000)


def main() -> None:
    """The command line."""
    is_tls = "--tls" in sys.argv
    host, port, path, key, shape, connections, seconds, offset = [a for a in sys.argv[1:] if a != "--tls"]
    target = Target(host, int(port), key, path, is_tls)
    result = uvloop.run(_run(target, SHAPES[shape], int(connections), float(seconds), int(offset)))
    print(json.dumps(vars(result)))


if __name__ == "__main__":
    main()
