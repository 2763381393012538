"""Every bad site.yaml of tests/cases/spec gives exactly the problems written beside it, and nothing secret."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from sovctl.engine.catalog import load_catalog
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER as PRESETS
from sovctl.support.errors import ExitCode, SpecError

CASES = Path(__file__).parent.parent.parent / "cases" / "spec"
TODAY = date(2026, 11, 21)


def _cases() -> list[Any]:
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        for name, case in yaml.safe_load(path.read_text()).items():
            found.append(pytest.param(case, id=f"{path.stem}: {name}"))
    return found


def _text(case: dict[str, Any]) -> str:
    if "text" in case:
        return str(case["text"])
    text = (PRESETS / f"{case['from']}.yaml").read_text()
    for old, new in case.get("replace", []):
        assert old in text, f"the case no longer fits its preset: {old!r}"
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("case", _cases())
def test_names_every_problem_with_place_both_sides_and_remedy(case: dict[str, Any]) -> None:
    text, expected = _text(case), case["problems"]
    if not expected:
        parse(text.encode(), path=Path("site.yaml"), today=case.get("today", TODAY), catalog=load_catalog())
        return
    with pytest.raises(SpecError) as caught:
        parse(text.encode(), path=Path("site.yaml"), today=case.get("today", TODAY), catalog=load_catalog())
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    problems = caught.value.problems
    said = "\n".join(f"{each} | {each.hint}" for each in problems)
    if not case.get("at_least"):
        assert len(problems) == len(expected), said
    for problem, wanted in zip(problems, expected, strict=False):
        assert _place(problem.where) == wanted["where"], said
        assert wanted["message"] in problem.message, said
        assert wanted["hint"] in problem.hint, said
        assert problem.message[0].islower(), said
        assert not problem.message.endswith("."), said
    for secret in case.get("never", []):
        assert secret not in said


def _place(where: str) -> str:
    """`site.yaml:12: pools[0].port` as `pools[0].port`; `site.yaml:2:1` as `2:1`."""
    assert where.startswith("site.yaml")
    rest = where.removeprefix("site.yaml").lstrip(":")
    return rest.split(": ", 1)[1] if ": " in rest else "" if rest == "1" else rest
