"""Templates, answers and renderings of documents."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.documents.answers import Answers, answers_of, load_answers
from sovctl.compliance.documents.document import Document, FieldState, Finding, NotCollected, Table, Value
from sovctl.compliance.documents.fill import Collection, fill
from sovctl.compliance.documents.rendering import json_bytes, markdown
from sovctl.compliance.documents.template import Template, template_of
from sovctl.compliance.documents.templates import FOLDER, load_template, template_names
from sovctl.support.errors import InputError, SpecError

TODAY = date(2026, 11, 28)
TEXT = {
    "document": "specimen",
    "title": "Specimen",
    "basis": "Law Art. 1",
    "source": "invented",
    "date": "2026-01-01",
    "read": "2026-11-28",
    "licence": "Apache-2.0",
    "gate": "licences",
    "sections": {
        "site": {
            "title": "Site",
            "fields": {
                "name": {"label": "Name", "article": "Art. 1(a)", "value": "site.name"},
                "owner": {"label": "Owner", "article": "Art. 1(b)", "hint": "name of the owner"},
                "route": {"label": "Routes", "value": "site.routes", "unsure": "not compared"},
            },
        },
        "cloud": {
            "title": "Cloud",
            "for_each": "cloud",
            "if_none": "site.yaml names no cloud",
            "fields": {
                "country": {"label": "Country", "value": "cloud.country"},
                "contract": {"label": "Contract", "hint": "number"},
            },
        },
        "places": {"title": "Places", "table": "places"},
    },
}


def template() -> Template:
    found, problems = template_of(TEXT, stem="specimen")
    assert found is not None
    assert not problems
    return found


def collection(*, simulated: bool = False, clouds: tuple[str, ...] = ("c1", "c2")) -> Collection:
    return Collection(
        values={
            "site.name": Value("bank", "site.yaml: site.name", simulated),
            "site.routes": NotCollected("no evidence", "run `sovctl verify`"),
        },
        subjects={"cloud": {name: {"country": Value("DE", f"site.yaml: {name}")} for name in clouds}},
        tables={"places": Table(("data", "place"), (("prompts", "n1"), ("logs", "UNKNOWN: no evidence")))},
        findings={"licences": (Finding("fail", "m", "the licence forbids the use", "serve another model"),)},
        simulated=simulated,
    )


def answers(*items: dict[str, str]) -> Answers:
    found, problems = answers_of({"answers": list(items)}, [template()], {"cloud": ["c1", "c2"]}, TODAY)
    assert problems == []
    return found


OWNER = {
    "document": "specimen", "field": "site.owner", "value": "Bank AG", "by": "legal office", "date": "2026-11-01",
}  # fmt: skip
CONTRACT = OWNER | {"field": "cloud.contract", "of": "c1", "value": "C-17"}


def filled(*items: dict[str, str], **fields: bool) -> Document:
    return fill(template(), collection(**fields), answers(*items))


def states(document: Document) -> dict[tuple[str, str], FieldState]:
    return {(field.id, section.subject): field.state for section, field in document.fields()}


def test_every_field_has_one_of_three_origins() -> None:
    document = filled(OWNER, CONTRACT)
    assert states(document) == {
        ("site.name", ""): FieldState.MACHINE,
        ("site.owner", ""): FieldState.HUMAN,
        ("site.route", ""): FieldState.MISSING,
        ("cloud.country", "c1"): FieldState.MACHINE,
        ("cloud.contract", "c1"): FieldState.HUMAN,
        ("cloud.country", "c2"): FieldState.MACHINE,
        ("cloud.contract", "c2"): FieldState.MISSING,
    }
    fields = {field.id: field for section, field in document.fields() if section.subject in ("", "c1")}
    assert fields["site.name"].source == "site.yaml: site.name"
    assert (fields["site.owner"].by, fields["site.owner"].date) == ("legal office", "2026-11-01")
    assert fields["site.route"].reason == "not collected: no evidence; run `sovctl verify`"
    assert not fields["site.route"].value


def test_missing_fields_come_first_in_both_renderings() -> None:
    document = filled(OWNER)
    text = markdown(document)
    assert text.index("## MISSING: 3 fields") < text.index("## Findings") < text.index("## Site")
    assert "| cloud.contract | c1, c2 | Contract | requires a person: number |" in text
    value = json.loads(json_bytes(document))
    assert [each["field"] for each in value["missing"]] == ["site.route", "cloud.contract"]
    assert value["counts"] == {"machine-filled": 3, "human": 1, "MISSING": 3}


def test_simulated_facts_are_stated_at_the_head() -> None:
    real, simulated = filled(), filled(simulated=True)
    assert "SIMULATED" not in markdown(real)
    assert markdown(simulated).splitlines()[2].startswith("> **SIMULATED")
    assert json.loads(json_bytes(simulated))["simulated"] is True
    assert "machine-filled, simulated" in markdown(simulated)


def test_a_repeated_section_without_subjects_states_the_reason() -> None:
    document = fill(template(), collection(clouds=()), Answers())
    assert "Site.yaml names no cloud." in markdown(document)


def test_findings_and_doubts_are_listed() -> None:
    text = markdown(filled())
    assert "| fail | m | the licence forbids the use | serve another model |" in text
    assert "(unsure: not compared)" in text


def test_equal_inputs_give_equal_bytes() -> None:
    assert json_bytes(filled(OWNER)) == json_bytes(filled(OWNER))
    assert markdown(filled(CONTRACT, OWNER)) == markdown(filled(OWNER, CONTRACT))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_a_value_never_adds_a_cell_a_heading_or_html(text: str) -> None:
    values = {"site.name": Value(text, "s"), "site.routes": Value(text, "s")}
    document = fill(
        template(), Collection(values, {"cloud": {}}, collection().tables, collection().findings), Answers()
    )
    lines = markdown(document).split("\n")
    (row,) = [line for line in lines if line.startswith("| Art. 1(a)")]
    assert row.replace("\\\\", "").replace("\\|", "").count("|") == 6
    assert "<" not in row.replace("<br>", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"document": "specimn"}, "unknown document: specimn"),
        ({"field": "site.name"}, "field site.name is filled by sovctl"),
        ({"field": "site.ownr"}, "unknown field of specimen: site.ownr"),
        ({"of": "c1"}, "field site.owner is not repeated"),
        ({"field": "cloud.contract"}, "unknown cloud: (none)"),
        ({"field": "cloud.contract", "of": "c9"}, "unknown cloud: c9"),
        ({"date": "2026-12-01"}, "expected a day until today, 2026-11-28, got 2026-12-01"),
        ({"date": "soon"}, "invalid value"),
        ({"value": ""}, "invalid value"),
        ({"valu": "x"}, "unknown key `valu`"),
    ],
)
def test_a_wrong_answer_is_refused(change: dict[str, str], message: str) -> None:
    _, problems = answers_of({"answers": [OWNER | change]}, [template()], {"cloud": ["c1"]}, TODAY)
    assert any(message in each.message for each in problems), [str(each) for each in problems]


def test_a_field_is_answered_once() -> None:
    _, problems = answers_of({"answers": [OWNER, OWNER]}, [template()], {}, TODAY)
    assert [each.message for each in problems] == ["second answer to the field"]


def test_all_problems_of_an_answers_file_come_together_without_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(
        "answers:\n"
        "- {document: specimen, field: site.name, value: Secret Person, by: legal office, date: 2026-11-01}\n"
        "- {document: other, field: site.owner, value: Secret Person, by: legal office, date: 2026-11-01}\n"
        "- {document: specimen, field: site.owner, value: Secret Person, by: legal office, date: 2027-11-01}\n"
    )
    with pytest.raises(SpecError) as caught:
        load_answers(path, templates=[template()], subjects={}, today=TODAY)
    found = [str(each) for each in caught.value.problems]
    assert [each.partition(": ")[0] for each in found] == [f"{path}:{line}" for line in (2, 3, 4)]
    assert "Secret" not in "".join(found)


def test_a_file_that_is_no_answers_file_is_refused(tmp_path: Path) -> None:
    arguments = {"templates": [template()], "subjects": {}, "today": TODAY}
    with pytest.raises(InputError):
        load_answers(tmp_path / "absent", **arguments)  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        load_answers(tmp_path / "pipe", **arguments)  # type: ignore[arg-type]
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        load_answers(tmp_path / "zero", **arguments)  # type: ignore[arg-type]
    (tmp_path / "cut").write_text("answers: [{document: ")
    with pytest.raises(SpecError):
        load_answers(tmp_path / "cut", **arguments)  # type: ignore[arg-type]
    (tmp_path / "bomb").write_text("a: &a [x]\nb: [*a, *a]\n")
    with pytest.raises(SpecError):
        load_answers(tmp_path / "bomb", **arguments)  # type: ignore[arg-type]


def test_unknown_document_names_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        load_template("gdpr-art-3")
    assert caught.value.hint == "did you mean gdpr-art-30?"


@pytest.mark.parametrize("name", template_names())
def test_shipped_templates_have_source_and_articles(name: str) -> None:
    found = load_template(name)
    assert found.machine_fields()
    assert found.human_fields()
    assert found.read >= found.date
    for section in found.sections.values():
        for field in section.fields.values():
            assert not field.unsure or field.article
    if "law" in found.basis or "Art." in found.basis:
        without = [f for s in found.sections.values() for f in s.fields.values() if not f.article and f.hint]
        assert without == []


def test_every_template_file_is_loaded() -> None:
    assert set(template_names()) == {path.stem for path in FOLDER.iterdir()}
