"""Clients that take their time, or more than their share: each has a defined end, and nobody else notices."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml
from echo_upstream import EchoUpstream
from loop_clock import pass_time, turns_until
from loopback_gateway import KEY, LoopbackGateway, running_gateway, say, write_loopback_config
from waiting import until

from sovctl.gateway.http.connections import DeadlineProtocol, protocol_class
from sovctl.gateway.settings import Listen

_DEADLINES = {"head_timeout_s": 1, "body_timeout_s": 2, "write_timeout_s": 1, "max_head_bytes": 8192}
_HEAD = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n".encode()


@pytest.fixture(scope="module")
def upstream() -> Iterator[EchoUpstream]:
    with EchoUpstream() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, upstream: EchoUpstream) -> Iterator[LoopbackGateway]:
    config = write_loopback_config(tmp_path_factory.mktemp("slow"), cloud_port=upstream.port, pool_port=upstream.port)
    settings = yaml.safe_load(config.read_text())
    settings["listen"] |= _DEADLINES
    config.write_text(yaml.safe_dump(settings))
    with running_gateway(config) as found:
        yield found


@contextlib.contextmanager
def connection(gateway: LoopbackGateway) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as client:
        yield client


def rest(client: socket.socket, *, pause_s: float = 0) -> bytes:
    """Everything until the other end closes, read with a pause behind every piece."""
    said = []
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65536):
            said.append(piece)
            time.sleep(pause_s)
    return b"".join(said)


def reason(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)["error"]["sovctl"]["reason"]


def drip(client: socket.socket, data: bytes, *, pause_s: float) -> bytes:
    """Send byte by byte until the other end has had enough; what it said."""
    client.settimeout(pause_s)
    said = b""
    for byte in data:
        try:
            client.sendall(bytes([byte]))
            said = client.recv(65536)
        except TimeoutError:
            continue
        except OSError:
            said = b""
        break
    client.settimeout(60)
    return said + rest(client)


def test_a_head_that_drips_gets_408(gateway: LoopbackGateway) -> None:
    with connection(gateway) as client:
        assert reason(drip(client, _HEAD, pause_s=0.05)) == (408, "request_timeout")


def test_a_body_that_drips_gets_408(gateway: LoopbackGateway) -> None:
    with connection(gateway) as client:
        client.sendall(_HEAD + b"content-length: 100000\r\n\r\n")
        assert reason(drip(client, b"{" * 1000, pause_s=0.05)) == (408, "request_timeout")


@pytest.mark.parametrize("field", [b"x-a: " + b"b" * 64, b"x-" + b"a" * 100])
def test_a_head_without_end_gets_431(gateway: LoopbackGateway, field: bytes) -> None:
    separator = b"\r\n" if b":" in field else b""
    with connection(gateway) as client:
        client.sendall(_HEAD)
        with contextlib.suppress(OSError):
            for _ in range(2000):  # in no time: there is a deadline, too
                client.sendall(field + separator)
        assert reason(rest(client)) == (431, "head_too_large")


def test_trailers_without_end_are_ended(gateway: LoopbackGateway) -> None:
    with connection(gateway) as client:
        client.sendall(_HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n")
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 50_000_000:
                sent += client.send(b"x-trailer: " + b"y" * 1000 + b"\r\n")
        assert sent < 50_000_000


def test_a_connection_that_asks_nothing_costs_nothing_and_the_rest_are_served(gateway: LoopbackGateway) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connection(gateway)).sendall(b"POST /v1/chat/comp")
        status, _, answer = gateway.post(say("Please write a letter to the bank."))
        assert (status, json.loads(answer)["choices"][0]["message"]["content"]) == (
            200,
            "Please write a letter to the bank.",
        )


def test_client_that_does_not_read_is_disconnected(gateway: LoopbackGateway, upstream: EchoUpstream) -> None:
    chunk = {"id": "x", "model": "big", "choices": [{"index": 0, "delta": {"content": "word " * 2000}}]}
    upstream.script.raw_stream = (b"data: " + json.dumps(chunk).encode() + b"\n\n") * 2000
    upstream.script.piece_bytes = 65536
    body = json.dumps(say("Please write a long letter.", stream=True)).encode()
    with connection(gateway) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(_HEAD + f"content-length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: "client stalled" in gateway.log(), "it is let go")
    upstream.forget()
    until(lambda: gateway.records()[-1].get("reason") == "client-left", "it is on record")


def test_a_client_that_reads_slowly_gets_every_byte_in_order(tmp_path: Path, upstream: EchoUpstream) -> None:
    texts = [f"{number} words and " * 400 for number in range(2000)]  # 12 MB: the kernel keeps less
    chunk = {"id": "x", "model": "big"}
    chunks = [{**chunk, "choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    events = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks]
    upstream.script.raw_stream = b"".join([*events, b"data: [DONE]\n\n"])
    upstream.script.piece_bytes = 65536
    body = json.dumps(say("Please write a long letter.", stream=True)).encode()
    head = _HEAD + b"connection: close\r\n"
    patient = write_loopback_config(tmp_path, cloud_port=upstream.port)  # a client may be kept from reading for a while
    with running_gateway(patient) as gateway, connection(gateway) as client:
        client.sendall(head + f"content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = rest(client, pause_s=0.002)  # slower than the gateway
    upstream.forget()
    payload = unchunked(answer.partition(b"\r\n\r\n")[2])
    told = [event.removeprefix(b"data: ") for event in payload.split(b"\n\n")[:-1]]
    assert told.pop() == b"[DONE]"
    assert [json.loads(event)["choices"][0]["delta"]["content"] for event in told] == texts


def unchunked(body: bytes) -> bytes:
    """What a body in chunks says."""
    said = b""
    while (size := int(body[: (end := body.index(b"\r\n"))], 16)) > 0:
        said, body = said + body[end + 2 : end + 2 + size], body[end + 4 + size :]
    return said


def test_early_refusals_end_the_rest_of_the_body(gateway: LoopbackGateway) -> None:
    with connection(gateway) as client:
        client.sendall(_HEAD.replace(KEY.encode(), b"wrong") + b"transfer-encoding: chunked\r\n\r\n")
        said = client.recv(65536)
        assert said.startswith(b"HTTP/1.1 401")
        with contextlib.suppress(OSError):
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                client.sendall(b"400\r\n" + b"x" * 0x400 + b"\r\n")
                time.sleep(0.01)  # slower than the socket, faster than the rate
        assert time.monotonic() < deadline


def test_slow_clients_cause_no_internal_error(gateway: LoopbackGateway) -> None:
    events: list[dict[str, Any]] = [json.loads(line) for line in gateway.log().splitlines()]
    assert not [event for event in events if event["level"] == "error"], events


def test_ten_thousand_idle_clients_are_no_burden(tmp_path: Path, upstream: EchoUpstream) -> None:
    import resource

    wanted = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard > wanted + 100, "this machine does not allow so many open files"
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 500, hard))
    try:
        with (
            running_gateway(write_loopback_config(tmp_path, cloud_port=upstream.port)) as gateway,
            contextlib.ExitStack() as stack,
        ):
            before = rss_bytes(gateway)
            for number in range(wanted):
                client = stack.enter_context(
                    socket.create_connection(
                        ("127.0.0.1", gateway.port), timeout=60, source_address=(f"127.0.0.{2 + number // 5000}", 0)
                    )
                )
                if number % 2:  # half of them were served before
                    client.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
                    assert client.recv(12) == b"HTTP/1.1 200"
            status, _, _ = gateway.post(say("Please write a letter to the bank."))
            assert status == 200
            assert (rss_bytes(gateway) - before) / wanted < 16_384
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def rss_bytes(gateway: LoopbackGateway) -> int:
    """Resident memory of the process."""
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) * 1024


@contextlib.asynccontextmanager
async def served(app: Any, **deadlines: float) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server with such deadlines, on the loop that runs."""
    http = protocol_class(DeadlineProtocol, Listen(host="127.0.0.1", port=8080, **deadlines))
    server = uvicorn.Server(uvicorn.Config(app, http=http, lifespan="off", log_config=None, timeout_keep_alive=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        yield reader, writer
        writer.close()
        server.should_exit = True
        await serving


def test_a_body_that_comes_slowly_but_steadily_is_served() -> None:
    got: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request":
            got.append(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def exchange() -> bytes:
        async with served(app, body_timeout_s=60) as (reader, writer):
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 300000\r\n\r\n")
            for number in range(1, 11):  # 600 bytes a second; 500 are the least
                pass_time(50)
                writer.write(bytes(30_000))
                await turns_until(lambda number=number: len(b"".join(got)) == 30_000 * number, "a piece")  # type: ignore[misc]
            return await reader.read()

    assert asyncio.run(exchange()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"] * 2, id="one after another"),
        pytest.param([b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 2], id="at once"),
        pytest.param([b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n", b"{}"], id="answered before its end"),
    ],
)
def test_idle_client_is_disconnected(requests: list[bytes]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def exchange() -> bytes:
        async with served(app) as (reader, writer):
            said = b""
            for request in requests:
                writer.write(request)
                if request.endswith(b"\r\n\r\n"):
                    said += await reader.readuntil(b"ok")
            async with asyncio.timeout(30):
                return said + await reader.read()  # until it is closed

    answers = asyncio.run(exchange()).count(b"HTTP/1.1 200")
    assert answers == b"".join(requests).count(b" / HTTP/1.1")
