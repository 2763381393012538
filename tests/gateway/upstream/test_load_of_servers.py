"""Load is read from real servers in the background, and steers where conversations go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from loop_clock import pass_time
from raw_server import RawServer, Step, ok
from vllm_metrics import metrics

from sovctl.gateway.settings import Limits, RoutingSettings, UpstreamKind, UpstreamSettings
from sovctl.gateway.upstream import Attempts, Upstream
from sovctl.gateway.upstream.server_choice import State

BODY = b"{}"


def test_status_shows_queue_cache_and_server_order() -> None:
    async def run() -> None:
        async with pool_of(2) as (upstream, servers, looked):
            servers[0].metrics = metrics(waiting=3, running=7, kv_usage=0.25)
            await asyncio.wait_for(looked(), 60)
            upstream.servers[1].ejected_until_s = asyncio.get_running_loop().time() + 9
            first, second = upstream.as_record()["servers"]
            assert (first["waiting"], first["running"], first["kv_usage"], first["is_ejected"]) == (3, 7, 0.25, False)
            assert (second["waiting"], second["is_ejected"]) == (0, True)
            stale = upstream.servers[0].as_record(asyncio.get_running_loop().time() + 60, stale_after_s=5)
            assert (stale["waiting"], stale["kv_usage"], stale["load_age_s"]) == (None, None, None)

    asyncio.run(run())


class VllmServer:
    """A server that answers, with metrics that a test can change."""

    def __init__(self) -> None:
        self.metrics = metrics()
        self.status = "200 OK"
        self.looked = asyncio.Event()
        self.asked = 0

    def script(self, request: bytes) -> list[Step]:
        if request.startswith(b"GET /metrics "):
            self.looked.set()
            return [ok(self.metrics, status=self.status)]
        self.asked += 1
        return [ok(b"{}")]


@asynccontextmanager
async def pool_of(
    count: int, **routing: float
) -> AsyncIterator[tuple[Upstream, list[VllmServer], Callable[[], asyncio.Future[None]]]]:
    """A pool, its servers, and what waits until all have been looked at once more."""
    async with AsyncExitStack() as stack:
        servers = [VllmServer() for _ in range(count)]
        raw = [await stack.enter_async_context(RawServer(server.script)) for server in servers]
        settings = UpstreamSettings(
            name="chat", kind=UpstreamKind.POOL, base_urls=[each.url for each in raw], model="m"
        )
        wanted = RoutingSettings(scrape_every_s=0.05, **routing)
        upstream = await stack.enter_async_context(Upstream(settings, Limits(), wanted))

        async def looked() -> None:
            for _ in range(
                3
            ):  # the first may have been under way already, and the third comes after the second is read
                for server in servers:
                    server.looked.clear()
                    await server.looked.wait()

        yield upstream, servers, looked  # type: ignore[misc]


async def ask(upstream: Upstream, key: int | None = None, tokens: int = 10) -> str:
    """Which server answered."""
    attempts = Attempts()
    answer = await upstream.post("x", BODY, is_stream=False, key=key, tokens=tokens, attempts=attempts)
    await answer.read(at_most=100)
    answer.release()
    return attempts.words()[-1]


def test_a_conversation_stays_with_its_server_until_that_is_full() -> None:
    async def run() -> None:
        async with pool_of(3) as (upstream, servers, looked):
            await looked()
            home = {await ask(upstream, key=77) for _ in range(5)}
            assert len(home) == 1
            number = int(home.pop().split("/")[1].split(":")[0])
            servers[number].metrics = metrics(waiting=9, running=8)
            await looked()
            assert await ask(upstream, key=77) != f"chat/{number}:200"
            servers[number].metrics = metrics()
            await looked()
            assert await ask(upstream, key=77) == f"chat/{number}:200"

    asyncio.run(run())


def test_the_state_of_a_pool_is_that_of_its_servers() -> None:
    async def run() -> None:
        async with pool_of(2) as (upstream, servers, looked):
            await looked()
            assert upstream.state() == State(free_kv_tokens=16_000)
            for server in servers:
                server.metrics = metrics(waiting=5, kv_usage=0.9)
            await looked()
            assert upstream.state() == State(has_long_queue=True, free_kv_tokens=1_599)

    asyncio.run(run())


def test_server_without_current_metrics_has_unknown_load() -> None:
    async def run() -> None:
        async with pool_of(1, stale_after_s=60) as (upstream, (server,), looked):
            server.metrics = metrics(waiting=50)
            await looked()
            server.status = "404 Not Found"
            await looked()
            assert upstream.state().has_long_queue
            pass_time(60)
            assert not upstream.state().has_long_queue
            assert upstream.servers[0].load is not None  # the last one known, and too old

    asyncio.run(run())


def test_looking_at_servers_is_no_request_of_anybody() -> None:
    async def run() -> None:
        async with pool_of(2) as (upstream, servers, looked):
            await looked()
            assert [server.in_flight for server in upstream.servers] == [0, 0]
            assert [server.asked for server in servers] == [0, 0]

    asyncio.run(run())


def test_slow_outlier_server_is_ejected_temporarily() -> None:
    async def run() -> None:
        async with pool_of(2) as (upstream, _, looked):
            await looked()
            upstream.servers[0].latencies_s.extend([2.0] * 20)
            upstream.servers[1].latencies_s.extend([0.1] * 20)
            await looked()
            assert {await ask(upstream, key=key) for key in range(20)} == {"chat/1:200"}
            # The other one can't be sent away as well: half of them must stay.
            upstream.servers[1].latencies_s.extend([9.0] * 32)
            upstream.servers[0].latencies_s.extend([0.1] * 20)
            await looked()
            assert upstream.servers[1].ejected_until_s == 0

    asyncio.run(run())
