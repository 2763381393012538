"""Client of the retrieval service (`gateway/retrieval`): a search in the name of a principal.

The service decides from the signed principal what the caller may read. Without a valid answer nothing is returned.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Annotated, Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..domain.errors import Code, Refused
from ..settings import RetrievalServiceSettings
from ..telemetry import log
from .tls import service_context

if TYPE_CHECKING:
    import aiohttp  # takes 25 % of a gateway's start, and only retrieval needs it

AUDIENCE = "retrieval"
"""Audience of the principal's JWS; the service rejects others."""
PRINCIPAL = "x-sovctl-principal"
_MAX_ANSWER_BYTES = 16 << 20  # 50 chunks of 256 KiB, with names and escapes


class Hit(BaseModel):
    """One chunk that the caller may read, as the service returns it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    chunk_id: str
    document_id: str
    source_id: str
    title: str
    version: str
    page: int | None
    start: int
    end: int
    language: str
    text: str
    score: float
    extractor: str


class _Answer(BaseModel):
    hits: Annotated[list[Hit], Field(max_length=50)]


class RetrievalClient:
    """Connections to the service, open within its context.

    Raises:
        InputError: a certificate or key is unusable.
    """

    def __init__(self, settings: RetrievalServiceSettings) -> None:
        self._settings = settings
        self._url = f"{str(settings.url).rstrip('/')}/v1/search"
        self._tls: ssl.SSLContext | bool = True
        if settings.url.scheme == "https":
            self._tls = service_context(
                settings.ca_file, settings.certificate_file, settings.key_file, where="retrieval"
            )
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        import aiohttp

        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._settings.timeout_s),
            trust_env=False,  # ignore HTTP_PROXY and HTTPS_PROXY
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def search(
        self, principal: str, collection: str, query: str, *, k: int, rerank: bool, request_id: str
    ) -> list[Hit]:
        """Return the nearest chunks that the caller may read, the best first.

        Args:
            principal: signed header of the caller.

        Raises:
            Refused: the service does not answer, or not as documented.
        """
        import aiohttp

        body = orjson.dumps({"collection": collection, "query": query, "k": k, "rerank": rerank})
        headers = {PRINCIPAL: principal, "content-type": "application/json"}
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, ssl=self._tls, allow_redirects=False
            ) as answer:
                content = await _read(answer)
                if answer.status == 200:
                    return _Answer.model_validate_json(content).hits
                reason = f"status-{answer.status}"
        except ValidationError:
            reason = "invalid-answer"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            reason = type(error).__name__
        log.event("retrieval failed", level=40, request_id=request_id, reason=reason)
        raise Refused(Code.RETRIEVAL_UNAVAILABLE)


async def _read(answer: Any) -> bytes:
    """Return the body; a body above the limit is cut, and so invalid."""
    content = bytearray()
    async for piece in answer.content.iter_any():
        content += piece
        if len(content) > _MAX_ANSWER_BYTES:
            return b""
    return bytes(content)
