"""The bench of rolling changes alternates values of its site, and reports every broken promise."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from bench.rolling import CHANGES, change_site, problems_of
from sovctl.engine.validation.load import load
from sovctl.engine.validation.presets import FOLDER

GOOD: dict[str, Any] = {
    "failures": [],
    "apply_exit_code": 0,
    "results": {"answered": 100},
    "least_serving_pool_servers": 1,
    "least_ready_gateways": 1,
}


def test_each_change_gives_another_valid_site_and_a_second_one_the_first(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text((FOLDER / "ha.yaml").read_text())
    seen = []
    for names in ([], list(CHANGES), list(CHANGES)):
        change_site(file, names)
        spec = load(file, today=date(2026, 11, 21)).spec
        assert spec.gateway is not None
        seen.append((spec.software.lock, spec.pools[0].max_num_seqs, spec.gateway.workers))
    assert seen == [("nvidia-580.126.20", 8, 1), ("nvidia-580.173.02", 9, 2), ("nvidia-580.126.20", 8, 1)]


def test_a_failed_request_a_broken_floor_and_a_missing_measurement_are_problems() -> None:
    assert problems_of(GOOD) == []
    for broken in (
        {"failures": ["10.77.0.21: status 503"]},
        {"apply_exit_code": 1},
        {"results": {}},
        {"least_serving_pool_servers": 0},
        {"least_serving_pool_servers": None},
        {"least_ready_gateways": 0},
    ):
        assert len(problems_of(GOOD | broken)) == 1
