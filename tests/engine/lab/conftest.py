"""Fixtures of the lab: a node's disk for the stand-ins, and booted nodes without configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_site import SharedLab
from lab_specimens import GPU_NODE, VERSION, Disk, OwnLab

from sovctl.engine.lab.hardware import inventory as hardware
from sovctl.engine.lab.standins import board


@pytest.fixture
def healthy() -> dict[str, Any]:
    """The facts of a GPU node without a fault."""
    return hardware.facts("sovtest", GPU_NODE)


@pytest.fixture
def disk(tmp_path: Path, healthy: dict[str, Any]) -> Disk:
    """A GPU node on which everything runs as it should."""
    made = Disk(tmp_path)
    made.change(healthy)
    made.load(VERSION)
    made.run_daemon(board.FABRIC_MANAGER_FILE, VERSION)
    made.run_daemon(board.PERSISTENCED_FILE, VERSION)
    return made


@pytest.fixture(scope="session")
def captures() -> Path:
    """Captures of real hardware, where this checkout has them beside it."""
    folder = Path(__file__).resolve().parents[4] / "shared" / "fixtures"
    if not folder.is_dir():
        pytest.skip("no captures beside this checkout")
    return folder


@pytest.fixture(scope="module")
def own_lab(shared_lab: SharedLab) -> OwnLab:
    """Return the shared lab with unconfigured nodes."""
    return OwnLab(shared_lab.lab, shared_lab.unprovisioned())
