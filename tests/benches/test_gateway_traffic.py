"""The load that gateways are measured by: no request like another, an upstream that echoes, a client that counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_ports import unused_port

from bench.traffic import bars, machine
from bench.traffic.conversations import KINDS, TURNS, Conversation, Kind
from bench.traffic.held import events_held_back
from bench.traffic.process import Running, started, wait_for_port
from bench.traffic.prompts import SHAPES, fill, pieces, scenario_in, specimens
from bench.traffic.round_trip import try_out
from bench.traffic.streams import load_streams
from bench.traffic.wrk import Target
from sovctl.gateway.detect import make_detector
from sovctl.gateway.settings import DetectSettings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _in_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # the modules are started as programs


@pytest.fixture(name="upstream")
def upstream_fixture(tmp_path: Path, _in_the_tree: None) -> Iterator[tuple[Running, Target]]:
    port = unused_port()
    command = [sys.executable, "-m", "bench.traffic.upstream", str(port)]
    with started(command, cores=os.sched_getaffinity(0), log=tmp_path / "log") as running:
        wait_for_port(running, port)
        yield running, Target("127.0.0.1", port)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_every_body_is_json_of_its_size_and_like_no_other(shape: object) -> None:
    from bench.traffic.prompts import Shape

    assert isinstance(shape, Shape)
    bodies = [fill(pieces(shape, number % 64), number) for number in range(200)]
    for body, identifiers in bodies:
        prompt = json.loads(body)["messages"][1]["content"]
        assert 0.9 * shape.prompt_bytes < len(prompt) < 1.1 * shape.prompt_bytes
        assert len(identifiers) == shape.identifiers
        assert all(each in prompt for each in identifiers)
    assert len({body for body, _ in bodies}) == (200 if shape.identifiers else 64)


@pytest.mark.parametrize("name", SHAPES)
def test_detector_finds_exactly_the_generated_identifiers(name: str) -> None:
    detector = make_detector(DetectSettings())
    for number in range(128):
        body, identifiers = fill(pieces(SHAPES[name], number % 64), number)
        prompt = json.loads(body)["messages"][1]["content"]
        found = [prompt[f.start : f.end] for f in detector.find(prompt)]
        assert found == identifiers


def test_specimens_never_need_escapes_in_lua() -> None:
    assert not [value for known in specimens().values() for value in known if "]==]" in value or "\n" in value]


def test_the_upstream_echoes_and_everything_is_counted(upstream: tuple[Running, Target]) -> None:
    running, target = upstream
    seen = try_out(target, target.port, SHAPES["2k3"])
    assert (seen.identifiers, seen.left_in_clear, seen.came_back) == (3, 3, 3)
    assert events_held_back(target, target.port) == 0
    before = running.cpu_s()
    done = load_streams(target, SHAPES["2k3s"], connections=4, seconds=1, cores=os.sched_getaffinity(0))
    assert done.requests > 4
    assert done.failures == 0
    assert done.first_p50_ms is not None
    assert done.first_p50_ms < done.p50_ms
    assert running.cpu_s() > before
    assert running.rss_bytes() > 1 << 20


def test_requested_answer_shape_passes_through_every_gateway() -> None:
    assert scenario_in(b"Scenario: 570 40 1.") is None, "figures might be somebody's"
    for shape in SHAPES.values():
        body, _ = fill(pieces(shape, 5), 5)
        assert scenario_in(body) == (shape.answer_bytes, shape.chunks, shape.gap_ms)


def test_unmeasured_figure_counts_as_missed_target() -> None:
    empty = bars.judge({"rows": [], "round_trip": {}})
    assert len(empty) == 8
    assert not any(bar.holds for bar in empty)


def test_figures_are_scaled_to_the_reference_machine() -> None:
    def row(contender: str, shape: str, cpu_ms: float, workers: int = 1) -> dict[str, object]:
        connections = 16 if workers == 1 else 64
        return {
            "contender": contender,
            "shape": shape,
            "connections": connections,
            "workers": workers,
            "cpu_ms": cpu_ms,
            "requests_per_s": workers * 1000 / cpu_ms,
        }

    others = [row("asgi-json", "2k3", 0.291), row("shield", "2k3", 11.8), row("litellm", "2k3", 25.9)]
    rows = [*others, row("sovctl", "2k3", 1.5), row("sovctl", "20k30", 6)]
    judged = {bar.name: bar for bar in bars.judge({"rows": rows, "round_trip": {}})}
    slow = judged["CPU ms per request, 20 KB/30"]
    assert slow.there == pytest.approx(3)
    assert not slow.holds, "what holds is what was measured"
    assert {bar.there for name, bar in judged.items() if name.startswith("times")} == {None}
    assert bars.judge({"rows": rows[:1] + rows[3:], "round_trip": {}})[2].there == pytest.approx(2), "one who says so"


def test_wake_up_latency_is_positive_and_keeps_core_affinity() -> None:
    allowed = os.sched_getaffinity(0)
    assert 0.1 < machine.wake_us({min(allowed)}, {max(allowed)}) < 10_000
    assert os.sched_getaffinity(0) == allowed


def test_invalid_arguments_are_reported_before_processes_start() -> None:
    command = [sys.executable, "-m", "bench.gateway", "--only", "nginx,envoy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "got envoy" in done.stderr


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_turn_repeats_the_earlier_ones_and_has_identifiers_of_its_own(kind: Kind) -> None:
    detector = make_detector(DetectSettings())
    one = Conversation(kind, 1)
    before: list[object] = []
    for _ in range(TURNS):
        messages = json.loads(one.ask())["messages"]
        assert messages[: len(before)] == before
        assert len({found.entity_type for found in detector.find(messages[-1]["content"])}) >= 3
        prompt = next(each["content"] for each in reversed(messages) if each["role"] == "user")
        said = prompt[prompt.index("Summary:") : prompt.index("END.")]
        one.hear(said)
        before = [*messages, {"role": "assistant", "content": said}]
    with pytest.raises(RuntimeError):
        one.hear("an answer with tokens")
