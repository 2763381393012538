"""One connection: whatever a server does, there is one defined outcome, and nothing of one answer is in the next."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_clock import pass_time, turns_until
from raw_server import Close, RawServer, Step, chunked, ok

from examples import examples
from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.upstream.connection import Address, Connection

REQUEST = b"POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


async def exchange(connection: Connection, *, timeout_s: float = 60, read_timeout_s: float = 60) -> tuple[int, bytes]:
    connection.send(REQUEST, timeout_s=timeout_s, read_timeout_s=read_timeout_s)
    status, body = await connection.head(), b""
    while piece := await connection.piece():
        body += piece
    return status, body


def outcome(script: Callable[[bytes], Sequence[Step]], **timeouts: float) -> tuple[int, bytes] | str:
    """What an exchange with such a server comes to: status and body, or the cause."""

    async def run() -> tuple[int, bytes] | str:
        async with RawServer(script) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            try:
                return await exchange(connection, **timeouts)
            except UpstreamFailed as error:
                return error.cause
            finally:
                connection.close()

    return asyncio.run(run())


_NEVER = asyncio.Event()
_HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("steps", "result"),
    [
        ([ok(b"abc")], (200, b"abc")),
        ([ok(b"", status="204 No Content")], (204, b"")),
        ([ok(b"no", status="503 x")], (503, b"no")),
        (chunked(b"a", b"bc"), (200, b"abc")),
        ([_HEAD + b"\r\n", b"until", b" the end", Close], (200, b"until the end")),  # RFC 9112, 6.3
        ([b"HTTP/1.1 100 Continue\r\n\r\n" + ok(b"abc")], (200, b"abc")),
        ([b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", ok(b"abc")], (200, b"abc")),
        ([ok(b"x" * 300_000)], (200, b"x" * 300_000)),
        ([Close], "stale"),
        ([_HEAD, Close], "broken"),
        ([_HEAD + b"content-length: 9\r\n\r\nabc", Close], "broken"),
        ([*chunked(b"abc", is_ended=False), Close], "broken"),
        ([b"garbage\r\n\r\n"], "protocol"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc"], "protocol"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc"], "protocol"),
        ([_HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"], "protocol"),
        ([_HEAD + b"x: " + b"y" * 70_000], "protocol"),
        ([b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"], "protocol"),
    ],
)
def test_whatever_a_server_sends_has_one_outcome(steps: list[Step], result: tuple[int, bytes] | str) -> None:
    assert outcome(lambda _: steps) == result


def test_read_timeout_reports_its_cause() -> None:
    async def run() -> None:
        for steps, timeout_s, cause in (
            ([asyncio.Event()], 0.05, "timeout"),
            ([_HEAD, asyncio.Event()], 0.05, "timeout"),
            ([_HEAD + b"content-length: 9\r\n\r\nabc", asyncio.Event()], 60, "stalled"),
        ):
            async with RawServer(lambda _, steps=steps: steps) as server:  # type: ignore[misc]
                connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
                with pytest.raises(UpstreamFailed, match=cause):
                    await exchange(connection, timeout_s=timeout_s, read_timeout_s=0.05)

    asyncio.run(run())


def test_a_slow_reader_is_no_silence_of_the_server() -> None:
    """The time between pieces counts only while somebody waits for one."""

    async def run() -> None:
        go_on = asyncio.Event()
        async with RawServer(lambda _: [*chunked(b"a", is_ended=False), go_on, b"1\r\nb\r\n0\r\n\r\n"]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            connection.send(REQUEST, timeout_s=600, read_timeout_s=60)
            assert await connection.head() == 200
            assert await connection.piece() == b"a"
            pass_time(90)
            await asyncio.sleep(0.01)  # whatever is due has happened
            go_on.set()
            assert await connection.piece() == b"b"
            assert await connection.piece() == b""

    asyncio.run(run())


class Pausable(asyncio.Transport):
    """A transport that says whether it was paused."""

    is_paused = False

    def write(self, data: Any) -> None:
        pass

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False


def test_a_server_that_is_faster_than_the_reader_has_to_wait() -> None:
    async def run() -> None:
        connection, transport, size = Connection(), Pausable(), 100_000
        connection.connection_made(transport)
        connection.send(REQUEST, timeout_s=60, read_timeout_s=60)
        connection.data_received(ok(bytes(9 * size))[: -9 * size])
        for _ in range(2):
            paused = []
            for _ in range(4):
                connection.data_received(bytes(size))
                paused.append(transport.is_paused)
            assert paused == [False, False, True, True]
            assert await connection.piece() == bytes(4 * size)
            assert not transport.is_paused
        connection.data_received(bytes(size))
        assert await connection.pour(lambda piece: len(piece) == size)

    asyncio.run(run())


def test_a_connection_serves_one_answer_after_another_and_mixes_none() -> None:
    async def run() -> None:
        answers = iter([ok(b"one"), ok(b"two", status="503 x"), ok(b"three", "connection: close")])
        async with RawServer(lambda _: [next(answers)]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            assert await exchange(connection) == (200, b"one")
            assert connection.is_reusable
            assert await exchange(connection) == (503, b"two")
            assert await exchange(connection) == (200, b"three")
            assert not connection.is_reusable
            assert server.connections == 1

    asyncio.run(run())


@pytest.mark.parametrize("more", [b"x", ok(b"smuggled")])
def test_unsolicited_answer_closes_the_connection(more: bytes) -> None:
    """Otherwise it would be taken for the answer to the next request, which may be somebody else's."""

    async def run() -> None:
        async with RawServer(lambda _: [ok(b"abc") + more]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            connection.send(REQUEST, timeout_s=60, read_timeout_s=60)
            assert await connection.head() == 200
            assert await connection.piece() == b"abc"
            assert await connection.piece() == b""
            assert not connection.is_reusable

    asyncio.run(run())


def test_an_unasked_answer_that_comes_later_ends_the_connection_too() -> None:
    async def run() -> None:
        later = asyncio.Event()
        async with RawServer(lambda _: [ok(b"abc"), later, ok(b"smuggled")]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            assert await exchange(connection) == (200, b"abc")
            assert connection.is_reusable
            later.set()
            await server.closed.wait()
            assert not connection.is_reusable

    asyncio.run(run())


def test_unread_body_does_not_grow_memory() -> None:
    async def run() -> None:
        size = 8 << 20
        async with RawServer(lambda _: [ok(b"x" * size)]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            connection.send(REQUEST, timeout_s=60, read_timeout_s=60)
            await connection.head()
            for _ in range(200):
                await asyncio.sleep(0)
            assert connection._unread_bytes < 2 << 20
            read = 0
            while piece := await connection.piece():
                read += len(piece)
            assert read == size

    asyncio.run(run())


def test_the_end_of_a_stream_is_waited_for_in_the_background() -> None:
    async def run() -> None:
        end, done = asyncio.Event(), asyncio.Event()
        async with RawServer(lambda _: [*chunked(b"data: [DONE]", is_ended=False), end, b"0\r\n\r\n"]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            connection.send(REQUEST, timeout_s=60, read_timeout_s=60)
            await connection.head()
            assert await connection.piece() == b"data: [DONE]"
            connection.linger(done.set)
            assert not connection.is_reusable
            end.set()
            await done.wait()
            assert connection.is_reusable

    asyncio.run(run())


def test_the_time_of_one_answer_is_not_that_of_the_next() -> None:
    """Of two answers on one connection, each has its own time, whatever timer the one before has left."""

    async def run() -> None:
        late, never = asyncio.Event(), asyncio.Event()
        steps: list[list[Step]] = [[ok(b"a")], [late, ok(b"b")], [never]]
        scripts = iter(steps)
        async with RawServer(lambda _: next(scripts)) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            assert await exchange(connection, timeout_s=60) == (200, b"a")
            second = asyncio.create_task(exchange(connection, timeout_s=120))
            await turns_until(lambda: len(server.requests) == 2, "the second request")
            pass_time(90)
            await asyncio.sleep(0.01)  # whatever is due has happened
            late.set()
            assert await second == (200, b"b")
            with pytest.raises(UpstreamFailed, match="timeout"):
                await exchange(connection, timeout_s=0.05)

    asyncio.run(run())


def test_data_after_the_end_does_not_extend_the_timeout() -> None:
    async def run() -> None:
        turns = [asyncio.Event() for _ in range(9)]
        talk: list[Step] = [step for turn in turns for step in (turn, b"1\r\n:\r\n")]
        async with RawServer(lambda _: [*chunked(b"data: [DONE]", is_ended=False), *talk, asyncio.Event()]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=60)
            connection.send(REQUEST, timeout_s=60, read_timeout_s=60)
            await connection.head()
            await connection.piece()
            done = asyncio.Event()
            connection.linger(done.set)
            for number, turn in enumerate(turns):
                asyncio.get_running_loop().call_later(0.2 * number, turn.set)
            async with asyncio.timeout(20):
                await done.wait()
            assert not connection.is_reusable

    asyncio.run(run())


@examples(40)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.integers(1, 30))
def test_a_chunked_body_is_the_same_in_any_pieces(pieces: list[bytes], size: int) -> None:
    whole = b"".join(step for step in chunked(*pieces) if isinstance(step, bytes))
    steps = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert outcome(lambda _: steps) == (200, b"".join(pieces))


@examples(40)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.integers(1, 30), st.lists(st.booleans()))
def test_what_is_poured_out_is_the_same_however_often_it_is_stopped(
    pieces: list[bytes], size: int, goes_on: list[bool]
) -> None:
    whole = b"".join(step for step in chunked(*pieces) if isinstance(step, bytes))
    got: list[bytes] = []
    answers = iter(goes_on)

    def take(piece: bytes) -> bool:
        got.append(piece)
        return next(answers, True)

    async def run() -> None:
        steps = [whole[start : start + size] for start in range(0, len(whole), size)]
        async with RawServer(lambda _: steps) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=5)
            connection.send(REQUEST, timeout_s=5, read_timeout_s=5)
            await connection.head()
            stops = 0
            while not await connection.pour(take):
                stops += 1
            assert stops <= goes_on.count(False)
            assert connection.is_reusable

    asyncio.run(run())
    assert b"".join(got) == b"".join(pieces)
    assert all(got)


@pytest.mark.parametrize(("step", "cause"), [(asyncio.Event(), "stalled"), (Close, "broken")])
def test_what_is_poured_out_ends_as_what_is_read(step: Step, cause: str) -> None:
    got: list[bytes] = []

    async def run() -> None:
        async with RawServer(lambda _: [*chunked(b"abc", is_ended=False), step]) as server:
            connection = await Connection.open(Address("127.0.0.1", server.port, None), timeout_s=5)
            connection.send(REQUEST, timeout_s=5, read_timeout_s=0.2)
            await connection.head()
            with pytest.raises(UpstreamFailed, match=cause):
                await connection.pour(lambda piece: got.append(piece) is None)

    asyncio.run(run())
    assert got == [b"abc"]


def test_connection_refused_and_untrusted_certificate_have_different_causes(pki: Any) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pki.certificate_file, pki.key_file)

    async def run() -> None:
        async with RawServer(lambda _: [ok(b"abc")], tls=tls) as server:
            port = server.port
            trusting = ssl.create_default_context(cafile=pki.ca_file)
            assert await exchange(await Connection.open(Address("127.0.0.1", port, trusting), timeout_s=60))
            with pytest.raises(UpstreamFailed, match="tls"):
                await Connection.open(Address("localhost", port, trusting), timeout_s=60)  # its name is the address
            with pytest.raises(UpstreamFailed, match="tls"):
                await Connection.open(Address("127.0.0.1", port, ssl.create_default_context()), timeout_s=60)
        with pytest.raises(UpstreamFailed, match="connect"):
            await Connection.open(Address("127.0.0.1", port, None), timeout_s=60)

    asyncio.run(run())
