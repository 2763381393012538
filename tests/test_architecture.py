"""docs/architecture.md names files and symbols that exist, and its generated part is current."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
_TOP = "cli|engine|gateway|compliance|support|roles|playbooks|inventory|templates"
PLACES = sorted(set(re.findall(rf"`((?:{_TOP})/[\w./-]*)(?::([\w.]+))?`", PAGE)))
QUESTIONS = (
    "checksum of an IBAN",
    "flags of vLLM",
    "cutting of waves",
    "restore of a token in a stream",
    "mapping of a control to a check",
    "verification of the ledger",
    "KV memory in `sovctl size`",
    "rendering of the firewall",
    "retry of an upstream",
    "grammar of a token",
    "reason of a refusal",
    "rows of a report",
)


def _symbols(file: Path) -> set[str]:
    """Functions, classes and methods of a file, as `name` and `Class.method`."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{each.name}" for each in methods}
    return found


@pytest.mark.parametrize(("path", "symbol"), PLACES, ids=lambda value: value)
def test_every_place_exists(path: str, symbol: str) -> None:
    assert (ROOT / path).exists()
    if symbol:
        assert symbol in _symbols(ROOT / path)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_answers_where_it_is(question: str) -> None:
    (answer,) = re.findall(rf"^\| {re.escape(question)} \| (.+) \|$", PAGE, re.MULTILINE)
    assert re.search(rf"`(?:{_TOP})/", answer)


def test_the_generated_part_is_current() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "architecture.py")]
    renewed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert renewed == PAGE, "run: .ci/architecture.py --write"


def test_every_folder_states_its_responsibility() -> None:
    tops = ("cli", "engine", "gateway", "compliance", "support")
    folders = {path.parent for top in tops for path in (ROOT / top).rglob("*.py")}
    without = {str(folder.relative_to(ROOT)) for folder in folders if not _responsibility(folder / "__init__.py")}
    assert without == {"engine/apply/ansible_plugins", "engine/lab/echo_model"}, "folders of programs, not packages"


def _responsibility(init: Path) -> str | None:
    return ast.get_docstring(ast.parse(init.read_text())) if init.exists() else None
