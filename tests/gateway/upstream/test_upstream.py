"""Several servers, one upstream: who is asked, how often, and what is on record about it. Real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from loop_clock import pass_time, stop_clock
from raw_server import Close, RawServer, Step, chunked, ok

from sovctl.gateway.domain.errors import UpstreamFailed, UpstreamRejected
from sovctl.gateway.settings import Limits, UpstreamKind, UpstreamSettings
from sovctl.gateway.upstream import Attempts, Upstream
from sovctl.gateway.upstream.breaker import State
from sovctl.gateway.upstream.server import MAX_IN_FLIGHT

Script = Callable[[bytes], Sequence[Step]]
BODY = b'{"model": "m"}'


def always(*steps: Step) -> Script:
    return lambda _: steps


FINE, DOWN = always(ok(b"{}")), always(ok(b"no", status="500 x"))


@asynccontextmanager
async def upstream_of(*scripts: Script, **settings: Any) -> Any:
    """An upstream and its servers."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(RawServer(script)) for script in scripts]
        urls = [server.url for server in servers]
        made = UpstreamSettings(name="u", kind=UpstreamKind.CLOUD, base_urls=urls, model="m", **settings)
        upstream = await stack.enter_async_context(Upstream(made, Limits()))
        upstream._random.randrange = lambda _: 0  # the first server comes first
        yield upstream, servers


async def ask(upstream: Upstream, **options: Any) -> tuple[str, list[str]]:
    """What came of a request: its body or the cause, and its attempts."""
    attempts = Attempts()
    try:
        answer = await upstream.post("x", BODY, is_stream=False, attempts=attempts, **options)
        try:
            body = await answer.read(at_most=1 << 20)
        finally:
            answer.release()
        return body.decode(), attempts.words()
    except (UpstreamFailed, UpstreamRejected) as error:
        return str(error), attempts.words()
    finally:
        assert all(server.in_flight == 0 for server in upstream.servers)


def test_one_connection_serves_many_requests() -> None:
    async def run() -> None:
        async with upstream_of(FINE) as (upstream, (server,)):
            for _ in range(5):
                assert await ask(upstream) == ("{}", ["u/0:200"])
            assert server.connections == 1
            head = server.requests[0].split(b"\r\n\r\n")[0].decode()
            assert head.startswith("POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:")
            assert "Accept-Encoding: identity" in head
            assert server.requests[0].endswith(BODY)

    asyncio.run(run())


def test_a_server_that_fails_is_followed_by_the_next() -> None:
    async def run() -> None:
        async with upstream_of(DOWN, FINE) as (upstream, _):
            assert await ask(upstream) == ("{}", ["u/0:status-500", "u/1:200"])
        async with upstream_of(FINE, FINE) as (upstream, servers):
            await servers[0].__aexit__()
            assert await ask(upstream) == ("{}", ["u/0:connect", "u/1:200"])

    asyncio.run(run())


def test_request_on_closed_idle_connection_is_resent_only_with_permission() -> None:
    async def run() -> None:
        for may_resend, outcome, connections in ((True, ("{}", ["u/0:200"]), 2), (False, ("stale", ["u/0:stale"]), 1)):
            requests = iter([ok(b"{}"), Close, ok(b"{}")])
            async with upstream_of(lambda _, left=requests: [next(left)]) as (upstream, (server,)):
                assert await ask(upstream) == ("{}", ["u/0:200"])
                assert await ask(upstream, may_resend=may_resend) == outcome
                assert server.connections == connections
                assert upstream.servers[0].breaker.state(0) is State.CLOSED

    asyncio.run(run())


def test_overloaded_server_is_awaited_only_without_alternative_and_up_to_a_limit() -> None:
    async def run() -> None:
        answers = iter([ok(b"", "retry-after: 0", status="503 x"), ok(b"{}")])
        async with upstream_of(lambda _: [next(answers)]) as (upstream, _):
            assert await ask(upstream) == ("{}", ["u/0:status-503", "u/0:200"])
            assert upstream.servers[0].breaker.state(0) is State.CLOSED
        for options, retry_after in (({"may_wait": False}, "0"), ({}, "9")):
            busy = always(ok(b"", f"retry-after: {retry_after}", status="429 x"))
            async with upstream_of(busy, failures_until_open=1) as (upstream, (server,)):
                assert await ask(upstream, **options) == ("status-429", ["u/0:status-429"])
                assert len(server.requests) == 1
                assert not upstream.state().is_down  # overload is no breakdown

    asyncio.run(run())


def test_an_overloaded_server_is_asked_last_until_its_time_is_up() -> None:
    async def run() -> None:
        busy = always(ok(b"", "retry-after: 30", status="503 x"))
        async with upstream_of(busy, FINE) as (upstream, servers):
            for _ in range(4):
                assert (await ask(upstream))[0] == "{}"
            assert [len(server.requests) for server in servers] == [1, 4]

    asyncio.run(run())


def test_failing_server_is_skipped_and_then_probed() -> None:
    async def run() -> None:
        async with upstream_of(DOWN, down_s=60, failures_until_open=2) as (upstream, (server,)):
            for _ in range(2):
                assert await ask(upstream) == ("status-500", ["u/0:status-500"])
            assert upstream.state().is_down
            assert await ask(upstream) == ("open", [])
            assert len(server.requests) == 2
        async with upstream_of(DOWN, down_s=0, failures_until_open=2) as (upstream, (server,)):
            for _ in range(2):
                await ask(upstream)
            server.script = FINE
            assert await ask(upstream) == ("{}", ["u/0:200"])
            assert not upstream.state().is_down

    asyncio.run(run())


def test_answers_that_break_off_open_the_circuit() -> None:
    async def run() -> None:
        script = always(*chunked(b"abc", is_ended=False), Close)
        async with upstream_of(script, down_s=60) as (upstream, _):
            for _ in range(3):
                assert await ask(upstream) == ("broken", ["u/0:broken"])
            assert upstream.state().is_down

    asyncio.run(run())


def test_an_outage_of_all_servers_is_not_made_worse() -> None:
    async def run() -> None:
        async with upstream_of(DOWN, DOWN, DOWN, failures_until_open=100) as (upstream, servers):
            upstream._budget._balance, upstream._budget._at_s = 5.0, asyncio.get_running_loop().time()
            upstream._budget.free_per_s = 0
            for _ in range(50):
                await ask(upstream)
            assert sum(len(server.requests) for server in servers) <= 50 + 5 + 0.2 * 50

    asyncio.run(run())


def test_a_deadline_ends_an_attempt_and_says_nothing_about_the_server() -> None:
    async def run() -> None:
        async with upstream_of(always(asyncio.Event()), FINE, failures_until_open=1) as (upstream, servers):
            now_s = asyncio.get_running_loop().time()
            asking = asyncio.create_task(ask(upstream, deadline_s=now_s + 60))
            await servers[0].asked()
            pass_time(60)
            assert await asking == ("deadline", ["u/0:deadline"])
            assert not upstream.state().is_down
            assert await ask(upstream, deadline_s=now_s) == ("deadline", [])
            assert [len(server.requests) for server in servers] == [1, 0]

    asyncio.run(run())


def test_gateway_timeout_counts_as_server_failure() -> None:
    async def run() -> None:
        script = always(asyncio.Event())
        async with upstream_of(script, failures_until_open=1, answer_timeout_s=0.05) as (upstream, _):
            assert await ask(upstream) == ("timeout", ["u/0:timeout"])
            assert upstream.state().is_down

    asyncio.run(run())


def test_a_client_that_leaves_ends_the_work_of_the_server() -> None:
    async def run() -> None:
        async with upstream_of(always(*chunked(b"abc", is_ended=False), asyncio.Event())) as (upstream, (server,)):
            answer = await upstream.post("x", BODY, is_stream=True)
            assert await answer.piece() == b"abc"
            answer.release()
            await asyncio.wait_for(server.gone(), 60)
        async with upstream_of(always(asyncio.Event())) as (upstream, (server,)):
            attempts = Attempts()
            asking = asyncio.create_task(upstream.post("x", BODY, is_stream=False, attempts=attempts))
            await server.asked()
            asking.cancel()
            await asyncio.wait([asking])
            await asyncio.wait_for(server.gone(), 60)
            assert attempts.words() == ["u/0:sent"]  # it left, whatever came of it
            assert upstream.servers[0].in_flight == 0

    asyncio.run(run())


def test_the_end_of_a_stream_gives_its_connection_back() -> None:
    async def run() -> None:
        script = always(*chunked(b"data: [DONE]\n\n", is_ended=False), b"0\r\n\r\n")
        async with upstream_of(script) as (upstream, (server,)):
            kept, keep = asyncio.Event(), upstream.servers[0]._keep
            upstream.servers[0]._keep = lambda connection: (keep(connection), kept.set())
            for _ in range(4):
                answer = await upstream.post("x", BODY, is_stream=True)
                assert await answer.piece() == b"data: [DONE]\n\n"
                answer.finished()
                answer.release()
                await kept.wait()
                kept.clear()
            assert server.connections == 1

    asyncio.run(run())


@pytest.mark.parametrize("steps", [(ok(b"abcdef"),), chunked(b"abc", b"def")])
def test_an_answer_is_read_whole(steps: Sequence[Step]) -> None:
    async def run() -> None:
        async with upstream_of(always(*steps)) as (upstream, (server,)):
            for _ in range(2):
                answer = await upstream.post("x", BODY, is_stream=False)
                assert await answer.read(at_most=6) == b"abcdef"
                answer.release()
            assert server.connections == 1

    asyncio.run(run())


@pytest.mark.parametrize("steps", [(ok(b"abcdef"),), chunked(b"abc", b"def", is_ended=False)])
def test_an_answer_is_not_read_beyond_its_limit(steps: Sequence[Step]) -> None:
    async def run() -> None:
        async with upstream_of(always(*steps, asyncio.Event())) as (upstream, _):
            answer = await upstream.post("x", BODY, is_stream=False)
            with pytest.raises(UpstreamFailed, match="too-large"):
                await answer.read(at_most=5)
            answer.release()
            assert upstream.servers[0].in_flight == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    ("status", "said", "cause"),
    [
        ("400 x", b"this model's maximum context length is 512 tokens", "context"),
        ("413 x", b"no", "rejected"),
        ("404 x", b"no such model", "status-404"),
        ("302 x", b"", "status-302"),
        ("401 x", b"the prompt was secret", "status-401"),
    ],
)
def test_rejection_does_not_expose_the_server_message(status: str, said: bytes, cause: str) -> None:
    async def run() -> None:
        async with upstream_of(always(ok(said, status=status))) as (upstream, (server,)):
            for _ in range(2):
                assert await ask(upstream) == (cause, [f"u/0:{cause}"])
            assert server.connections == 1

    asyncio.run(run())


def test_missing_api_of_a_server_does_not_disable_its_other_apis() -> None:
    def script(request: bytes) -> list[Step]:
        return [ok(b"{}") if b" /v1/x " in request else ok(b"no", status="404 x")]

    async def run() -> None:
        async with upstream_of(script, failures_until_open=1) as (upstream, _):
            for _ in range(3):
                with pytest.raises(UpstreamFailed, match="status-404"):
                    await upstream.post("responses", BODY, is_stream=False)
            assert (await ask(upstream))[0] == "{}"

    asyncio.run(run())


def test_rejection_by_all_servers_is_reported_until_one_accepts() -> None:
    async def refusal_of(upstream: Upstream) -> str:
        with pytest.raises(UpstreamFailed) as caught:
            await upstream.post("x", BODY, is_stream=False)
        return caught.value.refusal

    async def run() -> None:
        refusing = always(ok(b"no", status="401 x"))
        async with upstream_of(refusing, failures_until_open=1) as (upstream, _):
            assert [await refusal_of(upstream) for _ in range(2)] == [
                "rejects the gateway key: status-401"
            ] * 2  # asked, open
            assert await upstream.models_problem() == "rejects the gateway key: status-401"
        async with upstream_of(refusing, DOWN) as (upstream, _):
            assert await refusal_of(upstream) == ""  # the other one may come back
        answers = iter([ok(b"no", status="404 x"), ok(b"{}")])
        async with upstream_of(lambda _: [next(answers)]) as (upstream, _):
            assert await refusal_of(upstream) == "lacks the API or model: status-404"
            assert upstream.refusal
            assert (await ask(upstream))[0] == "{}"
            assert not upstream.refusal

    asyncio.run(run())


PAGE = b"<html><head><title>403 Forbidden</title></head></html>"
DENIED = b'{"error": {"message": "the prompt was secret", "code": "permission_denied"}}'


@pytest.mark.parametrize("said", [PAGE, b"", b'"Forbidden"', b"x" * 70_000, DENIED])
def test_firewall_rejection_of_one_request_keeps_server_available(said: bytes) -> None:
    answers = iter([ok(b"{}"), *[ok(said, status="403 x")] * 3, ok(b"{}")])

    async def run() -> None:
        async with upstream_of(lambda _: [next(answers)], failures_until_open=1) as (upstream, _):
            outcomes = [await ask(upstream) for _ in range(5)]
            assert outcomes[1:4] == [("blocked", ["u/0:blocked"])] * 3
            assert outcomes[0] == outcomes[4] == ("{}", ["u/0:200"])
            assert not upstream.refusal

    asyncio.run(run())


@pytest.mark.parametrize(("said", "outcome"), [(PAGE, "blocked"), (DENIED, "status-403")])
def test_json_403_rejects_the_key_and_html_403_does_not(said: bytes, outcome: str) -> None:
    answers = iter([ok(said, status="403 x"), ok(b"{}"), ok(said, status="403 x")])

    async def run() -> None:
        async with upstream_of(lambda _: [next(answers)]) as (upstream, _):
            assert (await ask(upstream))[0] == outcome
            assert bool(upstream.refusal) == (said == DENIED)
            assert (await ask(upstream))[0] == "{}"
            upstream.servers[0].answered_s -= 60  # a minute later, in which nobody got an answer
            assert (await ask(upstream))[0] == outcome
            assert bool(upstream.refusal) == (said == DENIED)

    asyncio.run(run())


def test_a_header_cannot_become_two() -> None:
    async def run() -> None:
        async with upstream_of(FINE) as (upstream, (server,)):
            for value in ("a\r\nx-evil: 1", "a\nb", "a\0"):
                with pytest.raises(ValueError, match="contains a line break"):
                    await upstream.post("x", BODY, is_stream=False, headers={"anthropic-version": value})
            assert (await ask(upstream, headers={"anthropic-version": "2023-06-01"}))[0] == "{}"
            assert b"anthropic-version: 2023-06-01\r\n" in server.requests[0]
            assert (await ask(upstream, headers={"Content-Type": "multipart/form-data; boundary=x"}))[0] == "{}"
            assert server.requests[1].lower().count(b"content-type") == 1

    asyncio.run(run())


def test_a_server_has_no_more_of_our_requests_than_it_would_queue() -> None:
    async def run() -> None:
        async with upstream_of(FINE, FINE) as (upstream, _):
            upstream.servers[0].in_flight = MAX_IN_FLIGHT
            upstream.servers[1].in_flight = MAX_IN_FLIGHT + 1
            with pytest.raises(UpstreamFailed, match="full"):
                await upstream.post("x", BODY, is_stream=False)
            upstream.servers[1].in_flight = 0
            upstream.servers[0].in_flight = 0

    asyncio.run(run())


def test_probes_are_remembered_for_a_moment() -> None:
    async def run() -> None:
        async with upstream_of(FINE) as (upstream, (server,)):
            stop_clock()
            assert [await upstream.models_problem() for _ in range(3)] == [""] * 3
            assert len(server.requests) == 1
            assert server.requests[0].startswith(b"GET /v1/models HTTP/1.1\r\n")
            pass_time(1)
            assert await upstream.models_problem() == ""
            assert len(server.requests) == 2

    asyncio.run(run())


def test_status_shows_result_of_the_last_probe() -> None:
    async def run() -> None:
        async with upstream_of(DOWN) as (upstream, _):
            assert not upstream.as_record()["is_down"]
            assert await upstream.models_problem() == "doesn't answer"
            assert upstream.as_record()["is_down"]

    asyncio.run(run())
