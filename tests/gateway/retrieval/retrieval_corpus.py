"""Invented vectors with groups in a database of the retrieval service, and the recall of its searches.

As in the trial of services.md 2.2: clustered vectors, groups spread over all clusters (the worst case for a graph), and
four callers, who see 50, 10, 1 and 0.15 % of the chunks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import numpy as np
from numpy.typing import NDArray

from sovctl.gateway.retrieval.database.store import Store
from sovctl.gateway.retrieval.search.path import SearchPath
from sovctl.gateway.retrieval.values import Caller

VISIBILITIES = {"half": 0.5, "tenth": 0.1, "hundredth": 0.01, "few": 0.0015}
CHUNKS_PER_DOCUMENT = 5
K = 10
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """Vectors, and the chunks of each group."""

    vectors: Vectors
    """(chunks, dimensions), unit length."""
    queries: Vectors
    """(queries, dimensions), unit length."""
    visible: dict[str, NDArray[np.int64]]
    """Chunk numbers by group, ascending."""

    def nearest(self, group: str, query: int) -> set[int]:
        """Return the `K` visible chunks with the greatest cosine similarity, by comparison with all of them."""
        visible = self.visible[group]
        similarity = self.vectors[visible] @ self.queries[query]
        return set(visible[np.argsort(-similarity)[:K]].tolist())


def corpus(chunks: int, dimensions: int, queries: int, *, seed: int = 7) -> Corpus:
    """Return a corpus: `chunks` / 500 clusters, and documents with random groups."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(8, chunks // 500), dimensions))

    def near(count: int) -> Vectors:
        made = centres[random.integers(0, len(centres), count)] + 0.6 * random.standard_normal((count, dimensions))
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    documents = chunks // CHUNKS_PER_DOCUMENT
    visible = {}
    for group, share in VISIBILITIES.items():
        chosen = np.sort(random.permutation(documents)[: max(2, round(documents * share))])
        visible[group] = (chosen[:, None] * CHUNKS_PER_DOCUMENT + np.arange(CHUNKS_PER_DOCUMENT)).ravel()
    return Corpus(near(chunks), near(queries), visible)


async def load(superuser: asyncpg.Connection[Any], made: Corpus) -> float:
    """Write a corpus into the first collection, with COPY and an index build. Return the seconds of the build."""
    count = len(made.vectors)
    await superuser.execute(
        "INSERT INTO retrieval.member_group (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", list(VISIBILITIES)
    )
    numbers = dict(await superuser.fetch("SELECT name, id FROM retrieval.member_group"))
    groups: list[list[int]] = [[] for _ in range(count // CHUNKS_PER_DOCUMENT)]
    for name, chunks in made.visible.items():
        for document in np.unique(chunks // CHUNKS_PER_DOCUMENT):
            groups[document].append(numbers[name])
    # Without the checks of foreign keys, row by row.
    await superuser.execute("SET session_replication_role = replica; SET synchronous_commit = off")
    await superuser.execute("CREATE TEMP TABLE given (chunk bigint, allow integer[], embedding text)")
    await superuser.execute(
        "INSERT INTO retrieval.document (id, collection, source_id, title, version, extractor, extracted_sha256, allow,"
        " deny, chunks)"
        " SELECT md5(n::text)::uuid, 1, n::text, 't', 'v', 'e', 'x', g::integer[], '{}', $2"
        " FROM unnest($1::text[]) WITH ORDINALITY AS each(g, number), LATERAL (SELECT number - 1 AS n) AS m",
        [f"{{{','.join(map(str, each))}}}" for each in groups],
        CHUNKS_PER_DOCUMENT,
    )
    await superuser.execute(
        "INSERT INTO retrieval.chunk (id, document, ordinal, start_offset, end_offset, language, identifier, text)"
        " OVERRIDING SYSTEM VALUE SELECT n, md5((n / $2)::text)::uuid, n % $2, 0, 1, 'en', n::text, 'invented'"
        " FROM generate_series(0, $1::bigint - 1) AS n",
        count,
        CHUNKS_PER_DOCUMENT,
    )
    for first in range(0, count, 5_000):
        rows = [
            (first + row, groups[(first + row) // CHUNKS_PER_DOCUMENT], f"[{','.join(map(str, vector.tolist()))}]")
            for row, vector in enumerate(made.vectors[first : first + 5_000])
        ]
        await superuser.copy_records_to_table("given", records=rows)
    graph = await superuser.fetchval("SELECT indexdef FROM pg_indexes WHERE indexname = 'vectors_1_1_graph'")
    await superuser.execute("DROP INDEX retrieval.vectors_1_1_graph")
    await superuser.execute(
        "INSERT INTO retrieval.vectors_1_1 (chunk, document, allow, deny, embedding)"
        f" SELECT chunk, md5((chunk / {CHUNKS_PER_DOCUMENT})::text)::uuid, allow, '{{}}', embedding::public.halfvec"
        " FROM given"
    )
    began = time.monotonic()
    await superuser.execute("SET maintenance_work_mem = '1GB'")
    await superuser.execute(graph)
    seconds = time.monotonic() - began
    await superuser.execute("ANALYZE")
    return seconds


@dataclass(frozen=True)
class Measured:
    """Searches of one caller."""

    group: str
    visible: int
    path: str
    recall: float
    """Mean recall@10 against a comparison with all visible vectors."""
    p50_ms: float
    p95_ms: float
    short: int
    """Searches with fewer than `K` hits, although more chunks are visible."""


async def measure(store: Store, made: Corpus, group: str, *, path: SearchPath | None = None) -> Measured:
    """Search with all queries as a caller of one group.

    Args:
        path: run this path, instead of the one that the store selects.
    """
    caller = Caller("sso:anna", "bank", frozenset({group}))
    recalls, times, short = [], [], 0
    _, chosen = await store.path(store.claim(caller, "handbook"))
    await store.search(caller, "handbook", made.queries[0].tolist(), K)  # opens a connection, loads the index
    for number, query in enumerate(made.queries):
        began = time.perf_counter()
        if path is None:
            hits = await store.search(caller, "handbook", query.tolist(), K)
        else:
            hits = await store.nearest(path, store.claim(caller, "handbook"), query.tolist(), K)
        times.append((time.perf_counter() - began) * 1000)
        found = {int(hit.chunk_id) for hit in hits}
        expected = made.nearest(group, number)
        recalls.append(len(found & expected) / len(expected))
        short += len(found) < min(K, len(made.visible[group]))
    p50, p95 = np.percentile(times, [50, 95])
    return Measured(
        group,
        len(made.visible[group]),
        path or chosen,
        float(np.mean(recalls)),
        float(p50),
        float(p95),
        short,
    )


def table(rows: Sequence[Measured], chunks: int) -> str:
    """Return the results as lines of text."""
    lines = [f"{'visible':>16} {'path':>8} {'recall@10':>10} {'p50 ms':>8} {'p95 ms':>8} {'short':>6}"]
    for row in rows:
        share = f"{row.visible:,} ({100 * row.visible / chunks:.2f} %)"
        lines.append(f"{share:>16} {row.path:>8} {row.recall:10.3f} {row.p50_ms:8.1f} {row.p95_ms:8.1f} {row.short:6}")
    return "\n".join(lines)
