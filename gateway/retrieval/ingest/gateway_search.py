"""Searches a collection through the gateway, with the rights of a client's key: the only way to see text.

Request and answer are those of OpenAI's `POST /v1/vector_stores/{id}/search`.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sovctl.support.errors import InputError, NodeUnreachable, SovctlError
from sovctl.support.secret_files import read_api_key

from .https import HttpsClient, Rejected
from .settings import RagSettings

MAX_RESULTS = 50


@dataclass(frozen=True, slots=True)
class Found:
    """One chunk that the client may see."""

    document_id: str
    name: str
    score: float
    text: str
    attributes: dict[str, Any]
    """Version, page, offsets and language, as the gateway returns them."""


def search(settings: RagSettings, collection: str, query: str, results: int) -> list[Found]:
    """Return chunks, the most relevant first; empty without a match or a permission.

    Raises:
        InputError: the settings have no gateway, or the key is rejected.
        NodeUnreachable: the gateway does not answer.
    """
    given = settings.gateway
    if given is None:
        raise InputError("missing `gateway`", where="the settings", hint="set gateway: {url, ca, key_file}")
    if not 1 <= results <= MAX_RESULTS:
        raise InputError(f"expected 1 to {MAX_RESULTS}, got {results}", where="--results")
    headers = {"Authorization": f"Bearer {read_api_key(given.key_file)}"}
    https = HttpsClient(str(given.url), name="gateway", timeout_s=given.timeout_s, ca=given.ca, headers=headers)
    path = f"/v1/vector_stores/{quote(collection, safe='')}/search"
    try:
        with contextlib.closing(https):
            answer = https.request("POST", path, {"query": query, "max_num_results": results})
    except Rejected as error:
        if error.status == 401:
            raise InputError("the gateway rejects the key", where="gateway", hint="`gateway.key_file`") from error
        raise SovctlError(error.message, where="gateway") from error
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise NodeUnreachable("expected `data` in the answer", where="gateway")
    return [_found(row) for row in rows]


def _found(row: Any) -> Found:
    match row:
        case {
            "file_id": str(identifier),
            "filename": str(name),
            "score": float() | int() as score,
            "content": list(parts),
        }:
            texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
            attributes = row.get("attributes")
            return Found(
                identifier, name, float(score), "\n".join(texts), attributes if isinstance(attributes, dict) else {}
            )
    raise NodeUnreachable("expected results with `file_id`, `filename`, `score` and `content`", where="gateway")
