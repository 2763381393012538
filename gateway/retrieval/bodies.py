"""Request bodies of the service's API, with their limits. PostgreSQL stores no NUL in text, so it is rejected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from .values import MAX_RESULTS, Chunk, Document, Groups

MAX_CHUNKS = 20_000
"""Chunks of one document: a book of 10 million tokens. Chosen 2026-11-29."""
MAX_CHUNK_CHARACTERS = 32_000
MAX_QUERY_CHARACTERS = 16_000
_DIGEST = r"^[0-9a-f]{64}$"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("expected Unicode without lone surrogates") from None
    return text


Plain = Annotated[str, AfterValidator(_without_nul)]
Short = Annotated[Plain, StringConstraints(min_length=1, max_length=1_000)]
GroupName = Annotated[Plain, StringConstraints(min_length=1, max_length=256)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SearchBody(_Body):
    """Body of `POST /v1/search`."""

    collection: Short
    query: Annotated[Plain, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
    k: int = Field(10, ge=1, le=MAX_RESULTS)
    rerank: bool = False


class GroupsBody(_Body):
    """Groups of a document; body of `PUT /v1/documents/{collection}/{source_id}/groups`."""

    allow: list[GroupName] = Field(max_length=1_000)
    deny: list[GroupName] = Field(default_factory=list, max_length=1_000)

    def groups(self) -> Groups:
        """Return the value."""
        return Groups(frozenset(self.allow), frozenset(self.deny))


class ChunkBody(_Body):
    """Chunk of a document."""

    ordinal: int = Field(ge=0)
    page: int | None = Field(None, ge=0, le=1_000_000)
    start: int = Field(ge=0, le=2_000_000_000)
    end: int = Field(ge=0, le=2_000_000_000)
    text: Annotated[Plain, StringConstraints(min_length=1, max_length=MAX_CHUNK_CHARACTERS)]
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]


class DocumentBody(_Body):
    """Body of `POST /v1/documents`."""

    collection: Short
    source_id: Short
    title: Short
    version: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
    groups: GroupsBody
    chunks: list[ChunkBody] = Field(max_length=MAX_CHUNKS)
    extractor: Short
    extracted_sha256: Annotated[str, StringConstraints(pattern=_DIGEST)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if [chunk.ordinal for chunk in self.chunks] != list(range(len(self.chunks))):
            raise ValueError("expected chunks in order, with ordinals from 0")
        if any(chunk.end - chunk.start != len(chunk.text) for chunk in self.chunks):
            raise ValueError("expected `end` - `start` of each chunk to be the length of its text")
        return self

    def document(self) -> Document:
        """Return the document without its chunks."""
        return Document(
            self.collection,
            self.source_id,
            self.title,
            self.version,
            self.groups.groups(),
            self.extractor,
            self.extracted_sha256,
        )

    def values(self) -> Sequence[Chunk]:
        """Return the chunks."""
        return [Chunk(**dict(chunk)) for chunk in self.chunks]


class DirectoryBody(_Body):
    """Body of `PUT /v1/directory`: subjects by group; it replaces the earlier export."""

    groups: dict[GroupName, list[GroupName]]
