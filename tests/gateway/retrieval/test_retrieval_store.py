"""Store of the retrieval service on a real PostgreSQL: permissions, revocation, deletion, versions, models."""

from __future__ import annotations

import asyncio

import pytest
from postgresql_server import PostgresqlServer
from retrieval_database import DIGEST, NEXT_DIGEST, RetrievalDatabase, caller, chunks, document, found, put, vector

from sovctl.gateway.retrieval.database.failures import ClaimRefused, DatabaseUnavailable, UnknownCollection
from sovctl.gateway.retrieval.database.migration import MigrationFailed
from sovctl.gateway.retrieval.database.store import Store
from sovctl.gateway.retrieval.values import Groups
from sovctl.support.errors import InputError


def test_migration_is_idempotent_and_updates_the_claim_key(database: RetrievalDatabase) -> None:
    assert not asyncio.run(database.migrate())
    database.with_store(Store.check)
    database.settings.claim_key_file.write_text("0f" * 32)
    with pytest.raises(ClaimRefused):
        database.with_store(Store.check)
    assert asyncio.run(database.migrate())
    database.with_store(Store.check)


def test_migration_needs_a_superuser_and_changes_nothing_without(database: RetrievalDatabase) -> None:
    database.superuser_dsn = database.dsn("sovctl_retrieval")
    with pytest.raises((InputError, MigrationFailed)):
        asyncio.run(database.migrate())


def test_a_model_with_other_dimensions_is_refused(database: RetrievalDatabase) -> None:
    database.content["embedding"] = {**database.content["embedding"], "dimensions": 16}
    with pytest.raises(InputError, match="expected 8 dimensions"):
        asyncio.run(database.migrate())


def test_each_caller_finds_the_documents_of_its_groups_only(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        await put(store, "salaries", ["hr"])
        await put(store, "canteen", ["hr", "all"])
        await put(store, "board", ["board"], ["contractors"])
        await put(store, "nobody", [])
        assert await found(store, caller("hr")) == ["canteen", "salaries"]
        assert await found(store, caller("all")) == ["canteen"]
        assert await found(store, caller("board")) == ["board"]
        assert await found(store, caller("board", "contractors")) == []
        assert await found(store, caller("contractors")) == []
        assert await found(store, caller()) == []
        assert await found(store, caller("no such group")) == []

    database.with_store(use)


def test_a_hit_has_all_values_of_its_chunk(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        travel = document("travel", ["all"])
        parts = chunks("Trains first.", "Flights need consent.")
        document_id = await store.put(travel, parts, {DIGEST: [vector(0), vector(0, towards=1, share=0.5)]})
        first, second = await store.search(caller("all"), "handbook", vector(0), 5)
        assert first.document_id == document_id
        assert first.chunk_id == parts[0].identifier(travel)
        assert (first.source_id, first.title, first.version) == ("travel", "Title of travel", travel.version)
        assert (first.text, first.page, first.start, first.end) == ("Trains first.", 1, 0, 13)
        assert (first.language, first.extractor) == ("en", "plain 1")
        assert first.score == pytest.approx(1.0, abs=1e-3)
        assert second.score == pytest.approx(1 / 1.25**0.5, abs=1e-3)

    database.with_store(use)


def test_revocation_applies_to_the_next_search(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        anna, bert = caller("hr"), caller("hr", subject="sso:bert")
        await put(store, "salaries", ["hr"])
        assert await found(store, anna) == ["salaries"]
        await store.set_directory({"hr": ["sso:bert"]})  # the JWS of anna still names the group
        assert await found(store, anna) == []
        assert await found(store, bert) == ["salaries"]
        assert await store.set_groups("handbook", "salaries", Groups(frozenset({"hr"}), frozenset({"interns"})))
        await store.set_directory({"hr": ["sso:bert", "sso:anna"], "interns": ["sso:bert"]})
        assert await found(store, anna) == ["salaries"]
        assert await found(store, caller("hr", "interns", subject="sso:bert")) == []
        assert await store.set_groups("handbook", "salaries", Groups(frozenset({"board"})))
        assert await found(store, anna) == []
        await store.set_directory({})
        assert await found(store, caller("board")) == []
        assert not await store.set_groups("handbook", "absent", Groups())

    database.with_store(use)


def test_deletion_leaves_no_row(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        await put(store, "salaries", ["hr"])
        assert await store.delete("handbook", "salaries")
        assert not await store.delete("handbook", "salaries")
        assert await found(store, caller("hr")) == []
        connection = await database.connect("sovctl")
        for table in ("document", "chunk", "vectors_1_1"):
            assert await connection.fetchval(f"SELECT count(*) FROM retrieval.{table}") == 0
        await connection.close()

    database.with_store(use)


def test_a_new_version_replaces_the_chunks_and_keeps_the_id(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        first = await put(store, "salaries", ["hr"], texts=("old", "older"))
        second = await put(store, "salaries", ["board"], texts=("new",), version="2")
        assert first == second
        assert await found(store, caller("hr")) == []
        hits = await store.search(caller("board"), "handbook", vector(0), 10)
        assert [hit.text for hit in hits] == ["new"]
        (stored,) = await store.documents("handbook")
        assert (stored.chunks, stored.document.version) == (1, f"sha256:{'2' * 64}")
        assert stored.document.groups == Groups(frozenset({"board"}))

    database.with_store(use)


def test_writers_of_one_document_do_not_mix(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        versions = "123456"
        await asyncio.gather(*(put(store, "one", ["hr"], texts=(f"{v}a", f"{v}b"), version=v) for v in versions))
        hits = await store.search(caller("hr"), "handbook", vector(0), 10)
        assert len(hits) == 2
        assert len({hit.version for hit in hits}) == 1

    database.with_store(use)


def test_a_collection_is_separate_and_belongs_to_its_tenants(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        await put(store, "salaries", ["hr"])
        await put(store, "limits", ["hr"], collection="credit")
        assert await found(store, caller("hr"), collection="credit") == ["limits"]
        assert await found(store, caller("hr", tenant="insurer"), collection="credit") == []
        assert await found(store, caller("hr", tenant="insurer")) == ["salaries"]
        assert await found(store, caller("hr"), collection="no-such-collection") == []
        with pytest.raises(UnknownCollection):
            await store.delete("no-such-collection", "salaries")

    database.with_store(use)


def test_a_new_model_is_written_next_to_the_current_one(database: RetrievalDatabase) -> None:
    async def before(store: Store) -> None:
        await put(store, "old", ["hr"], texts=("a", "b", "c"))

    async def both(store: Store) -> None:
        await put(store, "new", ["hr"], digests=(DIGEST, NEXT_DIGEST))
        with pytest.raises(ValueError, match="each chunk and model"):
            await put(store, "half", ["hr"])
        missing = await store.unembedded("handbook", NEXT_DIGEST, 10)
        assert [(source, text) for source, _, text in missing] == [("old", "a"), ("old", "b"), ("old", "c")]
        identifiers = [identifier for _, identifier, _ in missing]
        await store.put_vectors("handbook", NEXT_DIGEST, "old", identifiers, [vector(0)] * 3)
        assert not await store.unembedded("handbook", NEXT_DIGEST, 10)
        assert await store.set_groups("handbook", "old", Groups(frozenset({"board"})))

    async def after(store: Store) -> None:
        assert await found(store, caller("hr")) == ["new"]
        assert await found(store, caller("board")) == ["old"]

    database.with_store(before)
    current = database.content["embedding"]
    database.content["embedding_next"] = {**current, "model": "e6", "model_digest": NEXT_DIGEST}
    assert asyncio.run(database.migrate())
    database.with_store(both)
    database.content["embedding"] = database.content.pop("embedding_next")
    assert not asyncio.run(database.migrate())
    database.with_store(after)


def test_a_failed_write_leaves_the_old_document(database: RetrievalDatabase) -> None:
    async def use(store: Store) -> None:
        await put(store, "salaries", ["hr"], texts=("old",))
        with pytest.raises(DatabaseUnavailable):  # two dimensions too few
            await store.put(document("salaries", ["board"]), chunks("new"), {DIGEST: [[1.0] * 6]})
        assert await found(store, caller("hr")) == ["salaries"]

    database.with_store(use)


def test_a_database_that_ends_connections_is_one_error(
    vector_server: PostgresqlServer, database: RetrievalDatabase
) -> None:
    async def use(store: Store) -> None:
        await put(store, "salaries", ["hr"])
        vector_server.psql("ALTER ROLE sovctl_retrieval NOLOGIN")
        vector_server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sovctl_retrieval'")
        try:
            with pytest.raises(DatabaseUnavailable) as refused:
                await found(store, caller("hr"))
        finally:
            vector_server.psql("ALTER ROLE sovctl_retrieval LOGIN")
        assert "salaries" not in str(refused.value)
        assert await found(store, caller("hr")) == ["salaries"]

    database.with_store(use)
