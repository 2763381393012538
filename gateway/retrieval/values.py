"""Values of the retrieval service: callers, documents, chunks and hits. Pure.

caller = Caller("sso:4711", "bank", frozenset({"hr"}))
document = Document("handbook", "wiki/17", "Travel", version, Groups(frozenset({"hr"})), "pypdf 7.1", extracted)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

MAX_RESULTS = 50
"""Maximum `k` of a search; OpenAI's `max_num_results` has the same limit."""
MAX_DIMENSIONS = 3_800
"""Vectors of 16-bit floats are indexed up to 4,000 dimensions (pgvector 0.8.0, README), and one must fit in a page."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Principal of a search, from the gateway's JWS."""

    subject: str
    tenant: str
    groups: frozenset[str]
    """Groups of the JWS; the database intersects them with the directory export, if one was loaded."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups that may read a document. A caller in a group of `deny` may not, whatever its other groups."""

    allow: frozenset[str] = frozenset()
    """Empty: no caller may read the document."""
    deny: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Document:
    """Document of a source, without its text."""

    collection: str
    source_id: str
    """Identifier in the source, unique in the collection."""
    title: str
    version: str
    """Digest of the source file, `sha256:` and 64 hex digits."""
    groups: Groups
    extractor: str
    """Name and version of the parser, to which the offsets refer."""
    extracted_sha256: str
    """Digest of the extracted text, 64 hex digits."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Part of a document's extracted text."""

    ordinal: int
    page: int | None
    start: int
    end: int
    """Offsets in code points of the extracted text."""
    text: str = field(repr=False)
    language: str

    def identifier(self, document: Document) -> str:
        """Return the chunk's digest over document, version, ordinal and text: `sha256:` and 64 hex digits."""
        parts = [document.collection, document.source_id, document.version, self.ordinal, self.text]
        return f"sha256:{hashlib.sha256(orjson.dumps(parts)).hexdigest()}"


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Document in the database, for reconciliation."""

    document_id: str
    document: Document
    chunks: int


@dataclass(frozen=True, slots=True)
class Hit:
    """Chunk that a search found. Every hit is visible to the caller."""

    chunk_id: str
    document_id: str
    source_id: str
    title: str
    version: str
    page: int | None
    start: int
    end: int
    language: str
    text: str = field(repr=False)
    score: float
    """Cosine similarity (-1 to 1), or the score of the reranker; higher is more relevant."""
    extractor: str


Vector = Sequence[float]
"""Embedding of one text."""
