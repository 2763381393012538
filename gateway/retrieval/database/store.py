"""Documents and vectors in PostgreSQL. Every call signs a claim; the database verifies it and filters the rows.

    store = await Store.open(settings)
    hits = await store.search(caller, "handbook", vector, k=5)

- The role of the service can execute functions and nothing else (schema.sql).
- A write is one transaction: a search sees a document with its lists and vectors, or without.
- Nothing is cached: a deletion or revocation that was committed applies to the next search.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import orjson

from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_key

from ..claim import Claim, ClaimSigner
from ..metrics import RetrievalMetrics
from ..search.path import SearchPath, choose_path
from ..settings import RetrievalSettings
from ..values import Caller, Chunk, Document, Groups, Hit, StoredDocument, Vector
from .failures import ClaimRefused, DatabaseUnavailable, UnknownCollection, reason

_BROKEN = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
_STATEMENTS = {
    SearchPath.EXACT: "SELECT * FROM retrieval.search_exact($1, $2, $3, $4, $5)",
    SearchPath.GRAPH: "SELECT * FROM retrieval.search_graph($1, $2, $3, $4, $5)",
}
_GRACE_S = 1.0  # the server's own timeout ends first


class Store:
    """Store of all collections. Opened by `open`.

    Args:
        pool: connections as the role of the service.
    """

    def __init__(
        self, pool: asyncpg.Pool[Any], signer: ClaimSigner, settings: RetrievalSettings, metrics: RetrievalMetrics
    ) -> None:
        self._pool = pool
        self._signer = signer
        self._settings = settings
        self._metrics = metrics

    @classmethod
    async def open(cls, settings: RetrievalSettings, metrics: RetrievalMetrics | None = None) -> Store:
        """Connect, and read the identity of the database.

        Raises:
            InputError: DSN or claim key are unreadable.
            DatabaseUnavailable: the database does not answer, or was not migrated.
        """
        key = read_key(settings.claim_key_file)
        try:
            dsn = settings.database.dsn_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            where = str(settings.database.dsn_file)
            raise InputError(f"unreadable: {error.strerror}", where=where) from error
        limit_s = settings.database.statement_timeout_s
        limit_ms = str(round(limit_s * 1000))
        try:
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=settings.database.connections,
                timeout=limit_s,
                command_timeout=limit_s + _GRACE_S,
                server_settings={
                    "application_name": "sovctl-retrieval",
                    "search_path": "pg_catalog",
                    "statement_timeout": limit_ms,
                    "lock_timeout": limit_ms,
                    "idle_in_transaction_session_timeout": limit_ms,
                },
            )
        except (*_BROKEN, ValueError) as error:
            raise DatabaseUnavailable(f"the database does not answer: {reason(error)}") from error
        try:
            identity = await pool.fetchval("SELECT retrieval.identity()")
        except _BROKEN as error:
            await pool.close()
            raise DatabaseUnavailable(
                f"the database has no schema of this service: {reason(error)}", hint="run `migrate`"
            ) from error
        return cls(pool, ClaimSigner(key, str(identity)), settings, metrics or RetrievalMetrics())

    async def close(self) -> None:
        """Close all connections."""
        try:
            await asyncio.wait_for(self._pool.close(), self._settings.database.statement_timeout_s)
        except TimeoutError:
            self._pool.terminate()

    async def check(self) -> None:
        """Check that the database answers and accepts a claim.

        Raises:
            DatabaseUnavailable: it does not.
        """
        await self.visible(self.claim(Caller("", "", frozenset()), self._settings.collections[0].name))

    @property
    def identity(self) -> str:
        """Identity of the database, which claims name."""
        return self._signer.database

    async def catalog(self, query: str, *arguments: object) -> object:
        """Return the value of a query of the system catalogs, for checks."""
        return (await self._fetch(query, *arguments))[0][0]

    async def visible(self, claim: Claim) -> tuple[int, int | None]:
        """Return the number of visible chunks, and an estimate of all; None if unknown.

        Raises:
            ClaimRefused: the database refused the claim.
        """
        rows = await self._fetch(
            "SELECT * FROM retrieval.visible($1, $2, $3)",
            claim.payload,
            claim.mac,
            self._settings.embedding.model_digest,
        )
        return rows[0]["visible"], rows[0]["total"]

    async def search(self, caller: Caller, collection: str, vector: Vector, k: int) -> list[Hit]:
        """Return the chunks nearest to a vector that the caller may read, the nearest first.

        Args:
            vector: of the model `embedding`.
            k: 1 to 100.

        Returns:
            Empty if the collection is unknown, forbidden or has no visible chunk.

        Raises:
            DatabaseUnavailable: no complete result.
        """
        claim = self.claim(caller, collection)
        visible, path = await self.path(claim)
        self._metrics.searches.labels(path).inc()
        if path is SearchPath.NONE:
            return []
        hits = await self.nearest(path, claim, vector, k)
        if path is SearchPath.GRAPH and len(hits) < min(k, visible):
            self._metrics.short_searches.inc()
            hits = await self.nearest(SearchPath.EXACT, claim, vector, k)
        return hits

    def claim(self, caller: Caller, collection: str) -> Claim:
        """Return a claim of a caller to search a collection."""
        return self._signer.search(caller, collection, now=time.time())

    async def path(self, claim: Claim) -> tuple[int, SearchPath]:
        """Return the number of visible chunks and the search path."""
        visible, total = await self.visible(claim)
        return visible, choose_path(
            visible,
            total,
            exact_below_rows=self._settings.exact_below_rows,
            exact_below_share=self._settings.exact_below_share,
        )

    async def nearest(self, path: SearchPath, claim: Claim, vector: Vector, k: int) -> list[Hit]:
        """Return the hits of one path, which may be fewer than `search` returns."""
        digest = self._settings.embedding.model_digest
        rows = await self._fetch(_STATEMENTS[path], claim.payload, claim.mac, digest, _text(vector), k)
        return [_hit(row) for row in rows]

    async def put(self, document: Document, chunks: Sequence[Chunk], vectors: Mapping[str, Sequence[Vector]]) -> str:
        """Store a document, and replace an earlier one with the same source id.

        Args:
            vectors: for each model of the settings, by its digest, one vector for each chunk in order.

        Returns:
            The document's id, which stays the same for later versions.

        Raises:
            UnknownCollection: the collection or the model is not in the database.
            DatabaseUnavailable: nothing changed.
        """
        expected = {model.model_digest for model in self._settings.models}
        if vectors.keys() != expected or any(len(each) != len(chunks) for each in vectors.values()):
            raise ValueError("expected one vector for each chunk and model")
        identifiers = [chunk.identifier(document) for chunk in chunks]
        claim = self._signer.manage(document.collection, now=time.time())
        async with self._transaction() as connection:
            document_id = await connection.fetchval(
                "SELECT retrieval.put_document($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
                claim.payload,
                claim.mac,
                document.source_id,
                document.title,
                document.version,
                document.extractor,
                document.extracted_sha256,
                sorted(document.groups.allow),
                sorted(document.groups.deny),
                [chunk.page for chunk in chunks],
                [chunk.start for chunk in chunks],
                [chunk.end for chunk in chunks],
                [chunk.language for chunk in chunks],
                identifiers,
                [chunk.text for chunk in chunks],
            )
            for digest, of_model in vectors.items():
                await self._put_vectors(connection, claim, digest, document.source_id, identifiers, of_model)
        return str(document_id)

    async def unembedded(self, collection: str, model_digest: str, most: int) -> list[tuple[str, str, str]]:
        """Return source id, chunk identifier and text of chunks without a vector of this model."""
        claim = self._signer.manage(collection, now=time.time())
        rows = await self._fetch(
            "SELECT * FROM retrieval.unembedded($1, $2, $3, $4)", claim.payload, claim.mac, model_digest, most
        )
        return [(row["source_id"], row["identifier"], row["content"]) for row in rows]

    async def put_vectors(
        self, collection: str, model_digest: str, source_id: str, identifiers: Sequence[str], vectors: Sequence[Vector]
    ) -> None:
        """Add vectors of a model to chunks of a document. Chunks that were deleted since are ignored."""
        claim = self._signer.manage(collection, now=time.time())
        async with self._transaction() as connection:
            await self._put_vectors(connection, claim, model_digest, source_id, identifiers, vectors, exact=False)

    async def delete(self, collection: str, source_id: str) -> bool:
        """Delete a document with its chunks and vectors. Return whether it existed."""
        claim = self._signer.manage(collection, now=time.time())
        rows = await self._fetch(
            "SELECT retrieval.delete_document($1, $2, $3) AS found", claim.payload, claim.mac, source_id
        )
        return bool(rows[0]["found"])

    async def set_groups(self, collection: str, source_id: str, groups: Groups) -> bool:
        """Replace the groups of a document. Return whether it exists."""
        claim = self._signer.manage(collection, now=time.time())
        rows = await self._fetch(
            "SELECT retrieval.set_groups($1, $2, $3, $4, $5) AS found",
            claim.payload,
            claim.mac,
            source_id,
            sorted(groups.allow),
            sorted(groups.deny),
        )
        return bool(rows[0]["found"])

    async def set_directory(self, groups: Mapping[str, Iterable[str]]) -> int:
        """Replace the directory export: subjects by group. Return the number of memberships."""
        claim = self._signer.directory(now=time.time())
        export = orjson.dumps({name: sorted(set(subjects)) for name, subjects in groups.items()}).decode()
        rows = await self._fetch(
            "SELECT retrieval.set_directory($1, $2, $3) AS members", claim.payload, claim.mac, export
        )
        return int(rows[0]["members"])

    async def documents(self, collection: str) -> list[StoredDocument]:
        """Return the documents of a collection, by source id."""
        claim = self._signer.manage(collection, now=time.time())
        rows = await self._fetch("SELECT * FROM retrieval.documents($1, $2)", claim.payload, claim.mac)
        return [_stored(collection, row) for row in rows]

    async def _put_vectors(
        self,
        connection: Any,
        claim: Claim,
        digest: str,
        source_id: str,
        identifiers: Sequence[str],
        vectors: Sequence[Vector],
        *,
        exact: bool = True,
    ) -> None:
        added = await connection.fetchval(
            "SELECT retrieval.put_vectors($1, $2, $3, $4, $5, $6)",
            claim.payload,
            claim.mac,
            digest,
            list(identifiers),
            [_text(vector) for vector in vectors],
            source_id,
        )
        if exact and added != len(identifiers):
            raise DatabaseUnavailable(f"expected {len(identifiers)} vectors, the database stored {added}")

    async def _fetch(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        async with self._transaction() as connection:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
            return rows

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Any]:
        """Yield a connection in a transaction; translate its errors."""
        try:
            async with (
                self._pool.acquire(timeout=self._settings.database.statement_timeout_s) as connection,
                connection.transaction(),
            ):
                yield connection
        except asyncpg.InsufficientPrivilegeError as error:
            raise ClaimRefused("the database refused the claim", hint="compare clock and claim key") from error
        except asyncpg.NoDataFoundError as error:
            raise UnknownCollection("unknown collection or model") from error
        except _BROKEN as error:
            raise DatabaseUnavailable(f"the database does not answer: {reason(error)}") from error


def _text(vector: Vector) -> str:
    """Return a vector in pgvector's text format."""
    if not all(map(math.isfinite, vector)):
        raise ValueError("expected finite numbers in a vector")
    return f"[{','.join(map(repr, map(float, vector)))}]"


def _hit(row: asyncpg.Record) -> Hit:
    return Hit(
        chunk_id=row["chunk_id"],
        document_id=str(row["document_id"]),
        source_id=row["source_id"],
        title=row["title"],
        version=row["version"],
        page=row["page"],
        start=row["start_offset"],
        end=row["end_offset"],
        language=row["language"],
        text=row["content"],
        score=1.0 - row["distance"],
        extractor=row["extractor"],
    )


def _stored(collection: str, row: asyncpg.Record) -> StoredDocument:
    groups = Groups(frozenset(row["allow"]), frozenset(row["deny"]))
    document = Document(
        collection,
        row["source_id"],
        row["title"],
        row["version"],
        groups,
        row["extractor"],
        row["extracted_sha256"],
    )
    return StoredDocument(str(row["document_id"]), document, row["chunks"])
