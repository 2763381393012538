"""Ingestion of documents: cost of the isolated parser process, chunks, quote checks. Without service and database.

    make bench-ingestion                 prints a table, writes build/bench/ingestion.json
    python -m bench.ingestion --check    exits with 1 if a target is missed

The time of a process is compared with `python -I -c pass` in the same rounds, so that the ratio is independent of the
machine. Rates are CPU time in this process, with the language of each chunk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sovctl.gateway.detect.language.language import languages
from sovctl.gateway.domain.citations import find_quote
from sovctl.gateway.retrieval import chunks
from sovctl.gateway.retrieval.ingest import sandbox
from sovctl.gateway.retrieval.ingest.parsers import kinds
from sovctl.gateway.retrieval.ingest.parsers.extracted import Limits
from sovctl.support.atomic_files import write_atomic

ROUNDS = 15
SENTENCE = "The branch confirms the transfer on the next working day, and the customer receives a message. "
DOCUMENT = "\n\n".join(
    f"# Section {section}\n\n" + " ".join(f"Case {section}.{case}: {SENTENCE}" for case in range(20))
    for section in range(200)
)
# Chosen for this project, 2026-11-29: about twice the first run's ratio, and half of its rates.
TARGETS = {
    "process_ratio": ("most", 25.0, "isolated process of a small file / python -I -c pass"),
    "parser_characters_s": ("least", 5e6, "characters of text parsed, per s of CPU time"),
    "chunk_characters_s": ("least", 5e5, "characters cut into chunks, per s of CPU time"),
    "quotes_s": ("least", 200.0, "quotes checked in chunks of 2,000 characters, per s of CPU time"),
}


def _seconds(action: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    action()
    return clock() - begin


def _baseline() -> None:
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)


def measure() -> dict[str, float]:
    """Return each figure of `TARGETS`."""
    limits, content = Limits(), DOCUMENT.encode()
    small = SENTENCE.encode()
    rounds = [
        (
            _seconds(lambda: sandbox.parse(small, suffix=".txt", limits=limits, user_id=65534), time.perf_counter),
            _seconds(_baseline, time.perf_counter),
        )
        for _ in range(ROUNDS)
    ]
    extraction = kinds.extract(content, ".md", limits)
    made = chunks.cut(extraction.blocks, languages)
    text = made[0].text[:2_000]
    parsing = _seconds(lambda: kinds.extract(content, ".md", limits), time.process_time)
    cutting = _seconds(lambda: chunks.cut(extraction.blocks, languages), time.process_time)
    quoting = _seconds(lambda: [find_quote(text[-60:], text) for _ in range(200)], time.process_time)
    return {
        "process_ratio": statistics.median(one / other for one, other in rounds),
        "parser_characters_s": len(content) / parsing,
        "chunk_characters_s": len(content) / cutting,
        "quotes_s": 200 / quoting,
    }


def main() -> int:
    """Print the table and write the results; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure the ingestion of documents.")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    found = measure()
    missed = []
    for name, (side, target, meaning) in TARGETS.items():
        is_met = found[name] <= target if side == "most" else found[name] >= target
        missed += [] if is_met else [name]
        print(f"{'ok' if is_met else 'MISSED':<8}{name:<22}{found[name]:>14,.1f}  {side} {target:,.0f}  {meaning}")
    write_atomic(Path("build/bench/ingestion.json"), json.dumps({"figures": found, "missed": missed}, indent=2) + "\n")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
