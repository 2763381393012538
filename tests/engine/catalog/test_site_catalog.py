"""A site's own entries change or add to the catalogue for everything, and all that is wrong with them is said."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.site_file import read_site_catalog, with_entries
from sovctl.engine.sizing.site.scalable_units import shares
from sovctl.engine.validation.load import load
from sovctl.support.errors import SpecError

OWN = {"source": "our own tests", "kind": "measured", "date": "2026-11-21"}
EXAMPLE = Path(__file__).parents[3] / "examples" / "bank-hybrid" / "site.yaml"


def entries(**parts: Any) -> tuple[Any, list[str]]:
    catalog, problems = with_entries(load_catalog(), parts)
    return catalog, [str(each) for each in problems]


def test_an_entry_of_ours_is_changed_in_what_the_site_says_only() -> None:
    catalog, problems = entries(models=[{"id": "llama-3.3-70b", "max_context": 4096, "arch": {"tied": False}, **OWN}])
    assert problems == []
    ours, theirs = load_catalog().models["llama-3.3-70b"], catalog.models["llama-3.3-70b"]
    assert (theirs.max_context, theirs.kind, theirs.source) == (4096, "measured", ("our own tests",))
    assert theirs.arch == ours.arch
    assert theirs.licence == ours.licence


def test_a_new_entry_is_a_whole_one() -> None:
    known = load_catalog().gpus["L40S"].model_dump(mode="json")
    catalog, problems = entries(
        gpus=[known | OWN | {"id": "house-gpu", "tdp_w": 300}],
        platforms=[
            {
                "id": "house-2", "system": None, "family": "pcie", "gpu": "house-gpu", "gpus": 2, "system_gpus": 2,
                "parts": ["gpu"], "profile": None, "max_power_kw": 1.5, "network": "", "local_storage": "", "cpu": "",
                "ram": "", "form": "2U", **OWN,
            }
        ],
    )  # fmt: skip
    assert problems == []
    assert catalog.gpu_of(catalog.platforms["house-2"]).tdp_w == 300
    assert catalog.platforms["house-2"].limits, "settings follow from what it is"
    _, problems = entries(gpus=[{"id": "house-gpu", **OWN}])
    assert "gpus[0].memory_bandwidth_gb_s: expected a value, got nothing" in problems


def test_a_site_has_scalable_units_of_its_own() -> None:
    unit = {"id": "house-unit", "platform": "dgx-h200", "nodes_per_su": 12, **OWN}
    catalog, problems = entries(scalable_units=[unit, {"id": "SuperPOD-H200", "nodes_per_su": 31, **OWN}])
    assert problems == []
    found = shares(catalog.scalable_units, catalog.platforms["dgx-h200"], nodes=40)
    assert {each.id: (each.unit_nodes, each.units) for each in found} == {
        "SuperPOD-H200": (31, 2),
        "house-unit": (12, 4),
    }
    assert load_catalog().scalable_units["SuperPOD-H200"].nodes_per_su == 32


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"modles": []}, "modles: expected one of models, gpus, platforms, scalable_units, got `modles`"),
        (
            {
                "models": [
                    {"id": "qwen3-8b", "max_context": 0, **OWN},
                    {"id": "qwen3-32b", "arch": {"heads": 640}, **OWN},
                ]
            },
            "models[1].arch: qwen3-32b: its shape has",
        ),
        ({"platforms": [{"id": "dgx-h100", "max_power_kw": -10, **OWN}]}, "platforms[0].max_power_kw: expected"),
        ({"platforms": [{"id": "dgx-h100", "gpus": 0, **OWN}]}, "platforms[0]: expected gpu and a number of gpus"),
        ({"platforms": [{"id": "dgx-h100", "gpus": -8, **OWN}]}, "platforms[0].gpus: expected"),
        (
            {"models": [{"id": "llama-3.3-70b", "arch": {"sliding_layers": 100, "window": 99}, **OWN}]},
            "models[0].arch: expected at most the 80 layers over all kinds of layers, 100 are named",
        ),
        (
            {"models": [{"id": "llama-3.3-70b", "arch": {"sliding_layers": 40}, **OWN}]},
            "models[0].arch: expected window with sliding_layers",
        ),
        (
            {"models": [{"id": "llama-3.3-70b", "arch": {"full_attention_layers": 500}, **OWN}]},
            "models[0].arch: expected at most the 80 layers",
        ),
        (
            {"models": [{"id": "llama-3.3-70b", "arch": {"kv_heads": 128}, **OWN}]},
            "models[0].arch: expected at most as many kv_heads as heads, 64",
        ),
        ({"models": {"id": "x"}}, "models: expected a list of entries"),
        ({"gpus": [{"tdp_w": 3}]}, "gpus[0]: expected an entry with an id, got none"),
        ({"gpus": [{"id": "L4"}]}, "gpus[0].source: expected source, got nothing"),
        ({"gpus": [{"id": "L4", **OWN}] * 2}, "gpus[1].id: expected every id once, got `L4` again"),
        ({"gpus": [{"id": "L4", "tdp_w": -1, **OWN}]}, "gpus[0].tdp_w: expected greater than 0, got -1"),
        (
            {"gpus": [{"id": "L4", "memory_bandwidth_gb_s": float("nan"), **OWN}]},
            "gpus[0].memory_bandwidth_gb_s: expected a finite number, got nan",
        ),
        (
            {"gpus": [{"id": "L4", "memory_label_gb": "80GiB", **OWN}]},
            "gpus[0].memory_label_gb: expected a valid integer, unable to parse string as an integer, got '80GiB'",
        ),
        ({"gpus": [{"id": "L4", "watts": 3, **OWN}]}, "gpus[0].watts: unknown key `watts`"),
        (
            {"scalable_units": [{"id": "house-unit", "platform": "dgx-h20", "nodes_per_su": 4, **OWN}]},
            "scalable_units[0].platform: expected a known platform, got `dgx-h20`",
        ),
        (
            {"scalable_units": [{"id": "house-unit", "platform": "dgx-h200", **OWN}]},
            "scalable_units[0]: expected nodes_per_su, or racks_per_su",
        ),
        (
            {"platforms": [{"id": "l40s-4", "gpu": "L40T", **OWN}]},
            "platforms[0].gpu: expected a known GPU, got `L40T`",
        ),
        (
            {"models": [{"id": "llama-3.1-8b", "arch": {"layers": 40}, **OWN}]},
            "models[0].arch: llama-3.1-8b: its shape has +21.7 % of the 8.03e9 parameters, expected within 3 %",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_path(parts: dict[str, Any], said: str) -> None:
    _, problems = entries(**parts)
    assert any(each.startswith(said) for each in problems), problems


def test_a_file_is_read_and_its_problems_have_lines(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("gpus:\n- id: L4\n  tdp_w: 0\n  source: ours\n  kind: hearsay\n  date: 2026-11-21\nextra: 1\n")
    with pytest.raises(SpecError) as caught:
        read_site_catalog(file)
    assert [each.where for each in caught.value.problems] == [
        f"{file}:3: gpus[0].tdp_w",
        f"{file}:5: gpus[0].kind",
        f"{file}:7: extra",
    ]


def test_the_whole_site_follows_its_own_file(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE.parent, tmp_path, dirs_exist_ok=True)
    site = tmp_path / "site.yaml"
    site.write_text(site.read_text().replace("\naccess:", "\ncatalog_file: own.yaml\naccess:", 1))
    model = load(EXAMPLE).spec.models[0].catalog
    own = "models:\n- {id: MODEL, max_context: 16, source: ours, kind: config, date: 2026-11-21}\n"
    (tmp_path / "own.yaml").write_text(own.replace("MODEL", model))
    with pytest.raises(SpecError) as caught:
        load(site)
    assert {each.where.rpartition(".")[2] for each in caught.value.problems} == {"max_model_len"}
    (tmp_path / "own.yaml").write_text("models: []\n")
    assert load(site).catalog == load_catalog()
