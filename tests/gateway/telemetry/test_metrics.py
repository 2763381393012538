"""Metrics: counted right, bounded, readable by Prometheus, the same sum whoever of several workers is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from examples import examples
from sovctl.gateway.telemetry.metrics import Metrics, MetricsFolder, sharing
from sovctl.gateway.telemetry.metrics.exposition import exposition
from sovctl.gateway.telemetry.metrics.families import MAX_SERIES, Counter, Gauge, Histogram

BOUNDS = (0.01, 0.1, 1.0)
VALUES = st.lists(st.floats(0, 10), max_size=30)


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What a scraper reads."""
    return read_text(exposition(metrics)[1].decode())


def read_text(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Samples by name and labels."""
    return {
        (sample.name.removeprefix("sovctl_gateway_"), tuple(sorted(sample.labels.items()))): sample.value
        for family in parse_text(text)
        for sample in family.samples
    }


def test_a_scraper_reads_what_was_counted() -> None:
    metrics = Metrics()
    metrics.refused.add('odd "one"\n')
    metrics.refused.add("b", by=2)
    metrics.added_s.observe(0.003, "embeddings")
    metrics.added_s.observe(99, "embeddings")
    metrics.in_flight.move(3)
    metrics.in_flight.move(-1)
    read = samples(metrics)
    assert read["refused_total", (("reason", "b"),)] == 2
    assert read["refused_total", (("reason", 'odd "one"\n'),)] == 1
    buckets = {dict(labels)["le"]: v for (name, labels), v in read.items() if name == "added_seconds_bucket"}
    assert (buckets["0.002"], buckets["0.005"], buckets["1.0"], buckets["+Inf"]) == (0, 1, 1, 2)
    assert read["added_seconds_count", (("surface", "embeddings"),)] == 2
    assert read["added_seconds_sum", (("surface", "embeddings"),)] == pytest.approx(99.003)
    assert read["in_flight_requests", ()] == 2
    assert read["fallbacks_total", ()] == 0


def test_every_metric_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/gateway.md").read_text()
    for family in Metrics().families.values():
        assert f"| `{family.name}` | {', '.join(f'`{label}`' for label in family.labels)} |" in page, family.name


def test_the_text_is_what_the_scraper_asks_for() -> None:
    metrics = Metrics()
    metrics.requests.add("chat.completions", "assistant", "cloud", "200")
    plain, _ = exposition(metrics)
    assert plain.startswith("text/plain; version=0.0.4")
    kind, body = exposition(metrics, accept="application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert {family.name for family in parse_openmetrics(body.decode())} >= {"sovctl_gateway_requests"}


@settings(deadline=None)
@given(VALUES)
def test_a_histogram_counts_every_value_in_its_bucket(values: list[float]) -> None:
    histogram = Histogram("h", "", BOUNDS, "a")
    for value in values:
        histogram.observe(value, "x")
    counts = histogram.at("x").counts
    ends = (*BOUNDS, float("inf"))
    starts = (-1.0, *BOUNDS)
    assert counts == [sum(a < v <= b for v in values) for a, b in zip(starts, ends, strict=True)]
    assert histogram.at("x").total == pytest.approx(sum(values))


@examples(30)
@given(VALUES, VALUES)
def test_merged_counts_are_those_of_one_process_that_saw_everything(one: list[float], two: list[float]) -> None:
    parts, whole = [Metrics(), Metrics()], Metrics()
    for part, values in zip(parts, (one, two), strict=True):
        for metrics in (part, whole):
            for value in values:
                metrics.refused.add(str(int(value)))
                metrics.added_s.observe(value, "chat.completions")
                metrics.in_flight.move(1)
    merged = Metrics()
    merged.workers.put(-1)
    for part in parts:
        for name, family in part.families.items():
            merged.families[name].merge(family.values)
    assert samples(merged) == {key: pytest.approx(value) for key, value in samples(whole).items()}


def test_unbounded_labels_are_limited() -> None:
    counter, gauge, histogram = Counter("c", "", "a"), Gauge("g", "", "a"), Histogram("h", "", BOUNDS, "a")
    for number in range(MAX_SERIES + 50):
        counter.add(str(number))
        gauge.move(1, str(number))
        histogram.observe(0.1, str(number))
    for family in (counter, gauge, histogram):
        assert len(family.values) == MAX_SERIES + 1
    assert counter.values["other",] == 50
    with pytest.raises(ValueError, match="expected 1 label values, got 2"):
        counter.add("a", "b")


def test_merged_warning_keeps_the_larger_value() -> None:
    gauge = Gauge("g", "", together="max")
    gauge.merge({(): 1})
    gauge.merge({(): 0})
    assert gauge.values[()] == 1


_WORKER = """
import sys
from pathlib import Path
from sovctl.gateway.telemetry.metrics import Metrics, MetricsFolder, sharing
from sovctl.gateway.telemetry.metrics.exposition import exposition
sharing._ALIVE_S = 600  # the others may start slowly
number, folder, metrics = int(sys.argv[1]), MetricsFolder(Path(sys.argv[2])), Metrics()
metrics.requests.add("chat.completions", "assistant", "pool", "200", by=number)
metrics.ledger_commit_s.observe(0.001 * number)
metrics.in_flight.move(number)
folder.write(metrics)
print("written", flush=True)
sys.stdin.readline()
print(exposition(folder.together(metrics))[1].decode())
"""


def test_every_worker_reports_the_sum_over_workers(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(number), str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in (1, 2, 3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "written\n"
    for worker in workers:
        read = read_text(worker.communicate("all have written\n", timeout=30)[0])
        assert read["requests_total", _ASKED] == 6
        assert read["ledger_commit_seconds_count", ()] == 3
        assert read["in_flight_requests", ()] == 6
        assert read["workers", ()] == 3


_ASKED = (("model", "assistant"), ("route", "pool"), ("status", "200"), ("surface", "chat.completions"))


def test_a_dead_worker_keeps_its_counts_and_loses_its_gauges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead, alive = Metrics(), Metrics()
    for metrics in (dead, alive):
        metrics.refused.add("b")
        metrics.in_flight.move(1)
    MetricsFolder(tmp_path).write(dead)
    monkeypatch.setattr(sharing, "_ALIVE_S", 0.0)
    read = samples(MetricsFolder(tmp_path).together(alive))
    assert read["refused_total", (("reason", "b"),)] == 2
    assert read["in_flight_requests", ()] == 1
    assert read["workers", ()] == 1


def test_a_file_that_cannot_be_read_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "1-1.json").write_bytes(b'{"at": 1, "fam')
    (tmp_path / "2-2.json").write_bytes(b"{}")
    metrics = Metrics()
    metrics.refused.add("b")
    assert samples(MetricsFolder(tmp_path).together(metrics))["refused_total", (("reason", "b"),)] == 1
