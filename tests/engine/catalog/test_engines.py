"""Engines: the gateway and the alert rules use the metrics that each engine exports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from strategies import EXAMPLES

from sovctl.engine.catalog.engines import ENGINES, EngineCapability
from sovctl.engine.catalog.engines.llama_cpp import LLAMA_CPP
from sovctl.engine.monitoring.rules import rules_yaml
from sovctl.engine.spec.monitoring import Monitoring
from sovctl.engine.validation.load import load
from sovctl.gateway.settings.base.surface import SurfaceName
from sovctl.gateway.upstream import load as gateway_load


@pytest.mark.parametrize("name", ENGINES)
def test_gateway_reads_the_load_of_each_engine(name: str) -> None:
    metrics = ENGINES[name].metrics
    lines = [f"{metrics.waiting.name} 3", f"{metrics.running.name} 5"]
    if metrics.kv_cache:
        lines.append(f"{metrics.kv_cache.name} 0.5")
    found = gateway_load.load_of("\n".join(lines).encode() + b"\n", now_s=1.0, in_flight=0)
    assert found is not None
    assert (found.waiting, found.running) == (3, 5)
    assert found.kv_usage == (0.5 if metrics.kv_cache else 0.0)


@pytest.mark.parametrize("name", ENGINES)
def test_units_are_those_of_the_readers(name: str) -> None:
    metrics = ENGINES[name].metrics
    assert {metrics.running.unit, metrics.waiting.unit} == {"requests"}
    assert metrics.kv_cache is None or metrics.kv_cache.unit == "ratio"
    latencies = (metrics.time_to_first_token, metrics.inter_token_latency)
    assert all(each is None or each.unit == "seconds" for each in latencies)
    assert EngineCapability.LATENCY_METRICS not in ENGINES[name].capabilities or None not in latencies


def test_alerts_name_metrics_of_the_engine_only() -> None:
    spec = load(EXAMPLES / "lab" / "site.yaml").spec
    software = spec.software.model_copy(update={"engine": LLAMA_CPP.name})
    text = rules_yaml(spec.model_copy(update={"software": software, "monitoring": Monitoring()}))
    assert "llamacpp:n_decode_total" in text
    assert "vllm:" not in text


def test_the_page_has_the_capabilities_and_metrics_of_each_engine() -> None:
    page = (Path(__file__).parents[3] / "docs" / "engines.md").read_text()
    head = re.search(r"^\| capability \| requested by \| (.+) \|$", page, re.MULTILINE)
    assert head is not None
    assert [name.strip("`") for name in head[1].split(" | ")] == list(ENGINES)
    for capability in EngineCapability:
        row = re.search(rf"^\| `{capability}` \| .+? \| ((?:yes|no)(?: \| (?:yes|no))*) \|$", page, re.MULTILINE)
        assert row is not None, capability
        assert row[1].split(" | ") == [_yes(capability in each.capabilities) for each in ENGINES.values()], capability
    for engine in ENGINES.values():
        for metric in (engine.metrics.running, engine.metrics.waiting, engine.metrics.kv_cache):
            assert metric is None or f"`{metric.name}`" in page


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@pytest.mark.parametrize("name", ENGINES)
def test_client_apis_are_those_of_the_gateway(name: str) -> None:
    surfaces = ENGINES[name].surfaces
    assert {each for names in surfaces.values() for each in names} <= set(SurfaceName)
    roles = {"embedding": EngineCapability.EMBEDDINGS, "reranker": EngineCapability.RERANK}
    roles |= {"asr": EngineCapability.TRANSCRIPTION}
    assert set(surfaces) == {"chat", *(role for role, each in roles.items() if each in ENGINES[name].capabilities)}
