"""Client of the administrator's API of the retrieval service."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self
from urllib.parse import quote

from sovctl.support.errors import InputError, NodeUnreachable, SovctlError

from ..values import Chunk, Groups
from .https import HttpsClient, Rejected
from .settings import RagSettings


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Document in the service, without its text."""

    source_id: str
    title: str
    version: str
    """`sha256:` and 64 hex digits of the file."""
    extractor: str
    chunks: int
    groups: Groups


@dataclass(frozen=True, slots=True)
class NewDocument:
    """Document with its chunks, to be stored."""

    source_id: str
    title: str
    version: str
    extractor: str
    text: str
    """Extracted text, to which the offsets of chunks refer; only its digest is sent."""
    chunks: Sequence[Chunk]
    groups: Groups


class Service:
    """The retrieval service, as an administrator. A context manager closes its connections.

    Raises:
        InputError: the settings have no service, or a certificate is unusable.
    """

    def __init__(self, settings: RagSettings) -> None:
        given = settings.service
        if given is None:
            raise InputError("missing `service`", where="the settings", hint="set service: {url, ca, certificate, key}")
        self._https = HttpsClient(
            str(given.url),
            name="retrieval service",
            timeout_s=given.timeout_s,
            ca=given.ca,
            certificate=given.certificate,
            key=given.key,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._https.close()

    def documents(self, collection: str) -> dict[str, StoredDocument]:
        """Return all documents of a collection, by source id."""
        answer = self._request("GET", f"/v1/documents?collection={quote(collection, safe='')}")
        rows = answer.get("documents") if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise NodeUnreachable("expected `documents` in the answer", where="retrieval service")
        return {stored.source_id: stored for stored in map(_stored, rows)}

    def put(self, collection: str, document: NewDocument) -> None:
        """Store a document in one transaction; it replaces its earlier version.

        Raises:
            Rejected: with status 413 or 422: the service does not accept the document.
        """
        body = {
            "collection": collection,
            "source_id": document.source_id,
            "title": document.title,
            "version": document.version,
            "groups": as_json(document.groups),
            "chunks": [asdict(chunk) for chunk in document.chunks],
            "extractor": document.extractor,
            "extracted_sha256": hashlib.sha256(document.text.encode()).hexdigest(),
        }
        self._request("POST", "/v1/documents", body, may_be_rejected=True)

    def delete(self, collection: str, source_id: str) -> bool:
        """Delete a document with its chunks; return whether it existed."""
        try:
            self._request("DELETE", _path(collection, source_id), may_be_rejected=True)
        except Rejected as error:
            if error.status == 404 and error.code != "collection_unknown":
                return False
            raise
        return True

    def set_groups(self, collection: str, source_id: str, groups: Groups) -> None:
        """Replace the groups of a document."""
        self._request("PUT", f"{_path(collection, source_id)}/groups", as_json(groups))

    def set_directory(self, groups: Mapping[str, Sequence[str]]) -> None:
        """Replace all memberships: subjects of each group."""
        self._request("PUT", "/v1/directory", {"groups": {name: list(members) for name, members in groups.items()}})

    def _request(self, method: str, path: str, body: Any = None, *, may_be_rejected: bool = False) -> Any:
        try:
            return self._https.request(method, path, body)
        except Rejected as error:
            if error.status in (401, 403):
                raise InputError(
                    "the certificate is not one of an administrator",
                    where="retrieval service",
                    hint="`service.certificate`",
                ) from error
            if may_be_rejected:
                raise
            if error.status == 404:
                raise InputError("not found: " + error.message, where="retrieval service") from error
            raise SovctlError(error.message, where="retrieval service") from error


def as_json(groups: Groups) -> dict[str, list[str]]:
    """Return the value of `groups` in the service's API."""
    return {"allow": sorted(groups.allow), "deny": sorted(groups.deny)}


def _path(collection: str, source_id: str) -> str:
    return f"/v1/documents/{quote(collection, safe='')}/{quote(source_id, safe='')}"


def _stored(row: Any) -> StoredDocument:
    match row:
        case {
            "source_id": str(source_id),
            "title": str(title),
            "version": str(version),
            "extractor": str(extractor),
            "chunks": int(chunks),
            "groups": {"allow": list(allow), "deny": list(deny)},
        }:
            groups = Groups(frozenset(map(str, allow)), frozenset(map(str, deny)))
            return StoredDocument(source_id, title, version, extractor, chunks, groups)
    raise NodeUnreachable("expected documents with version, extractor and groups", where="retrieval service")
