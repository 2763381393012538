"""A migrated database of the retrieval service on a real PostgreSQL with pgvector, and invented documents."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import numpy as np
from postgresql_server import PostgresqlServer, binaries

from sovctl.gateway.retrieval.database.migration import migrate
from sovctl.gateway.retrieval.database.store import Store
from sovctl.gateway.retrieval.metrics import RetrievalMetrics
from sovctl.gateway.retrieval.settings import RetrievalSettings
from sovctl.gateway.retrieval.values import Caller, Chunk, Document, Groups
from sovctl.support.secret_files import read_key

DIGEST, NEXT_DIGEST = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
DIMENSIONS = 8
_Result = TypeVar("_Result")


def require_pgvector() -> None:
    """Fail with the remedy if the newest PostgreSQL of this machine has no pgvector."""
    share = binaries().parent.name
    control = Path(f"/usr/share/postgresql/{share}/extension/vector.control")
    if not control.exists():
        raise LookupError(f"expected pgvector 0.8 for PostgreSQL {share}, got none: make test-packages")


class RetrievalDatabase:
    """An empty database, with the files of its settings.

    Args:
        folder: for key and DSN.
        changes: replace values of the settings.
    """

    def __init__(self, server: PostgresqlServer, folder: Path, **changes: object) -> None:
        self.name = "retrieval"  # not that of the vault's tests, whose tables have no row-level security
        self.server = server
        if not server.psql(f"SELECT 1 FROM pg_database WHERE datname = '{self.name}'"):
            server.psql(f"CREATE DATABASE {self.name}")
        self.psql("DROP SCHEMA IF EXISTS retrieval CASCADE")
        self.superuser_dsn = self.dsn("sovctl")
        key = folder / "claim.key"
        key.write_text(uuid.uuid4().hex * 2)
        key.chmod(0o600)
        (folder / "dsn").write_text(self.dsn("sovctl_retrieval"))
        embedding = {
            "base_urls": ["http://127.0.0.1:9/v1"],
            "model": "e5",
            "model_digest": DIGEST,
            "dimensions": DIMENSIONS,
        }
        self.content: dict[str, Any] = {
            "listen": {"address": "127.0.0.1", "port": 8446, "certificate": "c", "key": "k", "client_ca": "ca"},
            "administrators": ["retrieval-admin"],
            "gateways": ["s1"],
            "principal": {"jwks_file": str(folder / "jwks.json"), "issuer": "sovctl.test/gateway"},
            "database": {"dsn_file": str(folder / "dsn")},
            "claim_key_file": str(key),
            "embedding": embedding,
            "collections": [{"name": "handbook"}, {"name": "credit", "tenants": ["bank"]}],
            **changes,
        }

    def psql(self, statement: str) -> str:
        """Return what psql prints for a statement of the superuser."""
        return self.server.psql(statement, database=self.name)

    @property
    def settings(self) -> RetrievalSettings:
        """The settings, of the content at this time."""
        return RetrievalSettings.model_validate(self.content)

    def dsn(self, user: str) -> str:
        """Return the DSN of a user."""
        return f"postgresql://{user}@/{self.name}?host={self.server.folder}&port={self.server.port}"

    async def migrate(self) -> bool:
        """Migrate to the settings."""
        settings = self.settings
        return await migrate(
            self.superuser_dsn,
            claim_key=read_key(settings.claim_key_file),
            collections=settings.collections,
            models=settings.models,
        )

    def with_store(self, use: Callable[[Store], Awaitable[_Result]]) -> _Result:
        """Return the result of `use` with an open store."""

        async def run() -> _Result:
            store = await Store.open(self.settings, RetrievalMetrics())
            try:
                return await use(store)
            finally:
                await store.close()

        return asyncio.run(run())

    async def connect(self, user: str = "sovctl_retrieval") -> asyncpg.Connection[Any]:
        """Connect directly."""
        return await asyncpg.connect(self.dsn(user))


def caller(*groups: str, subject: str = "sso:anna", tenant: str = "bank") -> Caller:
    """Return a caller."""
    return Caller(subject, tenant, frozenset(groups))


def document(
    source_id: str, allow: Iterable[str], deny: Iterable[str] = (), *, collection: str = "handbook", version: str = "1"
) -> Document:
    """Return an invented document."""
    digest = f"sha256:{version * 64}"
    groups = Groups(frozenset(allow), frozenset(deny))
    return Document(collection, source_id, f"Title of {source_id}", digest, groups, "plain 1", "e" * 64)


def chunks(*texts: str) -> list[Chunk]:
    """Return chunks of one page."""
    return [Chunk(ordinal, 1, 0, len(text), text, "en") for ordinal, text in enumerate(texts)]


def vector(direction: int, *, towards: int = 0, share: float = 0.0) -> list[float]:
    """Return a unit-like vector along one dimension, with a share of another."""
    found = np.zeros(DIMENSIONS)
    found[direction] = 1.0
    found[towards] += share
    return [float(value) for value in found]


async def put(
    store: Store,
    source_id: str,
    allow: Iterable[str],
    deny: Iterable[str] = (),
    *,
    collection: str = "handbook",
    texts: Sequence[str] = ("first", "second"),
    version: str = "1",
    digests: Sequence[str] = (DIGEST,),
) -> str:
    """Store an invented document; its chunks point in directions 0, 1, ..."""
    made = [vector(number % DIMENSIONS) for number in range(len(texts))]
    of_models = dict.fromkeys(digests, made)
    return await store.put(
        document(source_id, allow, deny, collection=collection, version=version), chunks(*texts), of_models
    )


async def found(store: Store, who: Caller, *, collection: str = "handbook", k: int = 10) -> list[str]:
    """Return the source ids that a caller finds, each once."""
    hits = await store.search(who, collection, vector(0), k)
    return sorted({hit.source_id for hit in hits})
