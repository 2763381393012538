"""One test per check and target of a site.yaml: see `pytest_plugin.py` for how to run it by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sovctl.compliance.verdict import Verdict

from ...model.result import Result
from ..observer import Observer
from ..targets import Case


def test_site(case: Case, observe: Observer, keep: Callable[[Result], None]) -> None:
    """The target is as site.yaml says: FAIL and UNKNOWN fail, N/A is skipped, PASS and WARN pass."""
    result = observe.look(case)
    keep(result)
    if result.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(result.reason)
    if result.verdict.blocks:
        pytest.fail(f"{result.verdict}: {result.reason}", pytrace=False)
