"""A record is complete, or it is refused: by the model, by the store, and by the table of the verifier."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import CLOCK, NODES, RUN_ID, made, open_ledger, population
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sovctl.compliance.evidence.completeness import RECORD, population_problems, record_problems
from sovctl.compliance.evidence.record import Evidence, Population, Previous
from sovctl.compliance.evidence.store import EvidenceStore
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.canonical_json import canonical_json
from sovctl.support.errors import InputError

PREVIOUS = {"verdict": "FAIL", "run_id": RUN_ID, "sha256": "8" * 64, "leaf_index": 4}
WHOLE = made("gpu.count", "gpu-1", others=NODES, previous=PREVIOUS)[0]
FIELDS = sorted(WHOLE.as_record().keys())
NESTED = [(name, key) for name in ("actor", "tool", "clock", "previous") for key in WHOLE.as_record()[name]]
WRONG: dict[str, Any] = {"simulated": "no", "exit_code": "0", "check_version": 0, "method": "GUESS", "verdict": "GOOD"}
TEXT = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)


def refusals(record: dict[str, Any]) -> Iterator[bool]:
    """Whether the model refuses a record, and whether the table of the verifier does."""
    try:
        Evidence.of_record(record, WHOLE.population)
        yield False
    except ValidationError:
        yield True
    yield bool([*record_problems(record)])


def test_a_complete_record_is_accepted_by_both() -> None:
    assert [*refusals(WHOLE.as_record())] == [False, False]
    assert [*population_problems(WHOLE.population.model_dump(mode="json"))] == []


@pytest.mark.parametrize("field", [name for name in FIELDS if name not in ("format", "population_sha256")])
def test_a_record_without_a_field_or_with_an_empty_one_is_refused(field: str) -> None:
    without = {name: value for name, value in WHOLE.as_record().items() if name != field}
    assert [*refusals(without)] == [True, True]
    assert any(problem.startswith(f"{field}: required") for problem in record_problems(without))
    assert [*refusals(WHOLE.as_record() | {field: WRONG.get(field, "")})] == [True, True]


@pytest.mark.parametrize(("field", "key"), NESTED)
def test_a_record_without_a_part_of_a_field_is_refused(field: str, key: str) -> None:
    value = WHOLE.as_record()[field]
    assert [*refusals(WHOLE.as_record() | {field: {k: v for k, v in value.items() if k != key}})] == [True, True]
    assert [*refusals(WHOLE.as_record() | {field: value | {key: ""}})] == [True, True]


@pytest.mark.parametrize("field", ["format", "population_sha256"])
def test_the_verifier_refuses_a_record_without_format_or_population(field: str) -> None:
    record = WHOLE.as_record()
    del record[field]
    assert [*record_problems(record)] == [f"{field}: required, but absent"]


@pytest.mark.parametrize(
    "changes",
    [
        {"unknown": 1},
        {"ended": "2026-11-21T10:14:00Z"},
        {"expires": "2026-11-21T10:14:00Z"},
        {"exit_code": None},
        {"plan_sha256": "none"},
        {"apply_run": "none"},
        {"plan_sha256": None},
        {"previous": None},
        {"clock": CLOCK.model_dump() | {"offset_us": "unknown"}},
        {"exit_code": 0.5},
    ],
)
def test_contradictions_and_unstated_absence_are_refused(changes: dict[str, Any]) -> None:
    assert [*refusals(WHOLE.as_record() | changes)] == [True, True]


def test_stated_absence_is_complete() -> None:
    stated = {"plan_sha256": "none", "apply_run": "none", "previous": "none", "exit_code": None, "verdict": "UNKNOWN"}
    clock = {"clock": CLOCK.model_dump() | {"offset_us": "not measured", "source": "chronyc tracking: not installed"}}
    assert [*refusals(WHOLE.as_record() | stated | clock)] == [False, False]


def test_the_table_of_the_verifier_has_the_fields_of_the_model() -> None:
    assert RECORD.keys() == (Evidence.model_fields.keys() - {"population"}) | {"format", "population_sha256"}


@pytest.mark.parametrize(
    "changes",
    [
        {"declared": []},
        {"sampled": []},
        {"sampled": ["gpu-1"]},
        {"sampled": ["gpu-9"], "sample_rule": "one"},
        {"discovered": ["gpu-1"]},
        {"not_discovered": ["gpu-1"]},
        {"not_declared": ["gpu-7"]},
        {"declared": ["gpu-2", "gpu-1", "services"]},
        {"query": ""},
        {"discovery": " "},
        {"sample_rule": ""},
        {"more": 1},
    ],
)
def test_populations_with_wrong_differences_are_refused(changes: dict[str, Any]) -> None:
    values = population(NODES).model_dump(mode="json") | changes
    assert [*population_problems(values)]
    with pytest.raises(ValidationError):
        Population.model_validate_json(json.dumps(values))


def test_a_population_states_its_differences() -> None:
    found = population(NODES, sample_rule="targets on gpu-1", sampled=("gpu-1",), discovered=("gpu-9",))
    assert (found.not_discovered, found.not_declared) == (("gpu-1",), ("gpu-9",))


@given(
    texts=st.fixed_dictionaries(dict.fromkeys(("title", "command", "reason", "rule", "target"), TEXT)),
    user=TEXT,
    offset=st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.just("not measured")),
    index=st.one_of(st.none(), st.integers(0, 2**40)),
    others=st.lists(TEXT, max_size=5),
)
def test_every_record_comes_back_from_its_stored_form(
    texts: dict[str, str], user: str, offset: int | str, index: int | None, others: list[str]
) -> None:
    evidence, _ = made(
        "gpu.count",
        **texts,
        population=population({texts["target"], *others}),
        actor={"user": user, "account": user, "host": "h"},
        clock={"measured": CLOCK.measured, "offset_us": offset, "source": user},
        previous="none" if index is None else PREVIOUS | {"leaf_index": index},
        raw=b"",
    )
    record = json.loads(canonical_json(evidence.as_record()))
    stored = Population.model_validate_json(evidence.population.data)
    assert stored.sha256 == record["population_sha256"]
    assert Evidence.of_record(record, stored) == evidence
    assert [*record_problems(record)] == []
    assert [*population_problems(json.loads(stored.data))] == []


@pytest.mark.parametrize("changes", [{"title": ""}, {"rule": ""}, {"command": ""}, {"spec_sha256": "5"}])
def test_the_store_refuses_a_changed_copy_that_is_incomplete(tmp_path: Path, changes: dict[str, Any]) -> None:
    evidence, raw = made("gpu.count")
    with open_ledger(tmp_path) as ledger:
        store = EvidenceStore(tmp_path / "evidence", ledger, run_id=RUN_ID)
        with pytest.raises(InputError, match=f"incomplete evidence: {next(iter(changes))}"):
            store.add(evidence.model_copy(update=changes), raw)
        assert ledger.size == 0
    assert not (tmp_path / "evidence").exists()


def test_a_population_is_stored_once_for_all_records_of_a_run(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        store = EvidenceStore(tmp_path / "evidence", ledger, run_id=RUN_ID)
        store.add_all([made(check, node, others=NODES) for check in ("gpu.count", "gpu.ecc") for node in NODES])
    (file,) = (tmp_path / "evidence" / "populations").iterdir()
    leaves = [entry.record for entry in LedgerReader(tmp_path / "ledger").entries()]
    assert {leaf["population_sha256"] for leaf in leaves} == {file.name}


def test_a_previous_result_has_its_entry() -> None:
    assert isinstance(WHOLE.previous, Previous)
    assert WHOLE.previous.leaf_index == 4
