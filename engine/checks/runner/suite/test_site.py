"""One test per check and target of a site.yaml; `pytest_plugin.py` documents how to run it directly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sovctl.compliance.verdict import Verdict

from ...model.result import Result
from ...model.target import CheckTarget
from ..observer import Observer


def test_site(target: CheckTarget, observer: Observer, keep: Callable[[Result], None]) -> None:
    """Measure the target and record the result. FAIL and UNKNOWN fail the test, N/A skips it."""
    result = observer.measure(target)
    keep(result)
    if result.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(result.reason)
    if result.verdict.blocks:
        pytest.fail(f"{result.verdict}: {result.reason}", pytrace=False)
