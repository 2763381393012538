"""HTTP API of the retrieval service: search for the gateway, documents for administrators.

- Every connection has a client certificate. Its common name is in `gateways`, in `administrators`, or permits only
  `/health`.
- A search needs the gateway's JWS in addition. An unknown or forbidden collection has the same answer as one without
  hits.
- Answers and log contain no text of a request in errors, and the log no subject, group, title or source id.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..access.assertion import HEADER
from ..access.certificate import PEER
from ..telemetry import log
from .bodies import DirectoryBody, DocumentBody, GroupsBody, SearchBody
from .database.failures import DatabaseUnavailable, UnknownCollection
from .database.store import Store
from .metrics import RetrievalMetrics
from .models import EmbeddingClient, PoolRefused, PoolUnavailable
from .principal import PrincipalRefused, PrincipalVerifier
from .search.search import Searcher
from .settings import RetrievalSettings
from .values import StoredDocument

_MAX_SEARCH_BYTES = 256 << 10
_MAX_DOCUMENT_BYTES = 64 << 20
_Body = TypeVar("_Body", bound=BaseModel)
_Handler = Callable[[Request], Awaitable[Response]]


class _Refused(Exception):
    """Answer of an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


class Service:
    """The application.

    Args:
        embedders: clients of the models in the settings, in their order; the first embeds queries.
    """

    def __init__(
        self,
        settings: RetrievalSettings,
        store: Store,
        searcher: Searcher,
        embedders: list[EmbeddingClient],
        metrics: RetrievalMetrics,
    ) -> None:
        self._settings = settings
        self._store = store
        self._searcher = searcher
        self._embedders = embedders
        self._metrics = metrics
        self._verifier = PrincipalVerifier(settings.principal)
        self.app = Starlette(
            routes=[
                self._route("POST", "/v1/search", self._search, settings.gateways),
                self._route("GET", "/v1/documents", self._documents, settings.administrators),
                self._route("POST", "/v1/documents", self._put, settings.administrators),
                self._route(
                    "PUT",
                    "/v1/documents/{collection}/{source_id:path}/groups",
                    self._set_groups,
                    settings.administrators,
                ),
                self._route(
                    "DELETE", "/v1/documents/{collection}/{source_id:path}", self._delete, settings.administrators
                ),
                self._route("PUT", "/v1/directory", self._set_directory, settings.administrators),
                self._route("GET", "/metrics", self._exposition, None),
                self._route("GET", "/health", self._health, None),
            ]
        )

    def _route(self, method: str, path: str, handler: _Handler, names: list[str] | None) -> Route:
        """Return a route for certificates with these common names; None: every certificate of the authority."""

        async def endpoint(request: Request) -> Response:
            began = time.monotonic()
            response = await self._answered(request, handler, names)
            self._metrics.requests.labels(path, str(response.status_code)).inc()
            self._metrics.seconds.labels(path).observe(time.monotonic() - began)
            return response

        return Route(path, endpoint, methods=[method], name=f"{method} {path}")

    async def _answered(self, request: Request, handler: _Handler, names: list[str] | None) -> Response:
        try:
            if names is not None and not _has_name(request, names):
                raise _Refused(403, "certificate_forbidden", "this certificate has no access to the route")
            return await handler(request)
        except _Refused as error:
            return _error(error.status, error.code, error.message)
        except PrincipalRefused as error:
            log.event("principal refused", level=30, reason=str(error))
            return _error(401, "principal_invalid", "the principal is absent, expired or invalid")
        except UnknownCollection:
            return _error(404, "collection_unknown", "unknown collection")
        except PoolRefused as error:
            return _error(422, "text_rejected", error.message)
        except (DatabaseUnavailable, PoolUnavailable) as error:
            if isinstance(error, PoolUnavailable):
                self._metrics.pool_failures.labels(error.where or "pool").inc()
            log.event("request failed", level=40, where=error.where or "database", reason=error.message)
            return _error(503, "unavailable", "database or model pool unavailable; try again later")
        except ClientDisconnect:
            return _error(400, "disconnected", "the client closed the connection")
        except Exception as error:  # noqa: BLE001 - last error handler: no text of a request is logged
            log.event("internal error", level=40, error=error)
            return _error(500, "internal", "internal error")

    async def _search(self, request: Request) -> Response:
        caller = self._verifier.caller(request.headers.get(HEADER))
        body = await _body(request, SearchBody, _MAX_SEARCH_BYTES)
        hits = await self._searcher.search(caller, body.collection, body.query, k=body.k, rerank=body.rerank)
        return _json(200, {"collection": body.collection, "hits": [asdict(hit) for hit in hits]})

    async def _documents(self, request: Request) -> Response:
        collection = request.query_params.get("collection", "")
        documents = await self._store.documents(_known_text(collection))
        return _json(200, {"documents": [_listed(each) for each in documents]})

    async def _put(self, request: Request) -> Response:
        body = await _body(request, DocumentBody, _MAX_DOCUMENT_BYTES)
        document, chunks = body.document(), body.values()
        texts = [chunk.text for chunk in chunks]
        vectors = {each.model_digest: await each.embed(texts, "passage") for each in self._embedders}
        document_id = await self._store.put(document, chunks, vectors)
        log.event("document stored", collection=document.collection, document=document_id, chunks=len(chunks))
        return _json(200, {"document_id": document_id, "chunks": len(chunks)})

    async def _delete(self, request: Request) -> Response:
        collection = _known_text(request.path_params["collection"])
        if not await self._store.delete(collection, _known_text(request.path_params["source_id"])):
            raise _Refused(404, "document_unknown", "unknown document")
        log.event("document deleted", collection=collection)
        return Response(status_code=204)

    async def _set_groups(self, request: Request) -> Response:
        body = await _body(request, GroupsBody, _MAX_SEARCH_BYTES)
        collection = _known_text(request.path_params["collection"])
        source_id = _known_text(request.path_params["source_id"])
        if not await self._store.set_groups(collection, source_id, body.groups()):
            raise _Refused(404, "document_unknown", "unknown document")
        log.event("groups replaced", collection=collection)
        return Response(status_code=204)

    async def _set_directory(self, request: Request) -> Response:
        body = await _body(request, DirectoryBody, _MAX_DOCUMENT_BYTES)
        members = await self._store.set_directory(body.groups)
        log.event("directory replaced", groups=len(body.groups), memberships=members)
        return _json(200, {"groups": len(body.groups), "memberships": members})

    async def _exposition(self, _: Request) -> Response:
        return Response(self._metrics.exposition(), media_type="text/plain; version=0.0.4")

    async def _health(self, _: Request) -> Response:
        await self._store.check()
        await self._embedders[0].embed(["health"], "query")
        return _json(200, {"status": "ok"})


def _has_name(request: Request, names: list[str]) -> bool:
    peer = request.scope.get("state", {}).get(PEER)
    return peer is not None and peer.not_after > time.time() and any(f"cn:{name}" in peer.names for name in names)


async def _body(request: Request, model: type[_Body], most: int) -> _Body:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            raise _Refused(413, "too_large", f"the body is larger than {most} bytes")
    try:
        return model.model_validate(orjson.loads(content))
    except orjson.JSONDecodeError:
        raise _Refused(422, "invalid_body", "expected JSON") from None
    except ValidationError as error:
        # Locations and pydantic's words, without the input.
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False, include_context=False)[:10]
        ]
        raise _Refused(422, "invalid_body", "; ".join(problems)) from None


def _known_text(text: str) -> str:
    """Return text that PostgreSQL can store; other text names nothing."""
    if not text or "\0" in text:
        raise _Refused(404, "document_unknown", "unknown collection or document")
    return text


def _listed(stored: StoredDocument) -> dict[str, Any]:
    document = stored.document
    return {
        "document_id": stored.document_id,
        "source_id": document.source_id,
        "title": document.title,
        "version": document.version,
        "extractor": document.extractor,
        "extracted_sha256": document.extracted_sha256,
        "chunks": stored.chunks,
        "groups": {"allow": sorted(document.groups.allow), "deny": sorted(document.groups.deny)},
    }


def _json(status: int, value: object) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    return _json(status, {"error": {"code": code, "message": message}})
