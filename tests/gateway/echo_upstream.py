"""A small OpenAI-compatible server on loopback that answers with what it was asked, and keeps everything it got.

It stands at the edge of the tests: a pool or a cloud. Streams come in pieces of odd sizes that respect nothing. A test
changes how it behaves through `script`.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


def echo(body: dict[str, Any]) -> dict[str, Any]:
    """An assistant message that repeats the last message."""
    content = body["messages"][-1]["content"]
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    return {"role": "assistant", "content": content}


@dataclass
class Script:
    """How the server behaves."""

    message: Callable[[dict[str, Any]], dict[str, Any]] = echo
    status: int = 200
    used: tuple[int, int] = (1, 2)
    """Tokens of prompt and answer, as it says."""
    piece_bytes: int = 7
    break_after_bytes: int | None = None
    """Close a stream after so many bytes."""
    raw_stream: bytes | None = None
    """Send this instead of a well-formed stream."""
    hold_answer: threading.Event | None = None
    """Wait for this before anything of an answer."""
    hold: threading.Event | None = None
    """Wait for this before the last event of a stream."""


@dataclass
class EchoUpstream:
    """Use as a context manager."""

    surfaces: ClassVar[tuple[str, ...]] = ("chat.completions",)
    """For its place in the settings."""
    ws: ClassVar[Literal["none", "websockets-sansio"]] = "none"
    """Implementation of WebSockets, of uvicorn."""

    certificate_file: Path | None = None
    """Without one it speaks plain http."""
    key_file: Path | None = None
    client_ca_file: Path | None = None
    script: Script = field(default_factory=Script)
    requests: list[dict[str, Any]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    """Bodies and headers as they came, for greps."""

    def __enter__(self) -> Self:
        app = Starlette(routes=self.routes())
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=0,
            ssl_certfile=self.certificate_file,
            ssl_keyfile=self.key_file,
            ssl_ca_certs=self.client_ca_file,
            ssl_cert_reqs=ssl.CERT_REQUIRED if self.client_ca_file else ssl.CERT_NONE,
            log_config=None,
            lifespan="off",
            ws=self.ws,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(60)
        return self

    def routes(self) -> list[Route]:
        """What it serves."""
        return [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
        ]

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening; nothing answers at this address afterwards."""
        self._server.should_exit = True
        self._thread.join(60)

    @property
    def base_url(self) -> str:
        """Where it is."""
        return f"http{'s' if self.certificate_file else ''}://127.0.0.1:{self.port}/v1"

    def forget(self) -> None:
        """Start anew."""
        self.requests.clear()
        self.raw.clear()
        self.script = Script()

    def _run(self) -> None:
        startup = self._server.startup

        async def started(*arguments: Any, **options: Any) -> None:
            await startup(*arguments, **options)
            self.port = self._server.servers[0].sockets[0].getsockname()[1]
            self._started.set()

        self._server.startup = started  # type: ignore[method-assign]
        asyncio.run(self._server.serve())

    async def _models(self, _request: Request) -> Response:
        return JSONResponse({"object": "list", "data": []}, self.script.status)

    async def got(self, request: Request) -> dict[str, Any]:
        """The request's body, kept."""
        raw = await request.body()
        body: dict[str, Any] = json.loads(raw)
        self.requests.append(body)
        self.raw.append(raw + b"\n" + repr(request.headers.items()).encode())
        if self.script.hold_answer is not None:
            await asyncio.to_thread(self.script.hold_answer.wait, 60)
        return body

    def refusal(self) -> Response | None:
        """What the script says instead of an answer."""
        if self.script.status == 200:
            return None
        body = self.raw[-1].partition(b"\n")[0].decode()
        # Overloaded, but for no time: the next test finds it as this one did.
        headers = {"Retry-After": "0"}
        return JSONResponse({"error": {"message": f"echoing {body}", "type": "x"}}, self.script.status, headers)

    async def _chat(self, request: Request) -> Response:
        body = await self.got(request)
        if refusal := self.refusal():
            return refusal
        message = self.script.message(body)
        envelope = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choices = [
                {"index": index, "message": message, "logprobs": None, "finish_reason": "stop"}
                for index in range(body.get("n") or 1)
            ]
            prompt, completion = self.script.used
            usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
            return JSONResponse({**envelope, "object": "chat.completion", "choices": choices, "usage": usage})
        return self.streamed(_events(envelope, message, body))

    def streamed(self, events: list[bytes]) -> Response:
        """Events as the script sends them."""
        stream = self.script.raw_stream or b"".join(events)
        return StreamingResponse(self._pieces(stream), media_type="text/event-stream")

    async def _pieces(self, stream: bytes) -> AsyncIterator[bytes]:
        script, sent = self.script, 0
        end = script.break_after_bytes or len(stream)
        while sent < end:
            if script.hold is not None and sent + 2 * script.piece_bytes > end:  # at least one whole piece is left
                await asyncio.to_thread(script.hold.wait, 60)
            yield stream[sent : min(end, sent + script.piece_bytes)]
            sent += script.piece_bytes
            await asyncio.sleep(0)
        if end < len(stream):
            raise ConnectionResetError


def _events(envelope: dict[str, Any], message: dict[str, Any], body: dict[str, Any]) -> list[bytes]:
    def event(delta: dict[str, Any], index: int, finish: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**envelope, "object": "chat.completion.chunk", "choices": [choice]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    events = []
    content = message.get("content") or ""
    calls = message.get("tool_calls", [])
    events += [event({"role": "assistant", "content": ""}, index) for index in range(body.get("n") or 1)]
    for start in range(0, len(content), 5):
        events += [event({"content": content[start : start + 5]}, index) for index in range(body.get("n") or 1)]
    for number, call in enumerate(calls):
        head = {**call, "index": number, "function": {"name": call["function"]["name"], "arguments": ""}}
        events.append(event({"tool_calls": [head]}, 0))
        arguments = call["function"]["arguments"]
        for start in range(0, len(arguments), 6):
            piece = {"index": number, "function": {"arguments": arguments[start : start + 6]}}
            events.append(event({"tool_calls": [piece]}, 0))
    finish = "tool_calls" if calls else "stop"
    events += [event({}, index, finish) for index in range(body.get("n") or 1)]
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        chunk = {**envelope, "object": "chat.completion.chunk", "choices": [], "usage": usage}
        events.append(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    return [*events, b"data: [DONE]\n\n"]
