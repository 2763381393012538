"""The gate of an apply requires checks for what changed, and its patterns name checks that exist."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.gate import ALL, CHECKS_OF, patterns_for


@pytest.mark.parametrize("pattern", sorted({*ALL, *(each for of in CHECKS_OF.values() for each in of)}))
def test_every_pattern_fits_a_check(pattern: str) -> None:
    assert any(fnmatchcase(check, pattern) for check in BY_ID)


def test_a_changed_type_requires_its_checks_once_and_an_unknown_type_all_of_them() -> None:
    assert patterns_for(["pool", "model"]) == CHECKS_OF["pool"]
    assert set(patterns_for(["pool", "reboot"])) == set(ALL)
    assert patterns_for(["clock"]) == ()
