"""What waits for the end of the loop's turn: it comes there, whole and in order, and nothing is behind it too early."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
import uvicorn
import uvloop
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Send

from sovctl.gateway.http.client_body import ClientBody
from sovctl.gateway.http.client_transport import ClientTransport, Turn
from sovctl.gateway.http.connections import DeadlineProtocol, protocol_class
from sovctl.gateway.settings import Listen

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
END = b"0\r\n\r\n"


class Wire(asyncio.Transport):
    """A transport that keeps what it was given."""

    def __init__(self, log: list[tuple[Wire, bytes]] | None = None) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_closed = False
        self._log = log if log is not None else []

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written.append(data)
        self._log.append((self, data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close


def test_what_several_clients_wait_for_goes_out_together_at_the_end_of_the_turn() -> None:
    async def run() -> None:
        turn, log = Turn(), list[tuple[Wire, bytes]]()
        one, two = Wire(log), Wire(log)
        first, second = ClientTransport(one, turn), ClientTransport(two, turn)
        for _ in range(2):
            first.write_soon(b"a")
            second.write_soon(b"b")
            first.write_soon(b"c")
            assert log == []
            await asyncio.sleep(0)
            assert log == [(one, b"ac"), (two, b"b")]
            log.clear()

    asyncio.run(run())


Step = tuple[Literal["soon", "now", "end of turn"], int]
STEPS = st.lists(st.tuples(st.sampled_from(["soon", "now", "end of turn"]), st.integers(0, 2)), max_size=30)


@given(STEPS, st.booleans())
def test_nothing_is_lost_late_or_out_of_order(steps: list[Step], closes: bool) -> None:
    async def run() -> None:
        turn, wires = Turn(), [Wire() for _ in range(3)]
        clients, given = [ClientTransport(wire, turn) for wire in wires], [b""] * 3
        for number, (what, which) in enumerate(steps):
            if what == "end of turn":
                await asyncio.sleep(0)
                assert [b"".join(wire.written) for wire in wires] == given
                continue
            data = b"%d " % number
            given[which] += data
            if what == "soon":
                clients[which].write_soon(data)
            else:
                clients[which].write(data)
                assert b"".join(wires[which].written) == given[which]
        for client in clients if closes else ():
            client.close()
        await asyncio.sleep(0)
        assert [b"".join(wire.written) for wire in wires] == given

    asyncio.run(run())


@pytest.mark.parametrize("is_ours", [True, False])
def test_nothing_is_written_to_a_connection_that_is_gone(is_ours: bool) -> None:
    async def run() -> None:
        turn, gone, other = Turn(), Wire(), Wire()
        for wire in (gone, other):
            client = ClientTransport(wire, turn)
            client.write_soon(b"a")
            if wire is gone:
                (client if is_ours else wire).abort()
        await asyncio.sleep(0)
        assert (gone.written, other.written) == ([], [b"a"])

    asyncio.run(run())


def served(app: Callable[[ClientBody, Send], Awaitable[None]], ask: Callable[[socket.socket], Awaitable[None]]) -> None:
    """Serve `app`, given a body that has begun, to what `ask` asks on a connection, as the gateway's server does."""

    async def answer(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        body = ClientBody.of(send)
        assert body is not None
        assert body.begin(200, [], b"first")
        await app(body, send)

    async def run() -> None:
        http = protocol_class(DeadlineProtocol, Listen(host="127.0.0.1", port=8080))
        server = uvicorn.Server(uvicorn.Config(answer, http=http, lifespan="off", log_config=None, access_log=False))
        with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
            serving = asyncio.create_task(server.serve([listening]))
            client.setblocking(False)
            await asyncio.get_running_loop().sock_connect(client, listening.getsockname())
            await asyncio.get_running_loop().sock_sendall(client, REQUEST)
            try:
                async with asyncio.timeout(60):
                    await ask(client)
            finally:
                client.close()
                server.should_exit = True
                await serving

    uvloop.run(run())


async def read_until(client: socket.socket, end: bytes) -> bytes:
    """What came, up to `end` or to the end of the connection."""
    said = b""
    while not said.endswith(end) and (piece := await asyncio.get_running_loop().sock_recv(client, 1 << 16)):
        said += piece
    return said


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def test_the_end_of_a_stream_is_behind_all_of_its_pieces() -> None:
    async def app(body: ClientBody, send: Send) -> None:
        assert body.write(b"one")
        assert body.write(b"two")
        await send({"type": "http.response.body", "body": b"last"})

    async def ask(client: socket.socket) -> None:
        said = await read_until(client, END)
        assert said.partition(b"\r\n\r\n")[2] == b"".join(map(chunk, (b"first", b"one", b"two", b"last"))) + END

    served(app, ask)


def test_what_waits_goes_out_before_a_client_that_says_no_more_is_closed() -> None:
    """The event and the client's end are read in one turn."""
    there, here = socket.socketpair()
    is_seen = asyncio.Event()

    async def app(body: ClientBody, _send: Send) -> None:
        asyncio.get_running_loop().add_reader(here, lambda: here.recv(1) and body.write(b"piece"))
        await is_seen.wait()
        asyncio.get_running_loop().remove_reader(here)

    async def ask(client: socket.socket) -> None:
        await read_until(client, chunk(b"first"))
        there.send(b"x")
        client.shutdown(socket.SHUT_WR)
        said = await read_until(client, b"nothing")
        is_seen.set()
        await asyncio.sleep(0)
        assert said == chunk(b"piece")

    with there, here:
        served(app, ask)


def test_a_client_that_reads_slowly_gets_all_of_it_in_order() -> None:
    written: list[bytes] = []
    is_full = asyncio.Event()

    async def app(body: ClientBody, send: Send) -> None:
        while body.write(piece := b"%d" % len(written) * 20_000):
            written.append(piece)
            await asyncio.sleep(0)
        is_full.set()
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"last"})
        written.append(piece)

    async def ask(client: socket.socket) -> None:
        await is_full.wait()
        said = await read_until(client, chunk(b"last") + END)
        assert said.partition(b"\r\n\r\n")[2] == b"".join(map(chunk, (b"first", *written, b"last"))) + END
        assert len(written) > 2

    served(app, ask)
