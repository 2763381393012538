"""The HTTP side: paths, API keys, bodies, headers, errors. What a request means is `service`'s business.

    POST /v1/...        the surfaces, see `surfaces`
    GET  /v1/models     the models this key may use; /v1/models/NAME is one of them
    GET  /v1/handoffs/ID  what became of an answer that went to a person, for the client that had asked
    GET  /healthz       the process answers
    GET  /readyz        vault, ledger and upstreams do, or 503 and what doesn't
    GET  /metrics       Prometheus

HEAD is as GET. Any other method gets 405, OPTIONS says which there are; nothing is opened for other origins (CORS).

Plain ASGI: a framework costs as much as everything else in this file. Every answer carries `x-sovctl-request-id`; one
of a model also `x-sovctl-route` (`pool` or `cloud`). Nothing that was in a request is ever in an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import orjson
from starlette.types import Receive, Scope, Send

from ..access.callers import Callers, bearer
from ..access.certificate import PEER
from ..access.principal import Principal
from ..domain.errors import Code, Headers, Refused
from ..handoff.desk import Desk
from ..http.client_body import ClientBody, received_at_once, written_at_once
from ..http.connections import LEFT
from ..http.timeout_header import OWN_HEADER, SDK_HEADER, timeout_s
from ..pipeline.readiness import NOT_READY
from ..pipeline.sending import Reply
from ..pipeline.service import NO_HEADERS, Service, new_request_id
from ..settings import UpstreamKind
from ..surfaces import SURFACES, Surface, models
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.metrics.exposition import exposition
from ..tokens import conversation

_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_STREAMED = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    _NO_STORE,
    (b"x-accel-buffering", b"no"),  # nginx in front of us would collect events (ngx_http_proxy_module, read 2026-11)
]
_CONVERSATION = conversation.HEADER.encode()
_ASKED, _POSTED = (b"allow", b"GET, HEAD, OPTIONS"), (b"allow", b"POST, OPTIONS")
_ELSEWHERE = frozenset({b"cross-site", b"same-site"})  # W3C Fetch Metadata, 2.4
_UNREADABLE = frozenset({Code.INVALID_JSON, Code.INVALID_FORM})
_PLAIN = b"identity"  # RFC 9110, 8.4.1 and 15.5.16
_ROUTES = {kind: (b"x-sovctl-route", kind.value.encode()) for kind in UpstreamKind}


Fields = Mapping[bytes, bytes]
"""Header fields by their names."""

Page = Callable[[Scope, str], Awaitable[tuple[int, Headers, bytes]]]
"""Answers a GET, given its request id: status, headers, body."""


class ClientLeft(Exception):
    """The client closed the connection before its request was whole."""


@dataclass
class Context:
    """What the handlers need."""

    service: Service
    callers: Callers
    ready: Callable[[], Awaitable[dict[str, str]]]
    """What is wrong now, by name; empty when ready."""
    metrics: Callable[[], Metrics]
    """The figures of all workers."""
    desk: Desk | None = None
    """Where clients fetch what a person answered."""


class App:
    """The ASGI application.

    Args:
        open_context: opened when the server starts, closed when its last answer is out.
    """

    def __init__(self, open_context: Callable[[], AbstractAsyncContextManager[Context]]) -> None:
        self._open_context = open_context
        self._context: Context
        self._pages: Mapping[str, Page] = {
            "/v1/models": self._models,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
        }
        self._below: Mapping[str, Page] = {_MODEL: self._model, _HANDOFF: self._handoff}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        request_id = new_request_id()
        path, method = scope["path"], scope["method"]
        surface = SURFACES.get(path) if method == "POST" else None
        try:
            if surface is not None:
                await self._serve(surface, scope, receive, send, request_id)
                return
            page = self._page(path)
            allowed = _ASKED if page is not None else _POSTED if path in SURFACES else None
            if page is not None and method in ("GET", "HEAD"):
                status, headers, body = await page(scope, request_id)
            elif allowed is not None and method == "OPTIONS":
                status, headers, body = 200, [allowed], b""
            else:
                await self._caller(scope, _fields(scope["headers"]))
                if allowed is not None:
                    raise Refused(Code.METHOD_NOT_ALLOWED, headers=[allowed])
                raise Refused(Code.STATE_NOT_KEPT if path.startswith(_REMEMBERED) else Code.NOT_FOUND)
        except Refused as refused:
            if refused.code in _UNREADABLE and (_fields(scope["headers"]).get(b"content-encoding") or _PLAIN) != _PLAIN:
                refused = Refused(Code.UNSUPPORTED_ENCODING, headers=[(b"accept-encoding", _PLAIN)])
            status, headers, body = self._refusal(refused, surface or _spoken(scope), request_id)
        except ClientLeft:
            return
        except Exception as error:  # noqa: BLE001 - the last door: its message may hold text, so only its place is said
            log.event("our mistake", level=40, error=error, request_id=request_id)
            status, headers, body = self._refusal(Refused(Code.INTERNAL), surface or _spoken(scope), request_id)
        await _send_whole(send, status, headers, body, request_id)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self._open_context() as self._context:
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception:  # noqa: BLE001 - whoever opened the context keeps what went wrong; a server can't say more
            await send({"type": "lifespan.startup.failed", "message": ""})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def _page(self, path: str) -> Page | None:
        below = (page for start, page in self._below.items() if path.startswith(start))
        return self._pages.get(path) or next(below, None)

    async def _serve(self, surface: Surface, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        service = self._context.service
        headers = scope["headers"]
        fields = _fields(headers)
        client = await self._caller(scope, fields)
        if not client.may_use_surface(surface.family):
            raise Refused(Code.SURFACE_NOT_ALLOWED)
        at_most = service.max_upload_bytes if surface.is_upload else service.max_body_bytes
        body = received_at_once(receive)
        if body is None:
            body = await _body(receive, fields, at_most=at_most)
        elif len(body) > at_most:
            raise Refused(Code.BODY_TOO_LARGE)
        service.metrics.in_flight.move(1)
        watch = _Watch(scope)
        try:
            reply = await service.serve(
                surface,
                client,
                body,
                conversation_header=_sole(headers, fields, _CONVERSATION),
                request_id=request_id,
                timeout_s=_timeout_s(fields, at_most_s=service.request_timeout_s),
                traceparent=_text(fields.get(b"traceparent")) if service.tracing is not None else None,
                headers=_named(fields, surface.client_headers) if surface.client_headers else NO_HEADERS,
            )
            route = _ROUTES[reply.route]
            if isinstance(reply.content, bytes):
                told = [(b"content-type", surface.content_type(reply.content)), _NO_STORE, route, *reply.headers]
                await _send_whole(send, reply.status, told, reply.content, request_id)
            else:
                await _send_stream(send, [*_STREAMED, route, *reply.headers], reply, request_id)
        except asyncio.CancelledError:
            if not watch.has_left:
                raise
        finally:
            watch.stop()
            service.metrics.in_flight.move(-1)

    async def _caller(self, scope: Scope, fields: Fields) -> Principal:
        callers, headers = self._context.callers, scope["headers"]
        credential = bearer(_sole(headers, fields, b"authorization"))
        if credential is None:
            credential = _sole(headers, fields, b"x-api-key")  # Anthropic's clients
        peer = scope["state"].get(PEER)
        if credential is None and fields.get(b"sec-fetch-site") in _ELSEWHERE:
            raise Refused(Code.INVALID_API_KEY)  # a browser shows its certificate for any page that asks
        caller = callers.known(credential, peer) or await callers.identify(credential, peer)
        if caller is None:
            raise Refused(Code.INVALID_API_KEY)
        return caller

    def _refusal(self, refused: Refused, surface: Surface, request_id: str) -> tuple[int, Headers, bytes]:
        self._context.service.metrics.refused.add(refused.code.value)
        log.event("refused", request_id=request_id, reason=refused.code.value, status=refused.status)
        headers = [_JSON, *refused.headers]
        if refused.code is Code.INVALID_API_KEY:
            headers.append((b"www-authenticate", b"Bearer"))
        body = surface.error(refused.code, request_id=request_id, param=refused.param, reasons=refused.reasons)
        return refused.status, headers, body

    async def _models(self, scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        usable = await self._usable(scope)
        return 200, [_JSON], models.listed(usable, is_anthropic=_is_anthropic(scope["headers"]))

    async def _model(self, scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        usable = await self._usable(scope)
        one = models.one(usable, scope["path"].removeprefix(_MODEL), is_anthropic=_is_anthropic(scope["headers"]))
        if one is None:
            raise Refused(Code.MODEL_NOT_FOUND)
        return 200, [_JSON], one

    async def _handoff(self, scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        client, desk = await self._caller(scope, _fields(scope["headers"])), self._context.desk
        told = await desk.fetch(client, scope["path"].removeprefix(_HANDOFF)) if desk is not None else None
        if told is None:
            raise Refused(Code.HANDOFF_NOT_FOUND)
        return 200, [_JSON, _NO_STORE], orjson.dumps(told)

    async def _usable(self, scope: Scope) -> models.Usable:
        client, settings = await self._caller(scope, _fields(scope["headers"])), self._context.service.settings
        return models.Usable(settings.site, [route.model for route in settings.routes if client.may_use(route.model)])

    async def _healthz(self, _scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        return 200, [_JSON], b'{"status":"ok"}'

    async def _readyz(self, _scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        wrong = await self._context.ready()
        is_ready = NOT_READY.isdisjoint(wrong)
        return 200 if is_ready else 503, [_JSON], orjson.dumps({"ready": is_ready, "wrong": wrong})

    async def _metrics(self, scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        if self._context.service.settings.admin is not None:
            await self._caller(scope, _fields(scope["headers"]))
            raise Refused(Code.NOT_FOUND)  # they are on the operators' port
        accept = _text(_fields(scope["headers"]).get(b"accept")) or ""
        content_type, body = exposition(self._context.metrics(), accept=accept)
        return 200, [(b"content-type", content_type.encode())], body


_MODEL = "/v1/models/"
_HANDOFF = "/v1/handoffs/"
_REMEMBERED = (  # never here
    *("/v1/responses/resp", "/v1/conversations", "/v1/files", "/v1/uploads", "/v1/batches"),
    *("/v1/chat/completions/chatcmpl", "/v1/messages/batches"),
)


def _spoken(scope: Scope) -> Surface:
    """Whose errors a client reads that asked for a path without a surface."""
    return SURFACES["/v1/messages" if _is_anthropic(scope["headers"]) else "/v1/chat/completions"]


def _is_anthropic(headers: Headers) -> bool:
    return b"anthropic-version" in _fields(headers)


class _Watch:
    """Ends the request when its client leaves before the answer is out."""

    __slots__ = ("_request", "_state", "has_left")

    def __init__(self, scope: Scope) -> None:
        self.has_left = False
        self._request = asyncio.current_task()
        self._state = scope["state"]
        self._state[LEFT] = self._end

    def stop(self) -> None:
        """Watch no longer."""
        self._state.pop(LEFT, None)

    def _end(self) -> None:
        self.has_left = True
        if self._request is not None:
            self._request.cancel()


async def _body(receive: Receive, fields: Fields, *, at_most: int) -> bytes:
    """The body, read no further than allowed.

    Raises:
        Refused: larger.
        ClientLeft: it ended before it was whole.
    """
    announced = fields.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > at_most:
        raise Refused(Code.BODY_TOO_LARGE)
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > at_most:
            raise Refused(Code.BODY_TOO_LARGE)
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def _send_whole(send: Send, status: int, headers: Headers, body: bytes, request_id: str) -> None:
    headers += [(b"content-length", b"%d" % len(body)), *_ids(request_id)]
    if not written_at_once(send, status, headers, body):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _ids(request_id: str) -> Headers:
    """Ours, and the names by which OpenAI's clients and Anthropic's look for it. Upstreams' headers stay here."""
    value = request_id.encode()
    return [(b"x-sovctl-request-id", value), (b"x-request-id", value), (b"request-id", value)]


async def _send_stream(send: Send, headers: Headers, reply: Reply, request_id: str) -> None:
    """A stream; it is closed whatever becomes of the client."""
    stream = reply.content
    assert not isinstance(stream, bytes)
    headers += _ids(request_id)
    try:
        body, has_begun = ClientBody.behind(send), False
        async for piece in stream.pieces(body):
            if not has_begun:
                has_begun = True
                if body is not None and body.begin(reply.status, headers, piece):
                    piece = b""
                else:
                    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
            if stream.is_over and body is not None:
                body.end(piece)
            if piece or stream.is_over:
                await send({"type": "http.response.body", "body": piece, "more_body": not stream.is_over})
            if body is not None and body.has_left:
                return
    finally:
        await stream.close()


def _fields(headers: Headers) -> Fields:
    """By name; of several, the first."""
    return dict(reversed(headers))


def _text(value: bytes | None) -> str | None:
    return value.decode("latin-1") if value is not None else None


def _named(fields: Fields, names: Iterable[str]) -> dict[str, str]:
    return {name: _text(fields.get(name.encode())) or "" for name in names}


def _sole(headers: Headers, fields: Fields, name: bytes) -> str | None:
    """A field that says who asks or for what: a proxy before us may have looked at another one than we would.

    Raises:
        Refused: it stands there twice and says two things.
    """
    said = fields.get(name)
    if said is None:
        return None
    if len(fields) < len(headers) and any(key == name and value != said for key, value in headers):
        raise Refused(Code.INVALID_REQUEST, param=name.decode())
    return said.decode("latin-1")


def _timeout_s(fields: Fields, *, at_most_s: float) -> float:
    """How long an answer may take to begin, as the client and the site say.

    Raises:
        Refused: the client says no time.
    """
    own, sdk = fields.get(OWN_HEADER), fields.get(SDK_HEADER)
    if own is None and sdk is None:
        return at_most_s
    try:
        return timeout_s(own=_text(own), sdk=_text(sdk), at_most_s=at_most_s)
    except ValueError:
        raise Refused(Code.INVALID_TIMEOUT) from None
