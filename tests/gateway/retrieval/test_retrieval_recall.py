"""Recall of searches by visibility, on 20,000 chunks: the table of services.md 2.2 at a tenth of its size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from postgresql_server import PostgresqlServer
from retrieval_corpus import VISIBILITIES, Corpus, K, corpus, load, measure, table
from retrieval_database import DIGEST, RetrievalDatabase, caller

from sovctl.gateway.retrieval.database.store import Store
from sovctl.gateway.retrieval.metrics import RetrievalMetrics
from sovctl.gateway.retrieval.search.path import SearchPath, choose_path

CHUNKS, DIMENSIONS, QUERIES = 20_000, 32, 30
EXPECTED = {"half": "graph", "tenth": "exact", "hundredth": "exact", "few": "exact"}
MIN_RECALL = 0.99  # issue 21.1


@pytest.fixture(scope="module")
def loaded(
    vector_server: PostgresqlServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RetrievalDatabase, Corpus]]:
    made = RetrievalDatabase(
        vector_server,
        tmp_path_factory.mktemp("recall"),
        embedding={
            "base_urls": ["http://127.0.0.1:9/v1"],
            "model": "m",
            "model_digest": DIGEST,
            "dimensions": DIMENSIONS,
        },
        exact_below_rows=2_000,  # a tenth of the default, as the corpus
    )
    content = corpus(CHUNKS, DIMENSIONS, QUERIES)

    async def fill() -> None:
        await made.migrate()
        superuser = await made.connect("sovctl")
        await load(superuser, content)
        await superuser.close()

    asyncio.run(fill())
    yield made, content
    made.psql("DROP SCHEMA retrieval CASCADE")


def test_recall_is_complete_at_every_visibility(loaded: tuple[RetrievalDatabase, Corpus]) -> None:
    database, content = loaded

    async def use(store: Store) -> None:
        rows = [await measure(store, content, group) for group in VISIBILITIES]
        assert {row.group: row.path for row in rows} == EXPECTED, table(rows, CHUNKS)
        assert all(row.recall >= MIN_RECALL and not row.short for row in rows), table(rows, CHUNKS)

    database.with_store(use)


def test_a_short_graph_search_is_counted_and_repeated_as_exact(loaded: tuple[RetrievalDatabase, Corpus]) -> None:
    database, content = loaded
    database.content |= {"exact_below_rows": 0, "exact_below_share": 0.0}  # always the graph

    async def use() -> None:
        metrics = RetrievalMetrics()
        store = await Store.open(database.settings, metrics)
        superuser = await database.connect("sovctl")
        # The scan ends early, as it does by default after 20,000 rows of a larger collection.
        await superuser.execute(
            "ALTER FUNCTION retrieval.search_graph(text, bytea, text, text, integer) SET hnsw.max_scan_tuples = 1"
        )
        try:
            claim, query = store.claim(caller("few"), "handbook"), content.queries[0].tolist()
            assert len(await store.nearest(SearchPath.GRAPH, claim, query, K)) < K
            hits = await store.search(caller("few"), "handbook", query, K)
            assert {int(hit.chunk_id) for hit in hits} == content.nearest("few", 0)
            assert b"sovctl_retrieval_short_searches_total 1.0" in metrics.exposition()
        finally:
            await superuser.execute(
                "ALTER FUNCTION retrieval.search_graph(text, bytea, text, text, integer)"
                " SET hnsw.max_scan_tuples = 200000"
            )
            await superuser.close()
            await store.close()

    asyncio.run(use())


@pytest.mark.parametrize(
    ("visible", "total", "expected"),
    [
        (0, 1_000_000, SearchPath.NONE),
        (20_000, 1_000_000, SearchPath.EXACT),
        (20_001, 80_004, SearchPath.GRAPH),
        (100_000, 1_000_000, SearchPath.EXACT),
        (500_000, 1_000_000, SearchPath.GRAPH),
        (500_000, None, SearchPath.EXACT),
    ],
)
def test_the_path_depends_on_visible_rows_and_share(visible: int, total: int | None, expected: SearchPath) -> None:
    assert choose_path(visible, total, exact_below_rows=20_000, exact_below_share=0.25) is expected
