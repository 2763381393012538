"""Two models side by side: the evaluations that are compared, unknown values as reasons, and wrong names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import EXAMPLES

from sovctl.engine.catalog import load_catalog
from sovctl.engine.evaluation import records
from sovctl.engine.evaluation.comparison import Request, compare
from sovctl.engine.evaluation.marks import Evaluation, binomial_error
from sovctl.engine.evaluation.quality import comparable, conclusion, difference_error
from sovctl.engine.sizing.pool.candidate import CandidateSpeed
from sovctl.engine.validation.load import load
from sovctl.support.errors import InputError

CATALOG = load_catalog()
BANK = load(EXAMPLES / "bank-hybrid" / "site.yaml", is_draft=True)
DIGESTS = {each.name: each.manifest_sha256 for each in BANK.spec.models}


def mark(model: str = "a", *, wrong: int = 10, questions: str = "q", day: int = 1, total: int = 100) -> Evaluation:
    time = f"2026-11-{day:02}T00:00:00Z"
    ids = tuple(f"q{n}" for n in range(wrong))
    return Evaluation("chat", model, model * 64, "0.32.0", questions * 64, total, ids, 0.8, 900, 30.0, time)


def test_the_newest_evaluations_by_the_same_questions_are_compared() -> None:
    first = [mark(day=1), mark(questions="r", day=5)]
    second = [mark("b", day=2), mark("b", day=3), mark("b", questions="s", day=9)]
    one, other = comparable(first, second)
    assert one is not None
    assert other is not None
    assert (one.time[8:10], other.time[8:10], one.questions_sha256) == ("01", "03", other.questions_sha256)
    one, other = comparable([first[1]], [second[2]])
    assert conclusion(one, other) == "not compared: the questions are different"
    assert comparable([], second) == (None, second[2])
    assert conclusion(None, second[2]) == "not compared: one was not measured"
    assert conclusion(*comparable([], [])) == "not compared: neither was measured"


def test_a_difference_counts_only_above_its_error() -> None:
    assert conclusion(mark(wrong=10), mark("b", wrong=14)).startswith("4.0 points apart, within the error of 9.")
    assert conclusion(mark(wrong=10), mark("b", wrong=40)).startswith("30.0 points apart, more than the error of 11.")


@given(st.integers(0, 100), st.integers(0, 100))
def test_the_error_of_a_difference_is_larger_than_that_of_each_mark(one: int, other: int) -> None:
    first, second = mark(wrong=one), mark("b", wrong=other)
    error = difference_error(first, second)
    assert error == difference_error(second, first)
    assert error > max(binomial_error(each.score, 100) for each in (first, second))


def test_models_are_named_by_the_site_or_the_catalogue() -> None:
    spec = BANK.spec.model_copy(
        update={
            "models": [
                each.model_copy(update={"manifest_sha256": letter * 64})
                for each, letter in zip(BANK.spec.models, "abcd", strict=True)
            ]
        }
    )
    marks = [mark("a", wrong=3), mark("b", wrong=30), mark("b", wrong=20, day=2), mark("e", wrong=1, day=3)]
    names = {each.catalog: each.name for each in spec.models}
    assert list(names.values())[:2] == ["llama-70b", "qwen-32b"]
    for first, second in (("llama-70b", "qwen-32b"), ("llama-3.3-70b", "qwen3-32b")):
        found = compare(first, second, catalog=BANK.catalog, spec=spec, evaluations=marks)
        one, other = found.models
        assert (one.names, other.names) == (("llama-70b",), ("qwen-32b",))
        assert (one.quality, other.quality) == (marks[0], marks[2])
        assert found.conclusion.startswith("17.0 points apart, more than")
        assert (one.is_approved, one.licence.needs_approval, other.licence.needs_approval) == (True, True, False)
        assert found.hardware.startswith("pool assistant, 2 x dgx-h100")
        assert "workload of pool assistant" in found.load
        assert isinstance(one.speed, CandidateSpeed)
        assert one.speed.need is not None
    without = compare("llama-3.3-70b", "qwen3-32b", catalog=CATALOG, evaluations=marks)
    assert {each.quality for each in without.models} == {None}
    assert {each.is_approved for each in without.models} == {None}
    assert {each.speed for each in without.models} == {"no GPU is named: give a site.yaml or --gpu"}


def test_a_pool_a_gpu_and_lengths_can_be_named() -> None:
    def compared(request: Request) -> tuple[str, str]:
        found = compare("qwen3-32b", "qwen3-8b", catalog=BANK.catalog, spec=BANK.spec, request=request)
        assert all(isinstance(each.speed, CandidateSpeed) for each in found.models)
        return found.hardware, found.load

    assert compared(Request(pool="assistant"))[0].startswith("pool assistant")
    assert compared(Request(gpu="H200-141GB-SXM", in_flight=2)) == (
        "GPU H200-141GB-SXM",
        "1,500 input and 300 output tokens (named), 2 requests in flight",
    )
    assert compared(Request(input_tokens=700))[1].startswith("700 input and 300 output tokens (named)")


def test_a_model_of_another_role_has_no_speed_in_a_pool() -> None:
    found = compare("qwen-32b", "embedder", catalog=BANK.catalog, spec=BANK.spec)
    assert found.models[1].speed == "pool code serves a chat model"


@pytest.mark.parametrize(
    ("words", "request_", "message", "hint"),
    [
        (("lama-70b", "qwen-32b"), Request(), "no model 'lama-70b'", "did you mean llama-70b"),
        (("llama-70b", "????"), Request(), "no model '????'", "sovctl catalog list models"),
        (("llama-70b", "qwen-32b"), Request(pool="none"), "expected one of the pools assistant", ""),
        (("llama-70b", "qwen-32b"), Request(gpu="H200"), "no GPU 'H200'", "did you mean H200-141GB-SXM"),
    ],
)
def test_unknown_names_are_refused_with_similar_ones(
    words: tuple[str, str], request_: Request, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        compare(*words, catalog=BANK.catalog, spec=BANK.spec, request=request_)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_evaluations_of_all_pools_are_read_also_of_removed_ones(tmp_path: Path) -> None:
    for each in (mark(day=3), replace(mark("b", day=2), pool="gone")):
        records.save(tmp_path, each)
    (tmp_path / records.FOLDER / "chat" / "2026.json").write_text(json.dumps({"pool": "chat"}))
    assert [each.pool for each in records.all_evaluations(tmp_path)] == ["gone", "chat"]
    assert records.all_evaluations(tmp_path / "none") == []
