"""`dcgmi diag -j`: every result of every GPU, in both forms; the errors of other parsers do not occur."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dcgm_specimens import RUN_1, RUN_2, RUN_3, diag_3, diag_4, error
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.definitions.diagnostic._dcgm_check import Expected
from sovctl.engine.checks.model.check import Judgement, judge
from sovctl.engine.checks.model.probe import MARK, ProbeOutput
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.facts.hardware.dcgm_diagnostic import ErrorSeverity, Status, parse_diagnostic
from sovctl.engine.facts.unreadable import Unreadable


def verdict(check: str, text: str, *, gpus: int, code: int = 0) -> Judgement:
    """Return the judgement of a check over the output of dcgmi."""
    out = f"{MARK} begin diagnostic\n{text}\n{MARK} end diagnostic {code}\n"
    return judge(BY_ID[f"diagnostic.{check}"], ProbeOutput(0, out, ""), Expected(nodes=("n1",), gpu_count=gpus))


@pytest.mark.parametrize("form", [diag_3, diag_4])
def test_both_forms_have_every_gpu_and_the_same_names(form: object) -> None:
    found = parse_diagnostic(form(RUN_2))  # type: ignore[operator]
    memory = next(test for test in found.tests if test.name == "memory")
    assert memory.gpus == tuple(range(8))
    assert found.gpus == tuple(range(8))
    assert {test.name for test in found.tests if test.category != "Deployment"} == {"memory", "pcie"}


def test_names_of_version_3_are_those_of_version_4() -> None:
    names = {test.name for test in parse_diagnostic(diag_3(RUN_3)).tests}
    assert names >= {"memory_bandwidth", "targeted_stress", "targeted_power", "diagnostic", "pcie"}


def test_a_failed_gpu_after_a_good_one_is_found() -> None:
    """GCM reads `results[0]` only: GPU 0 Pass and GPU 1 Fail is OK there."""
    text = diag_3(RUN_2, gpus=2, changes={("memory", 1): {"status": "Fail"}})
    assert verdict("dcgm-r2", text, gpus=2, code=1).verdict is Verdict.FAIL


def test_a_failure_in_the_form_of_version_4_is_found() -> None:
    """AWS's parser knows the key of 3.x only, and prints PASS for a failure of 4.2.3."""
    text = diag_4(RUN_2, gpus=1, changes={("memory", 0): {"status": "Fail"}})
    assert verdict("dcgm-r2", text, gpus=1, code=1).verdict is Verdict.FAIL


def test_a_skipped_test_is_unknown() -> None:
    """GCM reads Skip as OK."""
    text = diag_4(RUN_2, gpus=1, changes={("memory", 0): {"status": "Skip"}})
    assert verdict("dcgm-r2", text, gpus=1).verdict is Verdict.UNKNOWN


def test_every_error_of_a_result_is_kept_with_its_severity() -> None:
    errors = [error("first", severity=1), error("second", severity=6)]
    found = parse_diagnostic(diag_4(RUN_1, changes={("software", 3): {"status": "Fail", "warnings": errors}}))
    result = found.tests[0].results[3]
    assert [each.severity for each in result.errors] == [ErrorSeverity.MONITOR, ErrorSeverity.RESET]
    reason = verdict(
        "dcgm-r1", diag_4(RUN_1, changes={("software", 3): {"status": "Fail", "warnings": errors}}), gpus=8
    )
    assert "first (monitor it); second (drain the node and reset the GPU)" in reason.reason


def test_an_unknown_severity_is_not_harmless() -> None:
    found = parse_diagnostic(diag_4(RUN_1, changes={("software", 0): {"warnings": [error("x", severity=99)]}}))
    assert found.tests[0].results[0].errors[0].severity is ErrorSeverity.UNKNOWN


@given(st.sampled_from([diag_3(RUN_2), diag_4(RUN_2)]), st.data())
def test_no_cut_and_no_changed_byte_crashes_or_passes_a_cut(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    assert verdict("dcgm-r2", text[:at], gpus=8).verdict is Verdict.UNKNOWN
    changed = text[:at] + data.draw(st.sampled_from('0{}[]",x')) + text[at + 1 :]
    verdict("dcgm-r2", changed, gpus=8)


KEYS = "test_categories category tests name results status warnings entity_id entities test_summary gpu_id info"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
        max_leaves=30,
    )
)
def test_any_json_is_read_or_unreadable(document: object) -> None:
    try:
        parse_diagnostic(json.dumps({"DCGM Diagnostic": document}))
    except Unreadable:
        return


@pytest.mark.shared
def test_captures_of_one_gpu_fail_for_persistence_only(captures: Path) -> None:
    name = "dcgm/gb10-r2-allowed-4.5.2__baldwinSPC-glimmer-burnin.json"
    judgement = verdict("dcgm-r2", (captures / name).read_text(), gpus=1, code=1)
    assert judgement.verdict is Verdict.FAIL
    assert "persistence mode" in judgement.reason.lower()
    assert "memory" not in judgement.reason.replace("memory_", "")


@pytest.mark.shared
def test_a_capture_with_skipped_tests_names_the_measured_failure_first(captures: Path) -> None:
    text = (captures / "dcgm/gb10-r2-partial-skip-4.2.3__baldwinSPC-glimmer-burnin.json").read_text()
    assert verdict("dcgm-r2", text, gpus=1, code=1).verdict is Verdict.FAIL
    repaired = text.replace('"Fail"', '"Pass"')
    document = json.loads(repaired)
    for test in document["DCGM Diagnostic"]["test_categories"][0]["tests"]:
        for result in test["results"]:
            result.pop("warnings", None)
    judgement = verdict("dcgm-r2", json.dumps(document), gpus=1)
    assert judgement.verdict is Verdict.UNKNOWN
    assert "memory of GPU 0 to pass, got Skip" in judgement.reason


@pytest.mark.shared
def test_a_capture_of_version_3_has_its_failed_deployment_test(captures: Path) -> None:
    found = parse_diagnostic((captures / "dcgm/diag-3x-fail__facebookresearch-gcm.json").read_text())
    assert found.major == 3
    assert [test.name for test in found.tests if test.results[0].status is Status.FAIL] == ["Persistence Mode"]


@pytest.mark.shared
def test_another_tool_of_dcgm_is_unreadable(captures: Path) -> None:
    with pytest.raises(Unreadable):
        parse_diagnostic((captures / "dcgm/nvlink-errors-fail__facebookresearch-gcm.json").read_text())
