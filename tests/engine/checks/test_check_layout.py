"""One file per check: the id is the path, the class overrides the methods of `Check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.engine.checks import definitions
from sovctl.engine.checks.model.check import Check
from sovctl.engine.checks.registry import CHECKS, TOPICS

FOLDER = Path(definitions.__path__[0])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_the_module_of_a_check_begins_with_its_id(check: Check[object]) -> None:  # type: ignore[type-var]
    topic, _, words = check.id.partition(".")
    text = (FOLDER / topic / f"{words.replace('-', '_')}.py").read_text()
    assert text.startswith(f'"""{check.id}: ')


def test_every_folder_of_definitions_is_a_topic() -> None:
    assert {path.name for path in FOLDER.iterdir() if (path / "__init__.py").exists()} == set(TOPICS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_states_what_it_expects_of_nodes_or_of_the_controller(check: Check[object]) -> None:  # type: ignore[type-var]
    overridden = [
        name for name in ("expect", "expect_controller") if getattr(type(check), name) is not getattr(Check, name)
    ]
    assert overridden


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_names_severity_and_the_next_step(check: Check[object]) -> None:  # type: ignore[type-var]
    assert check.severity
    assert check.remedy[0].islower() or check.remedy[0] == "`"
    assert not check.remedy.endswith(".")
