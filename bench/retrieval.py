"""Recall and latency of searches with permissions, on 200,000 chunks in a real PostgreSQL with pgvector.

    make bench-retrieval                    prints a table, writes build/bench/retrieval.json
    python -m bench.retrieval --check      exits with 1 if a target is missed
    python -m bench.retrieval --chunks 20000

Vectors and groups are invented; see tests/gateway/retrieval/retrieval_corpus.py. Times are those of `Store.search`:
count of visible chunks, selected path, rows with text; without embedding and HTTP. The last rows run the graph where
the store selects the exact search, for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from sovctl.gateway.retrieval.database.store import Store
from sovctl.gateway.retrieval.search.path import SearchPath
from sovctl.support.atomic_files import write_atomic

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / each) for each in (".", "gateway", "gateway/retrieval")]

from postgresql_server import PostgresqlServer  # type: ignore[import-not-found]  # noqa: E402 - a module of the tests
from retrieval_corpus import VISIBILITIES, Measured, corpus, load, measure, table  # type: ignore[import-not-found]  # noqa: E402
from retrieval_database import DIGEST, RetrievalDatabase, require_pgvector  # type: ignore[import-not-found]  # noqa: E402

CHUNKS, DIMENSIONS, QUERIES = 200_000, 384, 100
MIN_RECALL, MAX_P95_MS = 0.99, 60.0  # issue 21.1


def _certificate(folder: Path) -> tuple[Path, Path, Path]:
    """Make a certificate that signs itself, which the server needs to start; the bench uses its socket."""
    certificate, key = folder / "server.pem", folder / "server.key"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-subj", "/CN=localhost", "-days", "1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key, certificate


async def measured(database: RetrievalDatabase, chunks: int) -> tuple[float, list[Measured], list[Measured]]:
    """Return the seconds of the index build, the rows of the store's choice, and those of the graph."""
    content = corpus(chunks, DIMENSIONS, QUERIES)
    await database.migrate()
    superuser = await database.connect("sovctl")
    build_s = await load(superuser, content)
    await superuser.close()
    store = await Store.open(database.settings)
    chosen = [await measure(store, content, group) for group in VISIBILITIES]
    graph = [await measure(store, content, group, path=SearchPath.GRAPH) for group in VISIBILITIES]
    await store.close()
    return build_s, chosen, graph


def main() -> int:
    """Measure, print and write the results; return 1 if a target is missed and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--chunks", type=int, default=CHUNKS, help="number of chunks, by default %(default)s")
    options = parser.parse_args()
    require_pgvector()
    with tempfile.TemporaryDirectory() as name:
        server = PostgresqlServer(*_certificate(Path(name)), shared_buffers="1GB")
        server.start()
        try:
            embedding = {
                "base_urls": ["http://127.0.0.1:9/v1"],
                "model": "m",
                "model_digest": DIGEST,
                "dimensions": DIMENSIONS,
            }
            database = RetrievalDatabase(server, Path(name), embedding=embedding)
            build_s, chosen, graph = asyncio.run(measured(database, options.chunks))
        finally:
            server.stop()
    sys.stdout.write(f"{options.chunks:,} chunks of {DIMENSIONS} dimensions; index built in {build_s:.0f} s\n")
    sys.stdout.write(f"selected path\n{table(chosen, options.chunks)}\n")
    sys.stdout.write(f"graph alone, for comparison\n{table(graph, options.chunks)}\n")
    is_met = all(row.recall >= MIN_RECALL and row.p95_ms < MAX_P95_MS for row in chosen)
    sys.stdout.write(f"recall >= {MIN_RECALL}, p95 < {MAX_P95_MS:.0f} ms: {'met' if is_met else 'MISSED'}\n")
    Path("build/bench").mkdir(parents=True, exist_ok=True)
    result = {
        "chunks": options.chunks,
        "dimensions": DIMENSIONS,
        "build_s": build_s,
        "selected": [asdict(row) for row in chosen],
        "graph": [asdict(row) for row in graph],
        "met": is_met,
    }
    write_atomic(Path("build/bench/retrieval.json"), json.dumps(result, indent=1) + "\n")
    return 1 if options.check and not is_met else 0


if __name__ == "__main__":
    sys.exit(main())
