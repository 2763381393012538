"""Minimal model server for all contenders: one asyncio protocol on uvloop.

    python -m bench.traffic.upstream PORT

It answers chat completions with the last text between `Summary:` and `END.` of the prompt, padded to the size in the
prompt's `Scenario:`. The answer is one body, or the given number of events, each in a separate write. With a gap of 0,
each event waits for a `GET /tick`. `GET /last` returns the last request body. Bodies are not parsed as JSON.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable

import orjson
import uvloop

from bench.traffic.prompts import scenario_in

_ECHO = re.compile(rb"Summary: (.*?) END\.")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_FILL = "The payment will arrive on the next working day, and nothing has to be done by the customer. " * 200
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_NO_SCENARIO = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"  # a gateway removed the scenario from the prompt
)
_MODELS = b'{"object":"list","data":[{"id":"bench","object":"model","created":0,"owned_by":"bench"}]}'
_last = b""
_waiting: list[Callable[[], None]] = []


def answer_text(echo: str, size: int) -> str:
    """Return the answer: the echo, padded; a long answer repeats the identifiers."""
    content = " ".join([echo + " " + _FILL[:800]] * (size // 900)) if size > 2000 else echo
    return content + " " + _FILL[: max(0, size - len(content) - 1)]


def pieces_of(content: str, chunks: int) -> list[str]:
    """Return the content of each event."""
    step = -(-len(content) // chunks)
    return [content[at : at + step] for at in range(0, len(content), step)]


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        global _last
        self._buffer = self._buffer + data if self._buffer else data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length = int(found.group(1)) if (found := _LENGTH.search(head)) else 0
            if len(self._buffer) < end + 4 + length:
                return
            body, self._buffer = self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :]
            if head.startswith(b"GET"):
                if b" /tick" in head[:40] and _waiting:
                    _waiting.pop(0)()
                said = _last if b" /last" in head[:40] else _MODELS
                self._transport.write(_HEAD % (len(said), said))
                continue
            _last = body
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        if (asked := scenario_in(body)) is None:
            self._transport.write(_NO_SCENARIO)
            return
        size, chunks, gap_ms = asked
        echo = _ECHO.search(body, max(0, body.rfind(b"Summary: ")))
        content = answer_text(orjson.loads(b'"' + echo.group(1) + b'"') if echo else "no summary", size)
        if chunks:
            self._stream(content, chunks, gap_ms)
            return
        said = orjson.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "bench",
                "choices": [
                    {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
                ],
                "usage": {"prompt_tokens": 400, "completion_tokens": 120, "total_tokens": 520},
            }
        )
        self._transport.write(_HEAD % (len(said), said))

    def _stream(self, content: str, chunks: int, gap_ms: int) -> None:
        events = [_event({"role": "assistant", "content": ""})]
        events += [_event({"content": piece}) for piece in pieces_of(content, chunks)]
        events += [_event({}, "stop"), _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"]
        self._transport.write(_STREAM_HEAD)
        loop = asyncio.get_running_loop()

        def send(place: int) -> None:
            if self._transport.is_closing():
                return
            self._transport.write(events[place])
            if place + 1 < len(events):
                if gap_ms:
                    loop.call_later(gap_ms / 1000, send, place + 1)
                else:
                    _waiting.append(lambda: send(place + 1))

        send(0)


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    said = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "bench",
        "choices": [choice],
    }
    return _chunk(b"data: " + orjson.dumps(said) + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
