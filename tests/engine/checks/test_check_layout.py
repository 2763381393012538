"""One file per check: the id is the path, the class overrides the methods of `Check`."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from sovctl.engine.checks import definitions
from sovctl.engine.checks.model.check import Check
from sovctl.engine.checks.registry import CHECKS

FOLDER = Path(definitions.__path__[0])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_the_id_of_a_check_is_its_path(check: Check[object]) -> None:  # type: ignore[type-var]
    topic, _, words = check.id.partition(".")
    path = Path(inspect.getfile(type(check))).resolve().relative_to(FOLDER.resolve())
    assert path == Path(topic, f"{words.replace('-', '_')}.py")
    assert (inspect.getmodule(type(check)).__doc__ or "").startswith(f"{check.id}: ")  # type: ignore[union-attr]


def test_every_file_of_a_topic_is_a_registered_check() -> None:
    files = {
        f"{path.parent.name}.{path.stem.replace('_', '-')}"
        for path in FOLDER.glob("*/[a-z]*.py")
        if path.parent.name != "probe_scripts"
    }
    assert files == {check.id for check in CHECKS}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_states_what_it_expects_of_nodes_or_of_the_controller(check: Check[object]) -> None:  # type: ignore[type-var]
    overridden = [
        name for name in ("expect", "expect_controller") if getattr(type(check), name) is not getattr(Check, name)
    ]
    assert overridden
