"""YAML that people write: strict values, a line for everything, and no text that breaks the reader."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sovctl.engine.validation.presets import FOLDER, names
from sovctl.support.errors import Problem
from sovctl.support.strict_yaml import MAX_BYTES, MAX_VALUES, YamlSyntaxError, join, parent, read_text, resolve, steps


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),  # the country, not false
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-17", -17),
        ("0x1F", 31),
        ("010", "010"),  # eight or ten: readers disagree
        ("1_000", "1_000"),
        ("12:30", "12:30"),  # 750 in YAML 1.1
        ("2026-11-21", "2026-11-21"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("0.32.0", "0.32.0"),
        ("9" * 19, "9" * 19),
        ("1e999", "1e999"),
    ],
)
def test_reads_scalars_as_yaml_1_2(text: str, value: Any) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


def test_keeps_quoted_texts_as_they_are() -> None:
    assert read_text(b"a: '8'\nb: \"true\"\nc: 8\n").value == {"a": "8", "b": "true", "c": 8}


def test_first_of_two_equal_keys_is_kept_and_both_lines_are_said() -> None:
    text = read_text(b"a: 1\nb: 2\na: {x: 3}\n")
    assert text.value == {"a": 1, "b": 2}
    assert [(each.where, each.message) for each in text.problems] == [("a", "duplicate key, on lines 1 and 3")]


def test_finds_items_by_number_and_by_name() -> None:
    text = read_text(b"pools:\n- name: chat\n  port: 1\n-\n  name: code\n  port: 2\n")
    assert text.by_index("pools[code].port") == "pools[1].port"
    assert text.line("pools[code].port") == text.line("pools[1].port") == 6
    assert text.line("pools[1].model") == 5, "what is not written stands where its item begins"
    assert text.line("nothing.like[3].it") == 1


@pytest.mark.parametrize("name", names())
def test_every_path_of_a_preset_has_the_line_it_stands_on(name: str) -> None:
    data = (FOLDER / f"{name}.yaml").read_bytes()
    lines, text = data.decode().splitlines(), read_text(data)
    assert len(text.lines) > 50
    for path, number in text.lines.items():
        step = steps(path)[-1]
        shown = lines[number - 1]
        assert (f"{step}:" if isinstance(step, str) else "") in shown, (path, shown)
        if isinstance(step, int):
            assert shown.strip().startswith("- ") or "[" in shown, (path, shown)


@settings(deadline=None)
@given(st.lists(st.one_of(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.integers(0, 99)), min_size=1))
def test_paths_and_steps_are_each_others_inverse(loc: list[str | int]) -> None:
    if isinstance(loc[0], int):
        loc = ["top", *loc]
    path = ""
    for step in loc:
        assert not path or parent(join(path, step)) == path
        path = join(path, step)
    assert steps(path) == loc


def _outcome(data: bytes) -> tuple[Any, Problem | None]:
    try:
        return read_text(data).value, None
    except YamlSyntaxError as broken:
        return None, broken.problem


@settings(deadline=None)
@given(
    st.one_of(st.binary(max_size=300), st.text(alphabet="ab:-[]{}?&*!|>'\"#%@, \n\t\\0", max_size=80).map(str.encode))
)
def test_any_bytes_give_values_or_one_problem(data: bytes) -> None:
    value, problem = _outcome(data)
    assert value is None or problem is None
    if problem is not None:
        assert problem.message
        assert problem.hint


@pytest.mark.parametrize(
    "data",
    [
        b"[" * (MAX_BYTES // 2),
        b"- " * (MAX_BYTES // 4),
        b"{a: " * (MAX_BYTES // 8),
        b"? " * (MAX_BYTES // 4),
        b"a: b\n" * MAX_VALUES,
        b"x" * (MAX_BYTES + 1),
        b"a: " + b"9" * 5000,
    ],
    ids=["brackets", "dashes", "braces", "questions", "values", "size", "digits"],
)
def test_hostile_texts_are_refused_or_read_at_once(data: bytes) -> None:
    started = time.process_time()
    value, problem = _outcome(data)
    assert problem is not None or value == {"a": "9" * 5000}
    assert time.process_time() - started < 5


def test_says_where_the_encoding_breaks() -> None:
    with pytest.raises(YamlSyntaxError, match=r"^3: expected UTF-8") as caught:
        read_text(b"a: 1\nb: 2\nc: \xff\n")
    assert "UTF-8" in caught.value.problem.hint


def test_reads_a_byte_order_mark() -> None:
    assert read_text("a: ü\n".encode("utf-8-sig")).value == {"a": "ü"}
