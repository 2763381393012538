"""Metrics of Prometheus over HTTP, and recordings."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sovctl.engine.scaling.loads import Load, Sample
from sovctl.engine.scaling.positions import ReplicaId
from sovctl.engine.standing_plan.metrics import Prometheus, encode_line, read_recording
from sovctl.support.errors import InputError, SovctlError

VALUES = {"kv_cache_usage": "0.5", "waiting": "2", "num_requests_running": "7"}


class SimulatedPrometheus(BaseHTTPRequestHandler):
    """Answers range queries with one replica; `age_s` is the age of its samples, `body` another answer."""

    age_s = 5.0
    body: bytes | None = None

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        rows: list[Any] = [
            {
                "metric": {"pool": "chat", "replica": "1"},
                "values": [[time_s, self.value(asked["query"], time_s)] for time_s in times],
            }
        ]
        answer = {"status": "success", "data": {"resultType": "matrix", "result": rows}}
        content = type(self).body or json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def value(self, query: str, time_s: float) -> str:
        if "timestamp" in query:
            return str(time_s - type(self).age_s)
        return next(value for name, value in VALUES.items() if name in query)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def handler() -> Iterator[tuple[type[SimulatedPrometheus], str]]:
    kind = type("Handler", (SimulatedPrometheus,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield kind, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_samples_have_the_three_metrics_of_each_replica(handler: tuple[type[SimulatedPrometheus], str]) -> None:
    found = Prometheus(handler[1]).samples(1000.0, 1030.0, 15.0)
    assert found == [Sample(time_s, {ReplicaId("chat", 1): Load(0.5, 2.0, 7.0)}) for time_s in (1000.0, 1015.0, 1030.0)]


def test_a_sample_that_prometheus_repeats_is_not_used(handler: tuple[type[SimulatedPrometheus], str]) -> None:
    handler[0].age_s = 16.0
    assert Prometheus(handler[1]).samples(1000.0, 1030.0, 15.0) == []


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b'{"data": {"result": [{"metric": {}, "values": []}, 1]}}', b"[" * 9]
)
def test_another_answer_is_an_error(handler: tuple[type[SimulatedPrometheus], str], body: bytes) -> None:
    handler[0].body = body
    with pytest.raises(SovctlError, match="unexpected answer"):
        Prometheus(handler[1]).samples(1000.0, 1030.0, 15.0)


def test_no_answer_is_an_error() -> None:
    with pytest.raises(SovctlError, match="no answer"):
        Prometheus("http://127.0.0.1:9").samples(1000.0, 1030.0, 15.0)


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    replica = ReplicaId("chat", 1)
    samples = [Sample(1_700_000_000.0 + 15 * number, {replica: Load(0.25, 1.0, 3.0)}) for number in range(3)]
    path = tmp_path / "day.jsonl"
    path.write_text("".join(encode_line([replica], each) for each in samples))
    found = read_recording(path)
    assert [(each.serving, each.sample) for each in found] == [(frozenset({replica}), each) for each in samples]


@pytest.mark.parametrize(
    "line", ["{}", "[]", "x", '{"time": "2026-01-01T00:00:00", "serving": [], "loads": {}}',
             '{"time": "2026-01-01T00:00:00Z", "serving": ["chat"], "loads": {}}']
)  # fmt: skip
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "day.jsonl"
    path.write_text(encode_line([], Sample(0.0, {})) + line + "\n")
    with pytest.raises(InputError, match="invalid line") as caught:
        read_recording(path)
    assert caught.value.where == f"{path}:2"
