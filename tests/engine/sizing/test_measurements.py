"""Results of load tests in three tools' formats, as their sources write them; the rest is refused.

The specimens' figures are invented; their fields are those of vllm/benchmarks/serve.py, GuideLLM 0.8.1, AIPerf 0.13.0.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.sizing.pool.load_test_results import parse_measurements
from sovctl.support.errors import InputError

CASES = Path(__file__).parents[2] / "cases" / "measurements"


@pytest.mark.parametrize(
    ("file", "in_flight", "ttft_s", "is_open"),
    [
        ("vllm.json", [32], [0.31], [False]),
        ("vllm_appended.json", [1, 8, 32], [0.092, 0.15, 0.31], [False] * 3),
        ("guidellm.json", [8, 20], [0.15, 0.26], [False, True]),
        ("aiperf.json", [2.3 * 13.8], [0.31], [False]),
    ],
)
def test_every_tool_says_the_same_things(
    file: str, in_flight: list[float], ttft_s: list[float], is_open: list[bool]
) -> None:
    found = parse_measurements((CASES / file).read_bytes())
    assert [each.in_flight for each in found] == pytest.approx(in_flight)
    assert [each.ttft_s for each in found] == pytest.approx(ttft_s)
    assert [each.is_open for each in found] == is_open
    assert {(each.input_tokens, each.output_tokens) for each in found} == {(1024.0, 512.0)}
    assert all(each.itl_s and 0.02 < each.itl_s < 0.03 for each in found)


def test_requests_that_come_on_their_own_are_counted_by_littles_law() -> None:
    given = json.loads((CASES / "vllm.json").read_text()) | {"request_rate": 2.0, "max_concurrency": None}
    [found] = parse_measurements(json.dumps(given).encode())
    assert found.is_open
    assert found.in_flight == pytest.approx(given["request_throughput"] * given["mean_e2el_ms"] / 1e3)


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("vllm.json", {"output_throughput": -1}, "x.json: output_throughput: expected a number above 0, got -1"),
        ("vllm.json", {"mean_ttft_ms": "310ms"}, "x.json: mean_ttft_ms: expected a number above 0, got '310ms'"),
        ("vllm.json", {"total_input_tokens": None}, "x.json: total_input_tokens: missing number"),
        ("vllm.json", {"completed": True}, "x.json: completed: expected a number above 0, got True"),
        (
            "aiperf.json",
            {"time_to_first_token": {"unit": "sec", "avg": 0.3}},
            "x.json: time_to_first_token.unit: expected ms, got 'sec'",
        ),
        (
            "guidellm.json",
            {"benchmarks": [{}]},
            "x.json: benchmarks[0]: metrics.request_totals.successful: missing number",
        ),
        (
            "guidellm.json",
            {"benchmarks": ["first"]},
            "x.json: benchmarks[0]: metrics.request_totals.successful: missing number",
        ),
        (
            "vllm.json",
            {"completed": 1e300},
            "x.json: completed: expected a number above 0 and at most 1e+12, got 1e+300",
        ),
        (
            "vllm.json",
            {"completed": 100, "failed": 300},
            "x.json: failed: expected at most 5 % of the requests to fail, got 300 of 400",
        ),
        (
            "aiperf.json",
            {"request_count": {"unit": "requests", "avg": 10}, "error_request_count": {"unit": "requests", "avg": 1}},
            "x.json: error_request_count.avg: expected at most 5 % of the requests to fail, got 1 of 11",
        ),
        ("guidellm.json", {"benchmarks": []}, "x.json: no measurements found"),
    ],
)
def test_what_cannot_be_is_refused_by_its_path(file: str, change: dict[str, Any], said: str) -> None:
    changed = json.loads((CASES / file).read_text()) | change
    with pytest.raises(InputError) as caught:
        parse_measurements(json.dumps(changed).encode(), where="x.json")
    assert str(caught.value) == said


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places(item, (*path, key))


DOCUMENTS = {name: json.loads((CASES / name).read_text()) for name in ("vllm.json", "guidellm.json", "aiperf.json")}
NEARLY = [(name, path) for name, document in DOCUMENTS.items() for path in places(document) if path]


@given(
    st.sampled_from(NEARLY),
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({"avg": "1"}),
)
def test_a_result_with_anything_in_it_is_read_or_refused_and_nothing_breaks(
    place: tuple[str, tuple[str | int, ...]], instead: object
) -> None:
    name, (*before, last) = place
    document = copy.deepcopy(DOCUMENTS[name])
    here: Any = document
    for step in before:
        here = here[step]
    here[last] = instead
    with suppress(InputError):
        assert parse_measurements(json.dumps(document).encode(), where="x.json")


def test_not_a_number_is_refused() -> None:
    text = (CASES / "vllm.json").read_text().replace('"mean_itl_ms": 26.4', '"mean_itl_ms": NaN')
    with pytest.raises(InputError, match="got nan"):
        parse_measurements(text.encode())


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_anything_else_is_refused_and_nothing_breaks(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_measurements(data)
