"""Does a tenant with ten times the load delay another tenant? The gateway's fair queue and limits, on a real gateway.

    make bench-fairness                     prints a table, writes build/bench/fairness.json
    python -m bench.fairness --check        exits with 1 if the quiet tenant's p95 grows by more than its target

The upstream is invented: it serves 8 requests at a time in the order of arrival, each for 200 ms, as a server with
`max_num_seqs: 8` does without priorities. Tenant `quiet` has 4 connections, tenant `loud` has 40; each sends its next
request after the answer. `alone` is `quiet` without `loud`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.traffic.process import free_port, started, wait_for_port
from sovctl.support.atomic_files import write_atomic

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / each) for each in (".", "gateway")]

from loopback_gateway import write_loopback_config  # type: ignore[import-not-found]  # noqa: E402 - a module of the tests

RESULT = Path("build/bench/fairness.json")
SLOTS, SERVICE_S, RETRY_S = 8, 0.2, 1.0
QUIET, LOUD = 4, 40
MAX_RATIO = 2.0
"""Most growth of the quiet tenant's p95 with the fair queue: half of the slots serve it; chosen 2026-11."""
SETTINGS: dict[str, dict[str, Any]] = {
    "alone": {},
    "no fairness": {},
    "loud has concurrent_requests: 8": {"limits_of_loud": {"concurrent_requests": SLOTS}},
    "fair queue of 8": {"limits": {"max_concurrent_requests": SLOTS}},
    "fair queue of 8, quiet has weight 3": {
        "limits": {"max_concurrent_requests": SLOTS, "tenant_weights": {"quiet": 3}}
    },
}


@dataclass(frozen=True)
class Row:
    """One arrangement; times in milliseconds, of the answers with status 200."""

    name: str
    quiet_p50_ms: float
    quiet_p95_ms: float
    ratio: float
    quiet_per_s: float
    loud_per_s: float
    refused: int


class Upstream:
    """A server with a fixed number of slots, in the order of arrival."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(SLOTS)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        message = {"role": "assistant", "content": "done"}
        usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        text = json.dumps({"id": "1", "object": "chat.completion", "model": "big", "choices": [choice], "usage": usage})
        answer = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n{text}"
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await _message(reader)
                async with self._slots:
                    await asyncio.sleep(SERVICE_S)
                writer.write(answer.encode())
                await writer.drain()
        writer.close()


async def _message(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the status, 0 for a request, and the body of a message."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    first, *fields = head.split("\r\n")
    sizes = [int(each.partition(":")[2]) for each in fields if each.startswith("content-length:")]
    body = await reader.readexactly(sizes[0]) if sizes else b""
    return int(first.split()[1]) if first.startswith("http/") else 0, body


async def _client(port: int, key: str, until_s: float, times: list[float], refused: list[int]) -> None:
    body = json.dumps({"model": "assistant", "messages": [{"role": "user", "content": "hello"}]})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n"
    request = f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (begun := time.perf_counter()) < until_s:
        writer.write(request)
        status, _ = await _message(reader)
        if status == 200:
            times.append(1000 * (time.perf_counter() - begun))
        else:
            refused.append(status)
            await asyncio.sleep(RETRY_S)  # `retry-after`
    writer.close()


def _config(folder: Path, pool_port: int, given: Mapping[str, Any]) -> tuple[Path, int]:
    clients = [
        {"name": name, "tenant": name, "key_sha256": hashlib.sha256(f"key-of-tenant-{name}".encode()).hexdigest(),
         **({"limits": given["limits_of_loud"]} if name == "loud" and "limits_of_loud" in given else {})}
        for name in ("quiet", "loud")
    ]  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "tenants.json").write_text(json.dumps(clients))
    (folder / "tenants.json").chmod(0o600)
    path: Path = write_loopback_config(
        folder,
        cloud_port=free_port(),
        pool_port=pool_port,
        routes=[{"model": "assistant", "pool": "chat"}],
        clients_file=str(folder / "tenants.json"),
        workers=1,
        **({"limits": given["limits"]} if "limits" in given else {}),
        **({"quota": {"path": str(folder / "quota.db")}} if "limits_of_loud" in given else {}),
    )
    return path, yaml.safe_load(path.read_text())["listen"]["port"]


async def _load(port: int, seconds: float, *, has_loud: bool) -> tuple[list[float], list[float], int]:
    until_s = time.perf_counter() + seconds
    quiet, loud, refused = list[float](), list[float](), list[int]()
    clients = [_client(port, "key-of-tenant-quiet", until_s, quiet, refused) for _ in range(QUIET)]
    clients += [_client(port, "key-of-tenant-loud", until_s, loud, refused) for _ in range(LOUD if has_loud else 0)]
    await asyncio.gather(*clients)
    return quiet, loud, len(refused)


async def measure(folder: Path, seconds: float) -> list[Row]:
    """Return one row for each arrangement, each with a gateway process of its own."""
    rows: list[Row] = []
    server = await asyncio.start_server(Upstream().serve, "127.0.0.1", 0)
    pool_port = server.sockets[0].getsockname()[1]
    for number, (name, given) in enumerate(SETTINGS.items()):
        config, port = _config(folder / str(number), pool_port, given)
        command = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
        with started(command, cores={0, 1}, log=folder / f"{number}.log") as gateway:
            await asyncio.to_thread(wait_for_port, gateway, port)
            await _load(port, 1.0, has_loud=False)
            quiet, loud, refused = await _load(port, seconds, has_loud=name != "alone")
        p95 = statistics.quantiles(quiet, n=20)[-1]
        alone = rows[0].quiet_p95_ms if rows else p95
        rows.append(
            Row(
                name,
                quiet_p50_ms=statistics.median(quiet),
                quiet_p95_ms=p95,
                ratio=p95 / alone,
                quiet_per_s=len(quiet) / seconds,
                loud_per_s=len(loud) / seconds,
                refused=refused,
            )
        )
    server.close()
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as text."""
    lines = [f"{'arrangement':<37}{'quiet p50':>11}{'p95':>10}{'p95 ratio':>11}{'quiet/s':>9}{'loud/s':>9}{'429':>7}"]
    lines += [
        f"{each.name:<37}{each.quiet_p50_ms:>8.0f} ms{each.quiet_p95_ms:>7.0f} ms{each.ratio:>10.1f}x"
        f"{each.quiet_per_s:>9.1f}{each.loud_per_s:>9.1f}{each.refused:>7}"
        for each in rows
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0, help="duration of each arrangement")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the ratio with the fair queue is too high")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sovctl-fairness-") as name:
        rows = asyncio.run(measure(Path(name), options.seconds))
    print(table(rows))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps([asdict(each) for each in rows], indent=2) + "\n")
    fair = next(each for each in rows if each.name == "fair queue of 8")
    return 1 if options.check and fair.ratio > MAX_RATIO else 0


if __name__ == "__main__":
    sys.exit(main())
