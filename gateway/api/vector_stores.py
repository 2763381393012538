"""`POST /v1/vector_stores/COLLECTION/search`: OpenAI's search of a vector store, over the site's retrieval service.

The caller is the verified principal: no field and no header of a request names groups. The chunks go to the client as
they are stored, so they never leave with this request; if a client sends them to a model, they are inspected as any
other text. An unknown collection, a forbidden one and one without hits have the same answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..access.assertion import PrincipalSigner
from ..access.principal import Principal
from ..audit.audit_log import AuditLog
from ..domain.errors import Code, Refused
from ..upstream.retrieval_service import AUDIENCE, Hit, RetrievalClient

MAX_BODY_BYTES = 64 << 10
"""Bytes of a request: a query of `MAX_QUERY` characters in escapes."""
MAX_QUERY = 8192  # characters; embedding models of the catalogue read at most 32,768 tokens
_PATH = re.compile(r"/v1/vector_stores/([^/]+)/search")
_COLLECTION = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")  # as names in site.yaml


class Ranking(BaseModel):
    """OpenAI's options for the order of results."""

    model_config = ConfigDict(extra="forbid")

    ranker: Literal["none", "auto", "default-2024-11-15"] = "auto"
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None

    @property
    def uses_reranker(self) -> bool:
        """Whether the reranker orders the results."""
        return self.ranker != "none"


class _Body(BaseModel):
    """OpenAI's fields that the service has. `filters` is absent: permissions are not a filter of the client."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
    max_num_results: Annotated[int, Field(ge=1, le=50)] = 10
    ranking_options: Ranking = Ranking()
    rewrite_query: Literal[False] = False


def collection_of(path: str) -> str | None:
    """Return the collection of a path of this API; None for another path."""
    found = _PATH.fullmatch(path)
    return unquote(found[1]) if found else None


@dataclass(frozen=True)
class VectorStores:
    """Searches in the name of principals."""

    client: RetrievalClient
    signer: PrincipalSigner
    audit: AuditLog

    async def search(self, principal: Principal, collection: str, raw_body: bytes, *, request_id: str) -> bytes:
        """Return the body of the answer, after its record is durable.

        Raises:
            Refused: the body is invalid, or the service, or the audit log is unavailable.
        """
        body = _parsed(raw_body)
        hits = await self.hits(
            principal,
            collection,
            body.query,
            k=body.max_num_results,
            ranking=body.ranking_options,
            request_id=request_id,
        )
        page = {
            "object": "vector_store.search_results.page",
            "search_query": [body.query],
            "data": [_result(hit) for hit in hits],
            "has_more": False,
            "next_page": None,
        }
        return orjson.dumps(page)

    async def hits(
        self,
        principal: Principal,
        collection: str,
        query: str,
        *,
        k: int,
        ranking: Ranking,
        request_id: str,
    ) -> list[Hit]:
        """Return the chunks that the principal may read, the best first, after the record of the search is durable.

        Raises:
            Refused: the service or the audit log is unavailable.
        """
        hits: list[Hit] = []
        is_name = _COLLECTION.fullmatch(collection) is not None
        if is_name:
            signed = self.signer.sign(principal, audience=AUDIENCE, request_id=request_id, now=time.time())
            hits = await self.client.search(
                signed, collection, query, k=k, rerank=ranking.uses_reranker, request_id=request_id
            )
        if (threshold := ranking.score_threshold) is not None:
            hits = [hit for hit in hits if hit.score >= threshold]
        await self.audit.search(
            request_id,
            by=principal,
            collection=collection if is_name else "",
            query_hmac=self.audit.digest(query.encode()),
            documents=sorted({(hit.document_id, hit.version) for hit in hits}),
            chunks=len(hits),
        )
        return hits


def _parsed(raw_body: bytes) -> _Body:
    try:
        values = orjson.loads(raw_body)
    except orjson.JSONDecodeError:
        raise Refused(Code.INVALID_JSON) from None
    if isinstance(values, dict) and isinstance(values.get("query"), list) and len(values["query"]) == 1:
        values |= {"query": values["query"][0]}
    try:
        return _Body.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        unknown = first["type"] == "extra_forbidden"
        param = str(first["loc"][0]) if first["loc"] and first["loc"][0] in _Body.model_fields else None
        raise Refused(Code.FIELD_NOT_ALLOWED if unknown else Code.INVALID_REQUEST, param=param) from None


def _result(hit: Hit) -> Mapping[str, Any]:
    """Return one result; `attributes` has OpenAI's limits: 16 values of at most 512 characters."""
    attributes: dict[str, str | int] = {
        "chunk_id": hit.chunk_id,
        "version": hit.version,
        "start": hit.start,
        "end": hit.end,
        "language": hit.language,
        "extractor": hit.extractor,
        "title": hit.title[:512],
    }
    if hit.page is not None:
        attributes["page"] = hit.page
    return {
        "file_id": hit.document_id,
        "filename": hit.source_id,
        "score": hit.score,
        "attributes": attributes,
        "content": [{"type": "text", "text": hit.text}],
    }
