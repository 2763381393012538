"""Limits of checks: each belongs to a check or a topic, and each is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.engine import checks
from sovctl.engine.catalog.check_limits import limit, load_check_limits
from sovctl.engine.checks.registry import BY_ID, TOPICS

TEXT = "".join(path.read_text() for path in sorted(Path(checks.__path__[0]).rglob("*.py")))


@pytest.mark.parametrize("name", load_check_limits())
def test_a_limit_is_positive_and_read_by_a_check(name: str) -> None:
    assert limit(name) > 0
    owner = name.rpartition(".")[0]
    assert owner in {*BY_ID, *TOPICS, "counters"}
    assert f'"{name}"' in TEXT
