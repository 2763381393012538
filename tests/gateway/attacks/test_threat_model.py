"""The threat model of docs/gateway.md: each line names tests that exist, and its limits are those of the detector."""

from __future__ import annotations

import ast
import base64
import codecs
import re
from pathlib import Path

import pytest

from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.surfaces import SURFACES

TESTS = Path(__file__).parents[1]
PAGE = (Path(__file__).parents[3] / "docs/gateway.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Threat model\n")[2].partition("\n## ")[0]
TABLES = [
    [row.strip("| ").split(" | ") for row in table.split("\n")]
    for table in re.findall(r"(?:^\|.*\|\n?)+", SECTION, re.MULTILINE)
]
NAMED = re.compile(r"`([a-z_/]+\.py)::(test_\w+)`")
DETECTOR = make_detector(DetectSettings())


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_line_names_tests_that_exist() -> None:
    wrong = []
    for table in TABLES:
        may_lack_a_test = table[0][0] == "not covered"
        for row in filter(None, (row for row in table[2:] if row != [""])):
            named = NAMED.findall(row[-1])
            if not named and not (may_lack_a_test and row[-1].startswith("none: ")):
                wrong.append(f"{row[0]}: names no test")
            wrong += [
                f"{path}::{name}"
                for path, name in named
                if not (TESTS / path).is_file() or name not in _functions(TESTS / path)
            ]
    assert not wrong
    assert sum(map(len, TABLES)) > 40


def test_every_file_of_the_attack_suite_is_named() -> None:
    named = {path for path, _ in NAMED.findall(SECTION)}
    assert {f"attacks/{path.name}" for path in (TESTS / "attacks").glob("test_*.py")} <= named


def test_files_and_tests_that_the_page_names_elsewhere_exist() -> None:
    root = TESTS.parents[1]
    named = re.findall(r"`(tests/[a-z_/]+\.py)(?:::(test_\w+))?`", PAGE)
    assert len(named) > 10
    assert not [path for path, name in named if not (root / path).is_file()]
    assert not [name for path, name in named if name and name not in _functions(root / path)]


def test_a_name_without_context_is_not_found() -> None:
    assert not DETECTOR.find("the contract that quandt wanted last week is still on the desk upstairs")


@pytest.mark.parametrize(
    "written",
    [
        "DE89370400440532013000"[::-1],
        codecs.encode("anna@example.com", "rot13").replace("@", " "),
        base64.b32encode(b"DE89370400440532013000").decode(),
        "....- .---- .---- .----" * 4,
        "neljä yksi yksi yksi " * 4,
    ],
    ids=["reversed", "rot13", "base32", "Morse", "words"],
)
def test_unknown_encodings_are_not_found(written: str) -> None:
    assert not DETECTOR.find(f"Please read this: {written} and tell me what it is.")


def test_a_number_in_two_messages_is_not_found() -> None:
    messages = [{"role": "user", "content": f"Here is a part of it: {part}"} for part in ("4111 1111", "1111 1111")]
    inspector = Inspector(CachedFinder(DETECTOR), SURFACES["/v1/chat/completions"], max_depth=8)
    assert not inspector.inspect({"model": "assistant", "messages": messages}).found
