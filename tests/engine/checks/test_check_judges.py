"""Every check: its good answer passes, its bad ones do not, and nothing that is missing ever does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from check_cases.case import Bad, answer
from check_cases.software import DGX_OS, VENDOR_TARGET
from check_samples import SAMPLES
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import Judgement, failed, judge, passed, unknown, warned, worst
from sovctl.engine.checks.model.probe import ProbeOutput
from sovctl.engine.checks.registry import BY_ID, CHECKS

ALL = [check.id for check in CHECKS]
BAD = [(check_id, name) for check_id, sample in SAMPLES.items() for name in sample.bad]


def judgement_of(check_id: str, output: ProbeOutput) -> Judgement:
    return judge(BY_ID[check_id], output, SAMPLES[check_id].expectation)


def test_every_check_has_good_and_bad_answers() -> None:
    assert set(SAMPLES) == set(ALL)
    assert all(sample.bad for sample in SAMPLES.values())


@pytest.mark.parametrize("check_id", ALL)
def test_a_good_answer_passes_and_states_both_sides(check_id: str) -> None:
    judgement = judgement_of(check_id, answer(SAMPLES[check_id].good))
    assert judgement.verdict is Verdict.PASS, judgement.reason
    assert re.match(r"expected .+", judgement.reason)


@pytest.mark.parametrize(("check_id", "name"), BAD)
def test_a_bad_answer_gets_its_verdict(check_id: str, name: str) -> None:
    sample = SAMPLES[check_id]
    bad: Bad = sample.bad[name]
    judgement = judgement_of(check_id, answer({**sample.good, **bad.parts}))
    assert judgement.verdict is bad.verdict, judgement.reason
    assert bad.word in judgement.reason
    assert re.search(r"expected .+, got .+", judgement.reason)


def mutations(check_id: str) -> Iterator[tuple[str, ProbeOutput]]:
    """Ways in which the good answer can be missing something."""
    sample = SAMPLES[check_id]
    good = answer(sample.good)
    for text in ("", "\n", "   \n\t\n"):
        yield f"output {text!r}", replace(good, stdout=text)
    for code in (None, 1, 2, 124, 126, 127, 137, 255):
        yield f"exit code {code}", replace(good, exit_code=code)
    lines = good.stdout.splitlines(keepends=True)
    step = max(1, len(lines) // 40)
    for end in [*range(0, len(lines) - 1, step), len(lines) - 1]:
        yield f"cut after line {end}", replace(good, stdout="".join(lines[:end]))
    for name in sample.good:
        others = {each: part for each, part in sample.good.items() if each != name}
        text = sample.good[name]
        assert isinstance(text, str)
        yield f"without part {name}", answer(others)
        yield f"part {name} empty", answer({**sample.good, name: ""})
        yield f"part {name} exits with 1", answer({**sample.good, name: (1, text)})
        yield f"part {name} twice", replace(good, stdout=good.stdout + answer({name: text}).stdout)
    for word in sample.essential:
        first = next(number for number, line in enumerate(lines) if word in line)
        yield f"without the line of {word!r}", replace(good, stdout="".join(lines[:first] + lines[first + 1 :]))


@pytest.mark.parametrize("check_id", ALL)
def test_what_is_missing_is_never_healthy(check_id: str) -> None:
    for what, output in mutations(check_id):
        judgement = judgement_of(check_id, output)
        assert judgement.verdict in (Verdict.FAIL, Verdict.UNKNOWN), f"{what}: {judgement}"


@pytest.mark.parametrize("check_id", ALL)
@given(text=st.text(max_size=200))
def test_any_text_instead_of_a_part_is_judged_without_a_crash(check_id: str, text: str) -> None:
    good = SAMPLES[check_id].good
    for name in good:
        judgement_of(check_id, answer({**good, name: text}))


def test_a_failure_outranks_what_is_unknown_and_reasons_are_not_repeated() -> None:
    found = [unknown("a", "b"), failed("c", "d"), warned("e", "f"), failed("c", "d")]
    assert worst(found, otherwise="fine") == failed("c", "d")
    assert worst([passed("x")], otherwise="fine") == passed("fine")
    many = worst([failed(str(number), "x") for number in range(9)], otherwise="fine")
    assert many.reason.endswith("; and 4 more")


def test_an_unrun_probe_says_why() -> None:
    judgement = judgement_of("gpu.count", ProbeOutput(None, "", "ssh: connect to host 192.0.2.9 port 22: timed out"))
    assert judgement.verdict is Verdict.UNKNOWN
    assert "timed out" in judgement.reason


def test_a_probe_that_took_too_long_says_so() -> None:
    judgement = judgement_of("gpu.count", ProbeOutput(124, "", "=== sovctl begin gpus\n"))
    assert judgement.reason == "expected exit code 0 of the probe, got 124 (timeout)"


def test_ports_of_a_platform_without_a_known_rate_are_unknown() -> None:
    sample = SAMPLES["ib.ports-active"]
    judgement = judge(BY_ID["ib.ports-active"], answer(sample.good), replace(sample.expectation, rate_gbit_s=None))  # type: ignore[call-arg]
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.reason == "expected the platform's port rate, got none in the catalogue"


def test_signed_sources_of_dgx_os_remain_on_dgx_nodes() -> None:
    sample = SAMPLES["software.sources-only-mirror"]
    expected = replace(sample.expectation, may_keep_others=True)
    check, others = BY_ID["software.sources-only-mirror"], f"{sample.good['targets']}\n{VENDOR_TARGET}"

    def verdict(targets: str) -> Verdict:
        parts = {**sample.good, "targets": targets, "dgx_release": DGX_OS}
        return judge(check, answer(parts), expected).verdict

    assert verdict(others) is Verdict.PASS
    assert verdict(others.replace("dgx.example.org/\nTrusted: yes", "dgx.example.org/\nTrusted: no")) is Verdict.FAIL
    assert verdict(VENDOR_TARGET) is Verdict.FAIL  # without the site's mirror
    assert judge(check, answer({**sample.good, "targets": others}), expected).verdict is Verdict.FAIL  # no DGX OS
