"""Presets and examples: whole, valid, equal to each other, and never written over somebody's file."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from sovctl.engine.validation.documentation import render_schema
from sovctl.engine.validation.load import load
from sovctl.engine.validation.presets import FOLDER, about, names, write_preset
from sovctl.support.errors import InputError

ROOT = Path(__file__).parent.parent.parent.parent
TODAY = date(2026, 11, 21)


def test_every_preset_file_has_its_name_and_every_name_its_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(names())
    assert {path.name for path in (ROOT / "examples").iterdir() if (path / "site.yaml").exists()} == set(names())


@pytest.mark.parametrize("name", names())
def test_an_example_is_its_preset_and_valid_as_it_stands(name: str) -> None:
    example = ROOT / "examples" / name / "site.yaml"
    assert example.read_bytes() == (FOLDER / f"{name}.yaml").read_bytes()
    load(example, today=TODAY)
    assert name in (example.parent / "README.md").read_text().splitlines()[0]


@pytest.mark.tree
@pytest.mark.parametrize("name", names())
def test_a_preset_names_the_schema_for_editors(name: str) -> None:
    path = FOLDER / f"{name}.yaml"
    first = path.read_text().splitlines()[0]
    key, _, reference = first.partition("$schema=")
    assert key == "# yaml-language-server: "
    assert (path.parent / reference).resolve() == ROOT / "docs" / "site.schema.json"
    assert (ROOT / "examples" / name / reference).resolve() == ROOT / "docs" / "site.schema.json"


@pytest.mark.parametrize("name", names())
def test_what_init_writes_is_valid_and_completes_from_the_schema_beside_it(name: str, tmp_path: Path) -> None:
    written = write_preset(name, tmp_path / "new")
    loaded = load(written.site, today=TODAY)
    assert loaded.spec == load(FOLDER / f"{name}.yaml", today=TODAY).spec
    assert written.site.read_text().splitlines()[0].endswith("$schema=site.schema.json")
    assert written.schema.read_text() == render_schema()
    assert json.loads(written.schema.read_text())["title"] == "sovctl site.yaml"
    assert any(step.startswith("sovctl ") for step in written.next_steps)
    assert len(about(name)) > 60


def test_somebodys_file_is_never_written_over_unasked(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("mine\n")
    with pytest.raises(InputError, match="file exists"):
        write_preset("lab", tmp_path)
    assert (tmp_path / "site.yaml").read_text() == "mine\n"
    assert not (tmp_path / "site.schema.json").exists()
    write_preset("lab", tmp_path, force=True)
    load(tmp_path / "site.yaml", today=TODAY)


def test_an_unknown_preset_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_preset("superpod", tmp_path)
    assert "superpod-b200" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the files"):
        write_preset("lab", tmp_path / "file")


def test_the_lab_is_the_one_that_others_rely_on() -> None:
    spec = load(FOLDER / "lab.yaml", today=TODAY).spec
    assert {node.name: str(node.address) for _, node in spec.nodes()} == {
        "n1": "10.77.0.11",
        "n2": "10.77.0.12",
        "s1": "10.77.0.21",
    }
    assert spec.access.network_namespace == "sovlab"
    assert spec.gateway is not None
    assert {route.model: route.cloud for route in spec.gateway.routes} == {
        "assistant": "sovereign-cloud",
        "private": None,
    }
