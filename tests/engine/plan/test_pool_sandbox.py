"""Sandbox of a pool's unit: exposure as `systemd-analyze security` computes it from the rendered unit."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from strategies import context

from sovctl.engine.resources.context import render
from sovctl.engine.resources.pool import instance, variables_of

ANALYZE = shutil.which("systemd-analyze")
MAX_EXPOSURE = 2.5
"""Chosen by sovctl, 2026-11: systemd 252 computes 2.4 for the unit, and 8.3 before this sandbox; 10 is the worst.

The rest are devices, because GPU drivers need them, executable memory, which compilers of kernels write, and networks,
which the firewall limits.
"""


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: the unit was not analysed")
def test_the_unit_of_a_pool_has_a_low_exposure(tmp_path: Path) -> None:
    assert ANALYZE is not None
    made = context("lab")
    (replica, *_) = made.replicas
    item = {"name": instance(replica), **variables_of(made, made.spec.node(replica.head), replica)}
    unit = tmp_path / "sovctl-pool-test.service"
    unit.write_text(render("pool", "unit.service.j2", item=item))
    command = [ANALYZE, "security", "--offline=true", "--json=short", f"--threshold={MAX_EXPOSURE * 10:.0f}", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout, done.stderr
    open_ = [
        row["name"] for row in json.loads(done.stdout) if row["set"] is False and float(row["exposure"] or 0) >= 0.2
    ]
    assert done.returncode == 0, f"{open_}: {done.stderr}"
