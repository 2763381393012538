"""The HTTP side: routes, API keys, bodies, headers, errors. What a request means is `service`'s business.

    POST /v1/chat/completions    OpenAI's, streamed and not
    GET  /v1/models              the models this key may use
    GET  /healthz                the process answers
    GET  /readyz                 vault, ledger and upstreams do, or 503 and what doesn't
    GET  /metrics                Prometheus

Every answer carries `x-sovctl-request-id`; one of a model also `x-sovctl-route` (`pool` or `cloud`). Nothing that was
in a request is ever in an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sovctl.gateway import conversation, log
from sovctl.gateway.auth import Client, Clients
from sovctl.gateway.delivery import AnswerStream
from sovctl.gateway.errors import Code, Refused, error_body
from sovctl.gateway.readiness import NOT_READY
from sovctl.gateway.service import Service, new_request_id

Handler = Callable[[Request], Awaitable[Response]]
_JSON = "application/json"


@dataclass
class Context:
    """What the handlers need."""

    service: Service
    clients: Clients
    ready: Callable[[], Awaitable[dict[str, str]]]
    """What is wrong now, by name; empty when ready."""


class Door:
    """The outermost layer. Starlette has answered and we have logged; uvicorn would print the whole traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with contextlib.suppress(Exception):
            await self._app(scope, receive, send)


def make_app(open_context: Callable[[], AbstractAsyncContextManager[Context]]) -> ASGIApp:
    """The ASGI application.

    Args:
        open_context: opened when the server starts, closed when its last answer is out.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_context() as context:
            app.state.context = context
            yield

    app = Starlette(
        routes=[
            Route("/v1/chat/completions", _guarded(_chat), methods=["POST"]),
            Route("/v1/models", _guarded(_models), methods=["GET"]),
            Route("/healthz", _healthz, methods=["GET"]),
            Route("/readyz", _readyz, methods=["GET"]),
            Route("/metrics", _metrics, methods=["GET"]),
            Route("/{rest:path}", _guarded(_nothing_here), methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ],
        exception_handlers={Exception: _mistake},
        lifespan=lifespan,
    )
    return Door(app)


async def _mistake(_request: Request, error: Exception) -> Response:
    """Our own mistake: its type and place go to the log, its message nowhere, for it may hold text."""
    request_id = new_request_id()
    if not isinstance(error, ClientDisconnect):
        log.event("our mistake", level=40, error=error, request_id=request_id)
    return _refusal(Code.INTERNAL, request_id)


def _guarded(handler: Callable[[Request, Context, Client, str], Awaitable[Response]]) -> Handler:
    """Authenticate first; turn a refusal into its body."""

    async def guarded(request: Request) -> Response:
        context: Context = request.app.state.context
        request_id = new_request_id()
        metrics = context.service.metrics
        try:
            client = context.clients.authenticate(request.headers.get("authorization"))
            if client is None:
                raise Refused(Code.INVALID_API_KEY)
            return await handler(request, context, client, request_id)
        except Refused as error:
            metrics.count("refused_total", reason=error.code.value)
            log.event("refused", request_id=request_id, reason=error.code.value, status=error.status)
            return _refusal(error.code, request_id)

    return guarded


async def _chat(request: Request, context: Context, client: Client, request_id: str) -> Response:
    service = context.service
    body = await _body(request, at_most=service.settings.limits.max_body_bytes)
    service.metrics.move("in_flight_requests", 1)
    is_streaming = False
    try:
        reply = await service.chat(
            client, body, conversation_header=request.headers.get(conversation.HEADER), request_id=request_id
        )
        headers = {"x-sovctl-request-id": request_id, "x-sovctl-route": reply.route.value, "cache-control": "no-store"}
        service.metrics.count("requests_total", route=reply.route.value, status=str(reply.status))
        if isinstance(reply.content, bytes):
            return Response(reply.content, reply.status, headers, media_type=_JSON)
        is_streaming = True
        return _StreamResponse(reply.content, headers, service)
    finally:
        if not is_streaming:
            service.metrics.move("in_flight_requests", -1)


class _StreamResponse(StreamingResponse):
    """A stream that is closed whatever becomes of the client, even when it left before the first byte."""

    def __init__(self, stream: AnswerStream, headers: dict[str, str], service: Service) -> None:
        super().__init__(aiter(stream), 200, headers, media_type="text/event-stream")
        self._stream = stream
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.metrics.move("in_flight_requests", -1)
            await self._stream.close()


async def _body(request: Request, *, at_most: int) -> bytes:
    """The body, read no further than allowed.

    Raises:
        Refused: larger.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > at_most:
            raise Refused(Code.BODY_TOO_LARGE)
    return bytes(body)


async def _models(_request: Request, context: Context, client: Client, request_id: str) -> Response:
    models = [
        {"id": route.model, "object": "model", "created": 0, "owned_by": context.service.settings.site}
        for route in context.service.settings.routes
        if client.may_use(route.model)
    ]
    return Response(
        orjson.dumps({"object": "list", "data": models}), headers={"x-sovctl-request-id": request_id}, media_type=_JSON
    )


async def _nothing_here(_request: Request, _context: Context, _client: Client, _request_id: str) -> Response:
    raise Refused(Code.NOT_FOUND)


async def _healthz(_request: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type=_JSON)


async def _readyz(request: Request) -> Response:
    context: Context = request.app.state.context
    wrong = await context.ready()
    is_ready = NOT_READY.isdisjoint(wrong)
    body = orjson.dumps({"ready": is_ready, "wrong": wrong})
    return Response(body, 200 if is_ready else 503, media_type=_JSON)


async def _metrics(request: Request) -> Response:
    context: Context = request.app.state.context
    return Response(context.service.metrics.text(), media_type="text/plain; version=0.0.4")


def _refusal(code: Code, request_id: str) -> Response:
    headers = {"x-sovctl-request-id": request_id}
    if code is Code.INVALID_API_KEY:
        headers["www-authenticate"] = "Bearer"
    return Response(error_body(code, request_id=request_id), Refused(code).status, headers, media_type=_JSON)
