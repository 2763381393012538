"""Packs: the whole framework as denominator, and no row that rests on a check nobody runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.support.errors import InputError

NIST = builtin_pack("nist-800-53-moderate")
INDEX = Path(__file__).parents[4] / "shared" / "oscal" / "nist-800-53r5" / "index.json"


def variant(folder: Path, *, listed: str = "", mapped: str = "") -> Path:
    (folder / "p.yaml").write_text(
        listed or "{pack: p, title: t, source: s, licence: l, families: {a: A}, controls: {a-1: One, a-2: Two}}"
    )
    (folder / "p.map.yaml").write_text(
        mapped or "{pack: p, controls: {a-1: {objective: o, checks: [x.y], supports: s, people: p}}}"
    )
    return folder / "p.yaml"


def test_the_moderate_baseline_is_whole() -> None:
    pack = load_pack(NIST)
    assert len(pack.controls) == len({control.id for control in pack.controls}) == 287
    assert 20 <= sum(control.mapping is not None for control in pack.controls) <= 30
    assert all(control.family for control in pack.controls)


@pytest.mark.shared
@pytest.mark.skipif(not INDEX.exists(), reason="the public index is not at hand")
def test_the_moderate_baseline_is_the_public_one() -> None:
    public = {
        control["id"]: control["title"]
        for control in json.loads(INDEX.read_text())["controls"]
        if "MODERATE" in control["baselines"]
    }
    assert {control.id: control.title for control in load_pack(NIST).controls} == public


def test_every_row_says_what_it_supports_and_what_stays_with_people() -> None:
    for control in load_pack(NIST).controls:
        if control.mapping:
            assert len(set(control.mapping.checks)) == len(control.mapping.checks)
            for text in (control.mapping.objective, control.mapping.supports, control.mapping.people):
                assert text.endswith(".")
                assert "complian" not in text.lower()


def test_refuses_a_check_that_does_not_exist_and_names_the_nearest() -> None:
    known = load_pack(NIST).checks() - {"gpu.count"} | {"gpu.counts"}
    with pytest.raises(InputError, match=r"unknown checks: gpu\.count") as caught:
        load_pack(NIST, known_checks=known)
    assert caught.value.hint == "did you mean gpu.counts?"
    load_pack(NIST, known_checks=known | {"gpu.count"})


def test_names_the_nearest_pack() -> None:
    with pytest.raises(InputError) as caught:
        builtin_pack("nist-800-53-modrate")
    assert caught.value.hint == "did you mean nist-800-53-moderate?"


def test_the_digest_changes_with_any_row(tmp_path: Path) -> None:
    one = load_pack(variant(tmp_path)).sha256
    assert load_pack(variant(tmp_path)).sha256 == one
    other = variant(
        tmp_path, mapped="{pack: p, controls: {a-1: {objective: o, checks: [x.z], supports: s, people: p}}}"
    )
    assert load_pack(other).sha256 != one


@pytest.mark.parametrize(
    ("listed", "mapped"),
    [
        ("", "{pack: p, controls: {a-9: {objective: o, checks: [x.y], supports: s, people: p}}}"),
        ("", "{pack: q, controls: {}}"),
        ("", "{pack: p, controls: {a-1: {objective: o, checks: [], supports: s, people: p}}}"),
        ("", "{pack: p, controls: {a-1: {objective: o, checks: [x.y], supports: s}}}"),
        ("", "{pack: p, controls: {a-1: {objective: o, checks: [x.y], supports: s, people: p, more: 1}}}"),
        ("{pack: p, title: t, source: s, licence: l, families: {}, controls: {a-1: One}}", ""),
        ("{pack: p, title: t, source: s, licence: '', families: {a: A}, controls: {a-1: One}}", ""),
        ("{pack: p}", ""),
        ("[", ""),
        ("- a", ""),
    ],
)
def test_refuses_a_pack_of_another_form(tmp_path: Path, listed: str, mapped: str) -> None:
    with pytest.raises(InputError):
        load_pack(variant(tmp_path, listed=listed, mapped=mapped))


def test_a_missing_map_is_an_error_not_an_empty_one(tmp_path: Path) -> None:
    path = variant(tmp_path)
    (tmp_path / "p.map.yaml").unlink()
    with pytest.raises(InputError, match=r"p\.map\.yaml"):
        load_pack(path)


def test_the_files_are_plain_data() -> None:
    for path in NIST.parent.glob("*.yaml"):
        assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_every_check_of_a_pack_exists() -> None:
    from sovctl.engine.checks.registry import KNOWN_CHECKS

    for path in sorted(NIST.parent.glob("*.yaml")):
        if not path.stem.endswith(".map"):
            load_pack(path, known_checks=KNOWN_CHECKS)


def test_a_map_that_names_a_former_check_id_has_the_current_one(tmp_path: Path) -> None:
    path = variant(tmp_path)
    pack = load_pack(path, known_checks={"x.new"}, former_ids={"x.y": "x.new"})
    assert pack.checks() == {"x.new"}
    current = variant(
        tmp_path, mapped="{pack: p, controls: {a-1: {objective: o, checks: [x.new], supports: s, people: p}}}"
    )
    assert load_pack(current).sha256 == pack.sha256
