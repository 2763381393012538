"""The seven states: nothing that was not run counts as passed, the worst counts, exceptions end by themselves."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from evidence_specimens import NODES, control_map, everywhere, made, stored
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sovctl.compliance.controls.assessment import Assessment, ControlState, assess
from sovctl.compliance.controls.exceptions import Attestation, Exceptions, Waiver, exceptions_of_site, load_exceptions
from sovctl.compliance.controls.framework import Control, Pack, builtin_pack, load_pack
from sovctl.support.errors import InputError, SpecError

TODAY = date(2026, 11, 21)
MAP = control_map("a.one", "a.two")
PACK = Pack(
    name="p",
    title="t",
    source="s",
    licence="l",
    controls=(
        Control(id="a-1", title="One", family="A", mapping=MAP),
        Control(id="a-2", title="Two", family="A"),
    ),
)
WAIVER: dict[str, Any] = {
    "id": "W-1",
    "control": "a-1",
    "check": "a.one",
    "targets": ("gpu-1",),
    "reason": "vendor case",
    "compensating": "watched nightly",
    "requested_by": "first person",
    "approved_by": "second person",
    "approved": date(2026, 11, 1),
    "expires": date(2026, 12, 1),
}


def decided(items: list[Any], exceptions: Exceptions | None = None, *, on: date = TODAY) -> Assessment:
    return assess(PACK, stored(items), on=on, exceptions=exceptions)


def state(items: list[Any], exceptions: Exceptions | None = None, *, on: date = TODAY) -> str:
    return decided(items, exceptions, on=on).results[0].state.value


def one(verdict: str = "PASS", **verdicts: str) -> list[Any]:
    """`a.one` on every node, with other verdicts on some."""
    named = {name.replace("_", "-"): value for name, value in verdicts.items()}
    return [made("a.one", node, named.get(node, verdict), others=NODES) for node in NODES]


TWO = everywhere("a.two")


def test_passes_only_when_every_check_passes_on_every_target() -> None:
    assert state(one() + TWO) == "pass"


def test_without_evidence_it_is_not_run() -> None:
    assert state([]) == "not-run"
    assert state([made("b.other")]) == "not-run"


def test_one_failure_fails_it() -> None:
    assert state(one(gpu_2="FAIL") + TWO) == "fail"
    assert state(one(gpu_2="FAIL")) == "fail"


@pytest.mark.parametrize("items", [one(gpu_1="UNKNOWN") + TWO, one() + TWO[:2], one(), one()[1:] + TWO])
def test_unknown_or_missing_is_an_error_never_a_pass(items: list[Any]) -> None:
    result = decided(items).results[0]
    assert result.state == "error"
    assert result.reasons


def test_a_failure_outweighs_what_is_unknown() -> None:
    assert state(one(gpu_1="UNKNOWN", gpu_2="FAIL")) == "fail"


def test_a_warning_passes_and_is_counted() -> None:
    result = decided(one(gpu_1="WARN") + TWO).results[0]
    assert (result.state, result.warnings) == ("pass", 1)


def test_not_applicable_only_when_everything_is() -> None:
    assert state(one("N/A") + everywhere("a.two", "N/A")) == "n-a"
    assert state(one("N/A") + TWO) == "pass"
    assert state(one("N/A", gpu_1="PASS") + everywhere("a.two", "N/A")) == "pass"
    assert state(one("N/A")) == "error"


def test_asking_again_until_it_passes_is_no_help() -> None:
    assert state(one(gpu_1="FAIL") + TWO + [made("a.one", "gpu-1", "PASS", others=NODES)]) == "fail"


def test_simulated_hardware_marks_every_control_it_touches() -> None:
    simulated = [made("a.one", "gpu-1", simulated=True), made("a.two")]
    assert decided(simulated).simulated
    assert decided(simulated).results[0].simulated
    assert not decided(one() + TWO).simulated


def test_the_sentence_puts_coverage_first() -> None:
    assert decided(one() + TWO).sentence() == "1 of 2 decided: 1 pass, 0 fail, 0 error; 1 not run"
    assert decided([]).sentence() == "0 of 2 decided: 0 pass, 0 fail, 0 error; 2 not run"


def waived(**changes: Any) -> Exceptions:
    return Exceptions(waivers=(Waiver(**(WAIVER | changes)),))


FAILED = one(gpu_1="FAIL") + TWO


def test_a_waiver_covers_the_failure_it_names_and_no_other() -> None:
    assert state(FAILED, waived()) == "waived"
    assert state(FAILED, waived(targets=("gpu-2",))) == "fail"
    assert state(FAILED, waived(check="a.two")) == "fail"
    assert state(FAILED, waived(control="a-2")) == "fail"
    assert state(one(gpu_1="FAIL", gpu_2="FAIL") + TWO, waived()) == "fail"


def test_a_waiver_never_covers_what_was_not_measured() -> None:
    assert state(one(gpu_1="UNKNOWN") + TWO, waived()) == "error"
    assert state(one(gpu_1="FAIL"), waived()) == "error"
    assert state([], waived()) == "not-run"


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (date(2026, 10, 31), "fail"),
        (date(2026, 11, 1), "waived"),
        (date(2026, 12, 1), "waived"),
        (date(2026, 12, 2), "fail"),
    ],
)
def test_a_waiver_flips_back_to_fail_by_itself(day: date, expected: str) -> None:
    assert state(FAILED, waived(), on=day) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"approved_by": "First Person "},
        {"expires": date(2027, 11, 2)},
        {"expires": date(2026, 10, 31)},
        {"targets": ()},
        {"reason": ""},
        {"expires": None},
    ],
)
def test_refuses_a_waiver_without_a_second_person_or_a_near_end(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Waiver(**(WAIVER | change))


def attested(control: str) -> Exceptions:
    return Exceptions(
        attestations=(
            Attestation(
                control=control,
                statement="seen by eye",
                by="third person",
                attested=date(2026, 11, 1),
                expires=date(2026, 12, 1),
            ),
        )
    )


def test_an_attestation_counts_where_no_check_speaks_and_until_its_last_day() -> None:
    assert decided([], attested("a-2")).results[1].state == "attested"
    assert decided([], attested("a-2"), on=date(2026, 12, 2)).results[1].state == "not-run"
    assert state([], attested("a-1")) == "not-run"


def test_reads_exceptions_and_names_every_problem(tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    path.write_text("waivers: [{id: W-1, control: a-1}]\nattestations: [{}]\n")
    places = [where for where, _, _ in mistakes(path)]
    assert f"{path}:1: waivers[0].checks" in places
    assert f"{path}:2: attestations[0].control" in places
    path.write_text("")
    assert load_exceptions(path, packs=[PACK]) == Exceptions()
    with pytest.raises(InputError, match="unreadable"):
        load_exceptions(tmp_path / "absent.yaml", packs=[PACK])


def mistakes(path: Path) -> list[tuple[str, str, str]]:
    """Place, message and hint of everything wrong with a file."""
    with pytest.raises(SpecError) as caught:
        load_exceptions(path, packs=[PACK])
    return [(each.where, each.message, each.hint) for each in caught.value.problems]


WHOLE = """waivers:
- {id: W-1, control: a-1, check: a.one, targets: [gpu-1], reason: vendor case, compensating: watched nightly,
   requested_by: first person, approved_by: second person, approved: 2026-11-01, expires: 2026-12-01}
attestations:
- {control: a-2, statement: doors inspected, by: third person, attested: 2026-11-10, expires: 2027-11-01}
"""


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("control: a-1", "control: a-11", "unknown control: a-11", "did you mean a-1?"),
        ("a.one", "a.onee", "unknown check of a-1: a.onee", "did you mean a.one?"),
        ("control: a-2", "control: a-1", "control a-1 has checks and cannot be attested", "waiver"),
        ("expires: 2026-12-01", "expires: 2026-12-01, expires: 2027-10-01", "duplicate key", "remove one"),
        ("2026-12-01", "2026-13-45", "expected a valid date", ""),
        ("2026-12-01", "2027-12-01", "expected expiry 0 to 365 days after the start, got 395", ""),
        ("second person", "First Person", "requested_by and approved_by are the same person", ""),
        ("reason:", "raison:", "unknown key `raison`", "did you mean `reason`?"),
        ("[gpu-1]", "&all [gpu-1]", "anchors and aliases are not supported", "repeat the value"),
        ("attestations:\n", "- {id: W-1}\nattestations:\n", "missing key", "report.md"),
        ("vendor case", "!!int abc", "tags (!) are not supported", "quotes"),
        ("[gpu-1]", "[" * 20_000, "expected at most 16 levels, got more", ""),
    ],
)
def test_a_waiver_that_would_cover_nothing_is_refused(
    old: str, new: str, message: str, hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "waivers.yaml"
    path.write_text(WHOLE)
    assert load_exceptions(path, packs=[PACK]).waivers == (Waiver(**WAIVER),)
    path.write_text(WHOLE.replace(old, new, 1))
    found = mistakes(path)
    assert any(message in said and hint in remedy for _, said, remedy in found), found
    assert all(where.startswith(f"{path}:") for where, _, _ in found)


def test_an_id_stands_for_one_waiver(tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    once = "".join(WHOLE.splitlines(keepends=True)[1:3])
    path.write_text(f"waivers:\n{once}{once}")
    assert mistakes(path) == [(f"{path}:4: waivers[1].id", "duplicate id W-1", "")]


def test_the_form_in_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "commands" / "report.md").read_text()
    path = tmp_path / "waivers.yaml"
    path.write_text(page.split("```yaml\n")[1].split("```")[0])
    found = load_exceptions(path, packs=[load_pack(builtin_pack("nist-800-53-moderate"))])
    assert (len(found.waivers), len(found.attestations)) == (1, 1)


VERDICTS = st.sampled_from(["PASS", "WARN", "FAIL", "UNKNOWN", "N/A", None])


@given(st.lists(st.tuples(VERDICTS, VERDICTS), min_size=3, max_size=3))
def test_a_pass_means_that_every_target_was_seen_and_none_blocks(answers: list[tuple[str | None, str | None]]) -> None:
    items = [
        made(check, node, verdict, others=NODES)
        for node, pair in zip(NODES, answers, strict=True)
        for check, verdict in zip(("a.one", "a.two"), pair, strict=True)
        if verdict
    ]
    found = decided(items).results[0].state
    flat = [verdict for pair in answers for verdict in pair]
    if found is ControlState.PASS:
        assert set(flat) <= {"PASS", "WARN", "N/A"}
        assert set(flat) != {"N/A"}
    assert (found is ControlState.FAIL) == ("FAIL" in flat)
    assert (found is ControlState.NOT_RUN) == (set(flat) == {None})
    assert (found is ControlState.NOT_APPLICABLE) == (set(flat) == {"N/A"})


def test_a_waiver_that_names_a_former_check_id_covers_the_current_check(tmp_path: Path) -> None:
    file = tmp_path / "waivers.yaml"
    file.write_text(yaml.safe_dump({"waivers": [{**WAIVER, "check": "a.former", "targets": ["gpu-1"]}]}))
    with pytest.raises(SpecError, match="1 problem"):
        load_exceptions(file, packs=[PACK])
    exceptions = load_exceptions(file, packs=[PACK], former_ids={"a.former": "a.one"})
    assert state([*one(gpu_1="FAIL"), *TWO], exceptions) == "waived"


def test_a_control_id_of_two_frameworks_needs_the_pack(tmp_path: Path) -> None:
    other = Pack(name="q", title="t", source="s", licence="l", controls=(Control(id="a-2", title="Else", family="B"),))
    attested = {
        "control": "a-2",
        "statement": "seen",
        "by": "third person",
        "attested": "2026-11-01",
        "expires": "2026-12-01",
    }
    path = tmp_path / "waivers.yaml"
    path.write_text(yaml.safe_dump({"attestations": [attested]}))
    with pytest.raises(SpecError) as caught:
        load_exceptions(path, packs=[PACK, other])
    (problem,) = caught.value.problems
    assert problem.message == "control a-2 is in several packs: p, q"
    path.write_text(yaml.safe_dump({"attestations": [attested | {"pack": "q"}]}))
    exceptions = load_exceptions(path, packs=[PACK, other])
    assert [r.state.value for r in assess(other, [], on=TODAY, exceptions=exceptions).results] == ["attested"]
    assert [r.state.value for r in assess(PACK, [], on=TODAY, exceptions=exceptions).results] == ["not-run"] * 2
    path.write_text(yaml.safe_dump({"attestations": [attested | {"pack": "r"}]}))
    with pytest.raises(SpecError):
        load_exceptions(path, packs=[PACK, other])


AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def aged(items: list[Any], at: datetime = AT, exceptions: Exceptions | None = None) -> Any:
    return assess(PACK, stored(items), on=at.date(), at=at, exceptions=exceptions).results[0]


def expiring(verdict: str, expires: str) -> list[Any]:
    return [made("a.one", node, verdict, others=NODES, expires=expires) for node in NODES]


@pytest.mark.parametrize(("expires", "expected"), [("12:00:00Z", "not-run"), ("12:00:01Z", "pass")])
def test_expired_evidence_turns_not_run_to_the_second(expires: str, expected: str) -> None:
    day = "2026-11-21T"
    items = expiring("PASS", day + expires) + [made("a.two", n, others=NODES, expires=day + expires) for n in NODES]
    assert aged(items).state.value == expected


def test_a_control_with_partly_expired_evidence_is_an_error_and_names_it() -> None:
    result = aged(expiring("PASS", "2026-11-21T11:00:00Z") + TWO)
    assert result.state is ControlState.ERROR
    assert "a.one on gpu-1: not run since its evidence expired at 2026-11-21T11:00:00Z" in result.reasons
    one_target = [made("a.one", "gpu-1", others=NODES, expires="2026-11-21T11:00:00Z"), *one()[1:], *TWO]
    assert aged(one_target).state is ControlState.ERROR
    assert (aged(one_target).coverage.targets_measured, aged(one_target).coverage.targets) == (5, 6)


def test_a_failure_does_not_expire() -> None:
    assert aged(expiring("FAIL", "2026-11-21T11:00:00Z")).state is ControlState.FAIL


def test_a_waiver_does_not_cover_expired_evidence() -> None:
    items = expiring("UNKNOWN", "2026-11-21T11:00:00Z") + TWO
    assert aged(items, exceptions=waived()).state is ControlState.ERROR


def test_coverage_counts_checks_and_targets_that_were_not_run() -> None:
    assert asdict(aged(one(gpu_1="UNKNOWN")).coverage) == {
        "checks_run": 1,
        "checks": 2,
        "targets_measured": 2,
        "targets": 3,
        "stale": 0,
    }
    assert decided(one() + TWO).by_family() == {
        "A": {state: int(state in (ControlState.PASS, ControlState.NOT_RUN)) for state in ControlState}
    }


def test_a_waiver_without_controls_covers_every_control_with_the_check(tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    text = {k: v for k, v in WAIVER.items() if k not in ("control", "check")}
    path.write_text(yaml.safe_dump({"waivers": [text | {"checks": ["a.one"], "targets": ["gpu-1"]}]}))
    exceptions = load_exceptions(path, packs=[PACK])
    assert state(FAILED, exceptions) == "waived"
    assert [(each.pack, each.control, each.check) for each in exceptions.waivers] == [("p", "a-1", "a.one")]
    path.write_text(yaml.safe_dump({"waivers": [text | {"checks": ["a.one", "a.non"], "targets": ["gpu-1"]}]}))
    assert [(message, hint) for _, message, hint in mistakes(path)] == [
        ("unknown check of a control: a.non", "did you mean a.one?")
    ]


def test_a_waiver_covers_several_controls_and_checks(tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    text = {k: v for k, v in WAIVER.items() if k not in ("control", "check")} | {"targets": ["gpu-1"]}
    path.write_text(yaml.safe_dump({"waivers": [text | {"controls": ["a-1"], "checks": ["a.one", "a.two"]}]}))
    both = one(gpu_1="FAIL") + [made("a.two", n, "FAIL" if n == "gpu-1" else "PASS", others=NODES) for n in NODES]
    assert state(both, load_exceptions(path, packs=[PACK])) == "waived"
    path.write_text(yaml.safe_dump({"waivers": [text | {"controls": ["a-2"], "checks": ["a.one"]}]}))
    assert [message for _, message, _ in mistakes(path)] == ["unknown check of a-2: a.one"]


def test_exceptions_of_site_and_file_count_together_and_share_no_id(tmp_path: Path) -> None:
    text = {k: v for k, v in WAIVER.items() if k not in ("control", "check")} | {"checks": ["a.one"]}
    value = {"waivers": [text | {"targets": ["gpu-1"], "approved": "2026-11-01", "expires": "2026-12-01"}]}
    of_site = exceptions_of_site(value, site_file=Path("site.yaml"), packs=[PACK], former_ids={})
    with pytest.raises(SpecError) as caught:
        of_site.with_more(of_site, where="waivers.yaml")
    assert [each.message for each in caught.value.problems] == ["duplicate id W-1"]
    same_person = value["waivers"][0] | {"approved_by": "First  person"}
    with pytest.raises(SpecError) as caught:
        exceptions_of_site({"waivers": [same_person]}, site_file=Path("site.yaml"), packs=[PACK], former_ids={})
    assert caught.value.problems[0].where == "site.yaml: compliance.waivers[0]"
