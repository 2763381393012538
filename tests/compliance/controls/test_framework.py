"""Files of packs: all problems at once, unknown names with the nearest one, plain files only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sovctl.compliance.controls import documentation, pack_file
from sovctl.compliance.controls.framework import builtin_pack, find_pack, load_pack
from sovctl.engine.checks.registry import KNOWN_CHECKS
from sovctl.support.errors import InputError, SpecError
from sovctl.support.strict_yaml import MAX_BYTES

HEAD = "{version: '1', kind: law, jurisdiction: DE, title: t, source: s, date: 2026-01-01, read: 2026-11-01, licence: l"
ROW = "{title: One, objectives: [o], because: b.}"
OBJECTIVES = "{o: {statement: s., checks: [x.y], supports: s., people: p.}}"


def written(folder: Path, *, controls: str = f"{{a-1: {ROW}, a-2: Two}}", objectives: str = OBJECTIVES) -> Path:
    path = folder / "p.yaml"
    path.write_text(f"{HEAD}, pack: p, groups: {{a: A}}, objectives: {objectives}, controls: {controls}}}")
    return path


def problems_of(path: Path, **given: object) -> list[tuple[str, str, str]]:
    with pytest.raises(SpecError) as caught:
        load_pack(path, **given)  # type: ignore[arg-type]
    assert all(each.where.startswith(str(path)) for each in caught.value.problems)
    return [(each.where.rpartition(": ")[2], each.message, each.hint) for each in caught.value.problems]


def test_a_control_has_the_checks_of_its_objectives(tmp_path: Path) -> None:
    pack = load_pack(written(tmp_path), known_checks=KNOWN_CHECKS | {"x.y"})
    first, second = pack.controls
    assert first.mapping is not None
    assert (first.mapping.checks, first.mapping.because, first.family) == (("x.y",), "b.", "A")
    assert second.mapping is None
    assert pack.decided() == 1


def test_refuses_a_check_that_does_not_exist_and_names_the_nearest(tmp_path: Path) -> None:
    (problem,) = problems_of(written(tmp_path), known_checks=KNOWN_CHECKS | {"x.yy"})
    assert problem == ("objectives.o.checks[0]", "unknown check: x.y", "did you mean x.yy?")


def test_refuses_an_objective_that_does_not_exist_and_names_the_nearest(tmp_path: Path) -> None:
    controls = "{a-1: {title: One, objectives: [no-wayout, o], because: b.}}"
    (problem,) = problems_of(written(tmp_path, controls=controls))
    assert problem == ("controls.a-1.objectives[0]", "unknown objective: no-wayout", "did you mean no-way-out?")


def test_reports_all_problems_of_a_file_with_line_field_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "pack: q\ntitle: t\nversion: '1'\nkind: law\njurisdiction: DE\nsource: s\ndate: 2026-01-01\nread: 2026-11-01\n"
        "licence: l\ngroups: {a: A}\nobjectives:\n"
        "  no-way-out: {statement: s., checks: [x.y], supports: s., people: p.}\n"
        "controls:\n  a-1: {title: One, objectives: [no-way-out]}\n  b-1: Two\n"
    )
    why = "state why the objectives are evidence for the control"
    assert problems_of(path) == [
        ("pack", "expected the name of the file, p, got q", "rename the file, or correct `pack`"),
        ("objectives.no-way-out", "objective no-way-out is defined by sovctl", "use another name"),
        ("controls.a-1", "`objectives` and `because` belong together", why),
        ("controls.b-1", "no group begins this id", "add it to groups: a"),
    ]


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        ("[", "", "invalid YAML"),
        ("- a", "", "expected a mapping"),
        ("a: &x [1]\nb: *x", "", "anchors and aliases are not supported"),
        (f"{HEAD}, pack: p, controls: {{a-1: One}}}}", "groups", "missing key"),
        (f"{HEAD}, pack: p, groups: {{a: A}}, controls: {{a-1: {{title: T, objektives: []}}}}}}", "", "unknown key"),
        (f"{HEAD}, pack: p, groups: {{a: A}}, controls: {{}}}}", "controls", "at least 1 item"),
        ("pack: p\nof: nowhere.yaml\ncontrols: [a]\n", "", "cannot read the pack"),
    ],
)
def test_refuses_a_file_of_another_form(tmp_path: Path, content: str, where: str, message: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_pack(path)
    found = caught.value.problems if isinstance(caught.value, SpecError) else [caught.value]
    assert any(message in each.message and where in each.where for each in found), found


def test_refuses_a_value_of_another_form_in_the_head(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text().replace("jurisdiction: DE", "jurisdiction: Germany")
    path.write_text(text.replace("kind: law", "kind: lore"))
    assert [each[0] for each in problems_of(path)] == ["jurisdiction", "kind"]


def test_refuses_links_devices_and_files_that_are_too_large(tmp_path: Path) -> None:
    real, link, pipe, large = (tmp_path / name for name in ("real.yaml", "link.yaml", "pipe.yaml", "large.yaml"))
    written(tmp_path).rename(real)
    link.symlink_to(real)
    os.mkfifo(pipe)
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    for path, message in ((link, "got a link"), (pipe, "not a regular file"), (large, "got a larger file")):
        with pytest.raises(InputError, match=message):
            load_pack(path)


def test_names_the_nearest_pack() -> None:
    with pytest.raises(InputError) as caught:
        builtin_pack("nist-800-53-modrate")
    assert caught.value.hint == "did you mean nist-800-53-moderate?"


def test_a_pack_of_a_site_does_not_replace_one_of_sovctl(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert find_pack("p", [path]) == path
    with pytest.raises(InputError, match="is part of sovctl"):
        find_pack("p", [tmp_path / "nist-800-53-moderate.yaml"])


def test_the_digest_changes_with_any_row(tmp_path: Path) -> None:
    one = load_pack(written(tmp_path)).sha256
    assert load_pack(written(tmp_path)).sha256 == one
    assert load_pack(written(tmp_path, objectives=OBJECTIVES.replace("x.y", "x.z"))).sha256 != one
    assert load_pack(written(tmp_path, controls=f"{{a-1: {ROW}, a-3: Two}}")).sha256 != one


def test_a_former_check_id_has_the_current_one(tmp_path: Path) -> None:
    pack = load_pack(written(tmp_path), known_checks=KNOWN_CHECKS | {"x.new"}, former_ids={"x.y": "x.new"})
    assert pack.checks() == {"x.new"}
    current = written(tmp_path, objectives=OBJECTIVES.replace("x.y", "x.new"))
    assert load_pack(current).sha256 == pack.sha256


def test_a_part_that_the_site_lacks_is_not_required(tmp_path: Path) -> None:
    parts = "{o: {statement: s., checks: [x.y], if_present: [x.part, x.other], supports: s., people: p.}}"
    pack = load_pack(written(tmp_path, objectives=parts)).without_absent({"x.part", "x.y"})
    mapping = pack.controls[0].mapping
    assert mapping is not None
    assert mapping.checks == ("x.y", "x.other"), "a required check stays required"
    assert mapping.objectives[0].absent == ("x.part",)


def test_the_page_is_generated_and_its_example_is_valid(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "control-packs.md"
    hint = "python -m sovctl.compliance.controls.documentation docs/control-packs.md"
    assert page.read_text() == documentation.page(), hint
    example = page.read_text().partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "house-rules.yaml").write_text(example)
    assert load_pack(tmp_path / "house-rules.yaml").decided() == 1
    assert pack_file.PAGE == "docs/control-packs.md"
