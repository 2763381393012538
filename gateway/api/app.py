"""The ASGI application: paths, credentials, request bodies, errors. `pipeline.service` serves what a model answers.

    POST /v1/...           the surfaces, see `surfaces`
    POST /v1/vector_stores/NAME/search  chunks of documents that the principal may read, see `vector_stores`
    GET  /v1/realtime      a WebSocket for realtime transcription, see `realtime`
    GET  /v1/models        the models that this principal may use; /v1/models/NAME returns one of them
    GET  /v1/handoffs/ID   the state of a hand-off, for the client that made the request
    GET  /healthz          200 while the process runs
    GET  /readyz           200 if vault, ledger, limits and upstreams work, else 503; lists failures for monitors only
    GET  /metrics          metrics in the format of Prometheus, for monitors

HEAD is served like GET, OPTIONS returns the allowed methods, and any other method gets 405. No path allows requests
from other origins (CORS).

It is written in plain ASGI because a framework would cost as much as everything else in this file. Every response has
`x-sovctl-request-id`; one from a model also has `x-sovctl-route` (`pool` or `cloud`). Errors never contain text of the
request.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import orjson
from starlette.types import Receive, Scope, Send

from ..access.authenticator import Authenticator, bearer
from ..access.certificate import PEER
from ..access.failures import Failures
from ..access.principal import Principal
from ..domain.errors import Code, Headers, Refused
from ..handoff.service import HandoffService
from ..http.client_body import body_if_complete
from ..pipeline.readiness import NOT_READY
from ..pipeline.service import NO_HEADERS, RequestHandler, new_request_id
from ..policy.decision import coarse
from ..quota.bytes_in_flight import BytesInFlight
from ..quota.fair_queue import FairQueue
from ..settings import UpstreamKind
from ..surfaces import SURFACES, Surface, models
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.metrics.exposition import exposition
from ..tokens import conversation
from .disconnect import ClientDisconnect
from .file_search import grounded
from .realtime import RealtimeEndpoint
from .request_headers import Fields, fields_of, first_byte_timeout_s, named, sole, text_of
from .response_writer import send_stream, send_whole
from .vector_stores import MAX_BODY_BYTES, VectorStores, collection_of

_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_STREAMED = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    _NO_STORE,
    (b"x-accel-buffering", b"no"),  # keeps an nginx proxy from buffering events (ngx_http_proxy_module, read 2026-11)
]
_CONVERSATION = conversation.HEADER.encode()
_IDEMPOTENCY_KEY = b"idempotency-key"  # draft-ietf-httpapi-idempotency-key-header-07, 2
_ALLOW_GET, _ALLOW_POST = (b"allow", b"GET, HEAD, OPTIONS"), (b"allow", b"POST, OPTIONS")
_OTHER_ORIGINS = frozenset({b"cross-site", b"same-site"})  # W3C Fetch Metadata, 2.4
_INVALID_BODIES = frozenset({Code.INVALID_JSON, Code.INVALID_FORM})
_IDENTITY = b"identity"  # RFC 9110, 8.4.1 and 15.5.16
_ROUTES = {kind: (b"x-sovctl-route", kind.value.encode()) for kind in UpstreamKind}

Page = Callable[[Scope, str], Awaitable[tuple[int, Headers, bytes]]]
"""Returns status, headers and body of the response to a GET, given its request id."""


class ClientLeft(Exception):
    """The client closed the connection before its request was complete."""


@dataclass
class AppContext:
    """Components that the handlers use; replaced when changed settings are applied."""

    service: RequestHandler
    authenticator: Authenticator
    ready: Callable[[], Awaitable[dict[str, str]]]
    """Returns the failures by component; empty if ready."""
    metrics: Callable[[], Metrics]
    """Returns the metrics of all workers."""
    handoffs: HandoffService | None = None
    """Hand-offs, from which clients fetch the answers of operators; None without hand-offs."""
    vector_stores: VectorStores | None = None
    """Searches of documents; None without a retrieval service."""
    fair_queue: FairQueue = field(default_factory=FairQueue)
    """Turns of tenants. It remains when settings change."""


class App:
    """The ASGI application.

    Args:
        open_context: entered when the server starts, exited after its last response.
    """

    def __init__(self, open_context: Callable[[], AbstractAsyncContextManager[AppContext]]) -> None:
        self._open_context = open_context
        self._context: AppContext
        self._failures = Failures()
        self._bytes_in_flight = BytesInFlight()
        self._realtime = RealtimeEndpoint(
            lambda: self._context.service,
            lambda scope: self._principal(scope, fields_of(scope["headers"])),
            self._refusal,
            lambda: self._context.fair_queue,
            self._bytes_in_flight,
        )
        self._logged_wrong: dict[str, str] = {}
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
        if scope["type"] == "websocket":
            await self._realtime.serve(scope, receive, send, request_id)
            return
        path, method = scope["path"], scope["method"]
        surface = SURFACES.get(path) if method == "POST" and path not in _SOCKETS else None
        try:
            if surface is not None:
                await self._serve(surface, scope, receive, send, request_id)
                return
            collection = collection_of(path) if self._context.vector_stores is not None else None
            if collection is not None and method == "POST":
                await self._search(collection, scope, receive, send, request_id)
                return
            page = self._page(path)
            is_posted = (path in SURFACES and path not in _SOCKETS) or collection is not None
            allowed = _ALLOW_GET if page is not None else _ALLOW_POST if is_posted else None
            if page is not None and method in ("GET", "HEAD"):
                status, headers, body = await page(scope, request_id)
            elif allowed is not None and method == "OPTIONS":
                status, headers, body = 200, [allowed], b""
            else:
                await self._principal(scope, fields_of(scope["headers"]))
                if allowed is not None:
                    raise Refused(Code.METHOD_NOT_ALLOWED, headers=[allowed])
                raise Refused(Code.STATE_NOT_KEPT if path.startswith(_STATEFUL) else Code.NOT_FOUND)
        except Refused as refused:
            if (
                refused.code in _INVALID_BODIES
                and (fields_of(scope["headers"]).get(b"content-encoding") or _IDENTITY) != _IDENTITY
            ):
                refused = Refused(Code.UNSUPPORTED_ENCODING, headers=[(b"accept-encoding", _IDENTITY)])
            status, headers, body = self._refusal(refused, surface or _error_surface(scope), request_id)
        except ClientLeft:
            return
        except Exception as error:  # noqa: BLE001 - its message may contain text of the request, so only its location is logged
            log.event("internal error", level=40, error=error, request_id=request_id)
            status, headers, body = self._refusal(Refused(Code.INTERNAL), surface or _error_surface(scope), request_id)
        await send_whole(send, status, headers, body, request_id)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self._open_context() as self._context:
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception:  # noqa: BLE001 - `open_context` has stored the error; ASGI needs no message
            await send({"type": "lifespan.startup.failed", "message": ""})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def _page(self, path: str) -> Page | None:
        below = (page for start, page in self._below.items() if path.startswith(start))
        return self._pages.get(path) or next(below, None)

    async def _serve(self, surface: Surface, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        service = self._context.service
        fields = fields_of(scope["headers"])
        principal = await self._principal(scope, fields)
        if not principal.may_use_surface(surface.family):
            raise Refused(Code.SURFACE_NOT_ALLOWED)
        at_most = service.max_upload_bytes if surface.is_upload else service.max_body_bytes
        body = body_if_complete(receive)
        size = len(body) if body is not None else _announced(fields, at_most=at_most)
        if size > at_most:
            raise Refused(Code.BODY_TOO_LARGE)
        if not self._bytes_in_flight.take(principal.tenant, size, limit=service.max_tenant_bytes):
            raise Refused(Code.TENANT_BUSY, headers=[(b"retry-after", b"1")])
        try:
            if body is None:
                body = await _body(receive, at_most=at_most)
            await self._answer(surface, principal, body, scope, fields, send, request_id)
        finally:
            self._bytes_in_flight.give_back(principal.tenant, size)

    async def _answer(
        self,
        surface: Surface,
        principal: Principal,
        body: bytes,
        scope: Scope,
        fields: Fields,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer a complete request."""
        service, queue, headers = self._context.service, self._context.fair_queue, scope["headers"]
        service.metrics.in_flight.move(1)
        disconnect, has_turn = ClientDisconnect(scope), False
        try:
            has_turn = await queue.take(principal.tenant, service.limits, timeout_s=service.limits.queue_timeout_s)
            if not has_turn:
                raise Refused(Code.TENANT_BUSY, headers=[(b"retry-after", b"1")])
            asked = await grounded(self._context.vector_stores, surface, principal, body, request_id=request_id)
            reply = await service.serve(
                surface,
                principal,
                asked.raw_body,
                sources=asked.sources,
                conversation_header=sole(headers, fields, _CONVERSATION),
                request_id=request_id,
                timeout_s=first_byte_timeout_s(fields, at_most_s=service.request_timeout_s),
                traceparent=text_of(fields.get(b"traceparent")) if service.tracing is not None else None,
                headers=named(fields, surface.client_headers) if surface.client_headers else NO_HEADERS,
                may_resend=_IDEMPOTENCY_KEY in fields,
            )
            route = _ROUTES[reply.route]
            if isinstance(reply.content, bytes):
                response_headers = [
                    (b"content-type", surface.content_type(reply.content)),
                    _NO_STORE,
                    route,
                    *reply.headers,
                ]
                await send_whole(send, reply.status, response_headers, reply.content, request_id)
            else:
                await send_stream(send, [*_STREAMED, route, *reply.headers], reply, request_id)
        except Refused as refused:
            if not principal.is_admin:
                refused.reasons = coarse(refused.reasons)
            raise
        except asyncio.CancelledError:
            if not disconnect.has_left:
                raise
        finally:
            if has_turn:
                queue.give_back(principal.tenant, service.limits)
            disconnect.stop()
            service.metrics.in_flight.move(-1)

    async def _search(self, collection: str, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        stores, fields = self._context.vector_stores, fields_of(scope["headers"])
        assert stores is not None
        principal = await self._principal(scope, fields)
        if principal.surfaces is not None:
            raise Refused(Code.SURFACE_NOT_ALLOWED)  # a list of `surfaces` cannot name this API
        limit = self._context.service.max_tenant_bytes
        if not self._bytes_in_flight.take(principal.tenant, MAX_BODY_BYTES, limit=limit):
            raise Refused(Code.TENANT_BUSY, headers=[(b"retry-after", b"1")])
        try:
            body = await _body(receive, at_most=MAX_BODY_BYTES)
            answer = await stores.search(principal, collection, body, request_id=request_id)
        finally:
            self._bytes_in_flight.give_back(principal.tenant, MAX_BODY_BYTES)
        await send_whole(send, 200, [_JSON, _NO_STORE], answer, request_id)

    async def _principal(self, scope: Scope, fields: Fields) -> Principal:
        authenticator, headers = self._context.authenticator, scope["headers"]
        credential = bearer(sole(headers, fields, b"authorization"))
        if credential is None:
            credential = sole(headers, fields, b"x-api-key")  # Anthropic's clients
        peer = scope["state"].get(PEER)
        if credential is None and fields.get(b"sec-fetch-site") in _OTHER_ORIGINS:
            raise self._failure(scope)  # a browser sends its certificate with requests of any page
        principal = authenticator.known(credential, peer) or await authenticator.identify(credential, peer)
        if principal is None:
            raise self._failure(scope)
        return principal

    def _failure(self, scope: Scope) -> Refused:
        """Count a failed authentication, and return its error."""
        address, _ = scope.get("client") or ("", 0)
        now_s = asyncio.get_running_loop().time()
        wait_s = self._failures.count(address, self._context.authenticator.failure_limits, now_s=now_s)
        if wait_s is None:
            return Refused(Code.INVALID_API_KEY)
        return Refused(Code.TOO_MANY_FAILURES, headers=[(b"retry-after", b"%d" % math.ceil(wait_s))])

    async def _may_monitor(self, scope: Scope) -> bool:
        """Return whether the credential of the request permits metrics and the details of readiness.

        Raises:
            Refused: the credential is missing or invalid.
        """
        return (await self._principal(scope, fields_of(scope["headers"]))).is_monitor

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
        principal, handoffs = await self._principal(scope, fields_of(scope["headers"])), self._context.handoffs
        told = await handoffs.fetch(principal, scope["path"].removeprefix(_HANDOFF)) if handoffs is not None else None
        if told is None:
            raise Refused(Code.HANDOFF_NOT_FOUND)
        return 200, [_JSON, _NO_STORE], orjson.dumps(told)

    async def _usable(self, scope: Scope) -> models.Usable:
        principal, settings = await self._principal(scope, fields_of(scope["headers"])), self._context.service.settings
        usable = [
            route.model
            for route in settings.routes
            if route.exists_for(principal.tenant) and principal.may_use(route.model)
        ]
        return models.Usable(settings.site, usable)

    async def _healthz(self, _scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        return 200, [_JSON], b'{"status":"ok"}'

    async def _readyz(self, scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        wrong = await self._context.ready()
        is_ready = NOT_READY.isdisjoint(wrong)
        self._log_readiness(wrong)
        told: dict[str, object] = {"ready": is_ready}
        with contextlib.suppress(Refused):  # a probe needs no credential
            if _has_credential(scope) and await self._may_monitor(scope):
                told["wrong"] = wrong
        return 200 if is_ready else 503, [_JSON], orjson.dumps(told)

    def _log_readiness(self, wrong: Mapping[str, str]) -> None:
        """Log failed components when they change, because a probe without a credential does not learn them."""
        if wrong != self._logged_wrong:
            self._logged_wrong = dict(wrong)
            log.event("readiness", level=30 if wrong else 20, wrong=[f"{name}: {what}" for name, what in wrong.items()])

    async def _metrics(self, scope: Scope, _request_id: str) -> tuple[int, Headers, bytes]:
        if self._context.service.settings.admin is not None:
            await self._principal(scope, fields_of(scope["headers"]))
            raise Refused(Code.NOT_FOUND)  # the operators' listener has them
        if not await self._may_monitor(scope):
            raise Refused(Code.MONITORING_NOT_ALLOWED)
        accept = text_of(fields_of(scope["headers"]).get(b"accept")) or ""
        content_type, body = exposition(self._context.metrics(), accept=accept)
        return 200, [(b"content-type", content_type.encode())], body


_SOCKETS = frozenset(path for path, surface in SURFACES.items() if surface.is_socket)
_MODEL = "/v1/models/"
_HANDOFF = "/v1/handoffs/"
_STATEFUL = (  # paths of resources that other servers store; the gateway stores none
    *("/v1/responses/resp", "/v1/conversations", "/v1/files", "/v1/uploads", "/v1/batches"),
    *("/v1/chat/completions/chatcmpl", "/v1/messages/batches"),
)


def _error_surface(scope: Scope) -> Surface:
    """Return the surface whose error format the client reads, for a path without a surface."""
    return SURFACES["/v1/messages" if _is_anthropic(scope["headers"]) else "/v1/chat/completions"]


def _has_credential(scope: Scope) -> bool:
    fields = fields_of(scope["headers"])
    return b"authorization" in fields or b"x-api-key" in fields or PEER in scope["state"]


def _is_anthropic(headers: Headers) -> bool:
    return b"anthropic-version" in fields_of(headers)


def _announced(fields: Fields, *, at_most: int) -> int:
    """Return the length that the client announced; `at_most` if it announced none."""
    announced = fields.get(b"content-length")
    return int(announced) if announced is not None and announced.isdigit() else at_most


async def _body(receive: Receive, *, at_most: int) -> bytes:
    """Return the request body.

    Raises:
        Refused: it is larger than `at_most` bytes.
        ClientLeft: the connection ended before the body was complete.
    """
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
