"""Pass-through proxies without inspection, to measure the cost of network and language.

    python -m bench.contenders.bare relay|relay-json|asgi|asgi-json PORT UPSTREAM_PORT

relay        asyncio.Protocol on uvloop, one upstream connection for each client's, without buffering
relay-json   the same, and orjson parses and dumps each body both ways
asgi         uvicorn, httptools, uvloop, aiohttp's client: a typical stack of Python gateways
asgi-json    the same with orjson both ways; streams are forwarded without buffering
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

import aiohttp
import orjson
import uvicorn
import uvloop

_LENGTH = re.compile(rb"(\r\ncontent-length: *)(\d+)", re.IGNORECASE)


class _Relay(asyncio.Protocol):
    """One direction of one pair of connections."""

    def __init__(self, upstream_port: int | None, *, is_json: bool, other: _Relay | None = None) -> None:
        self._upstream_port, self._is_json, self._other = upstream_port, is_json, other
        self._held: list[bytes] = []
        self._buffer = b""
        self._is_streaming = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        if self._other is None:
            self._task = asyncio.ensure_future(self._connect())
        for data in self._held:
            transport.write(data)
        self._held.clear()

    async def _connect(self) -> None:
        other = _Relay(None, is_json=self._is_json, other=self)
        self._other = other
        assert self._upstream_port is not None  # of the client's side, which alone connects
        await asyncio.get_running_loop().create_connection(lambda: other, "127.0.0.1", self._upstream_port)
        for data in other._held:
            other.write(data)

    def data_received(self, data: bytes) -> None:
        if self._other is None:
            self._held.append(data)
            asyncio.get_running_loop().call_soon(self._forward_held)
            return
        if not self._is_json or self._is_streaming:
            self._is_streaming = self._is_streaming and not data.endswith(b"0\r\n\r\n")
            self._other.write(data)
            return
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[: end + 4]
            found = _LENGTH.search(head)
            if found is None and not head.startswith(b"GET"):  # a stream
                self._is_streaming = not self._buffer.endswith(b"0\r\n\r\n")
                self._other.write(self._buffer)
                self._buffer = b""
                return
            whole = end + 4 + (int(found.group(2)) if found else 0)
            if len(self._buffer) < whole:
                return
            body = b""
            if found is not None:
                body = orjson.dumps(orjson.loads(self._buffer[end + 4 : whole]))
                head = head[: found.start(2)] + str(len(body)).encode() + head[found.end(2) :]
            self._buffer = self._buffer[whole:]
            self._other.write(head + body)

    def _forward_held(self) -> None:
        held, self._held = self._held, []
        for data in held:
            self.data_received(data)

    def write(self, data: bytes) -> None:
        """Send, or buffer until the connection is open."""
        if self._transport is None:
            self._held.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def connection_lost(self, _error: Exception | None) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.close()


async def _relay(port: int, upstream_port: int, *, is_json: bool) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Relay(upstream_port, is_json=is_json), "127.0.0.1", port)
    await server.serve_forever()


class _App:
    """An ASGI application that forwards."""

    def __init__(self, upstream_port: int, *, is_json: bool) -> None:
        self._base = f"http://127.0.0.1:{upstream_port}"
        self._is_json = is_json
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        data = bytes(body)
        if self._is_json and data:
            data = orjson.dumps(orjson.loads(data))
        headers = {"Content-Type": "application/json"}
        async with self._session.request(
            scope["method"], self._base + scope["path"], data=data, headers=headers
        ) as answer:
            kind = answer.headers.get("Content-Type", "")
            start = {"type": "http.response.start", "status": answer.status}
            if kind.startswith("text/event-stream"):
                await send({**start, "headers": [(b"content-type", kind.encode())]})
                async for chunk in answer.content.iter_any():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
                return
            said = await answer.read()
            if self._is_json:
                said = orjson.dumps(orjson.loads(said))
            await send(
                {
                    **start,
                    "headers": [(b"content-type", kind.encode()), (b"content-length", str(len(said)).encode())],
                }
            )
            await send({"type": "http.response.body", "body": said})


def main() -> None:
    """Run the command line."""
    form, port, upstream_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    is_json = form.endswith("-json")
    if form.startswith("relay"):
        uvloop.run(_relay(port, upstream_port, is_json=is_json))
    else:
        app = _App(upstream_port, is_json=is_json)
        uvicorn.run(
            app,
            host="127.0.0.1",
            port=port,
            loop="uvloop",
            http="httptools",
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
        )


if __name__ == "__main__":
    main()
