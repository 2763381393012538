"""Pools with realtime transcription: their route, their model class, and their place in the gateway's settings."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from preset_values import preset_values
from strategies import EXAMPLES

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.models import load_models
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.resources.serving.routes import served_routes
from sovctl.engine.validation.load import parse

QWEN, VOXTRAL = "Qwen3ASRRealtimeGeneration", "VoxtralRealtimeGeneration"


def context(model_class: str, **speech: Any) -> Context:
    """The lab with a speech pool whose family has this model class; the lab has no such model."""
    values = preset_values("lab")
    values["models"].append({"name": "scribe", "catalog": "sovctl-whisper", "manifest_sha256": "0" * 64})
    values["pools"][0] |= {"tensor_parallel_size": 1, "cpu_affinity": "0"}
    pool = {**values["pools"][0], "name": "speech", "model": "scribe", "max_model_len": 448, "port": 8001, **speech}
    del pool["structured_outputs_config"]
    values["pools"].append({**pool, "cpu_affinity": "1"})
    release = {"identifiers": {"default": "mask"}}
    values["gateway"]["routes"].append({"model": "live", "pool": "speech", "release": release})
    catalog = load_catalog()
    entry = catalog.models["sovctl-whisper"].model_copy(update={"realtime": model_class})
    catalog = replace(catalog, models={**catalog.models, entry.id: entry})
    text = json.dumps(values, default=str).encode()
    spec = parse(text, path=Path("site.yaml"), today=date(2026, 11, 21), catalog=catalog).spec
    return replace(context_of(spec, EXAMPLES / "lab"), models=catalog.models)


def surfaces(made: Context) -> list[str]:
    return next(each["surfaces"] for each in configuration(made)["upstreams"] if each["name"] == "speech")


def flags_of(made: Context) -> dict[str, Any]:
    replica = next(each for each in made.replicas if each.pool == "speech")
    return dict(flags(made, replica, replica.ranks[0]))


@pytest.mark.parametrize("is_on", [False, True])
def test_the_route_is_open_only_if_the_pool_serves_it(is_on: bool) -> None:
    made = context(VOXTRAL, realtime=is_on)
    assert ("/v1/realtime" in served_routes(made, made.pool("speech"))) is is_on
    assert ("realtime" in surfaces(made)) is is_on
    assert "/v1/realtime" not in served_routes(made, made.pool("chat"))
    assert "audio.transcriptions" in surfaces(made)


def test_it_is_off_by_default() -> None:
    made = context(VOXTRAL)
    assert "/v1/realtime" not in served_routes(made, made.pool("speech"))


def test_a_family_whose_configuration_names_another_class_gets_an_override() -> None:
    assert "hf-overrides" not in flags_of(context(VOXTRAL, realtime=True))
    assert "hf-overrides" not in flags_of(context(QWEN))
    assert json.loads(flags_of(context(QWEN, realtime=True))["hf-overrides"]) == {"architectures": [QWEN]}
    kept = context(QWEN, realtime=True, checkpoint={"hf_overrides": {"initializer_range": 0.02}})
    found = json.loads(flags_of(kept)["hf-overrides"])
    assert found == {"initializer_range": 0.02, "architectures": [QWEN]}


def test_the_catalogue_has_one_model_of_each_family() -> None:
    found = {name: model.realtime for name, model in load_models().items() if model.realtime is not None}
    assert found == {"voxtral-mini-4b-realtime": VOXTRAL, "qwen3-asr-1.7b": QWEN}
