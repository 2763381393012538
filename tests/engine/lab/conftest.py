"""Fixtures of the lab: a node's disk for the stand-ins, and a lab of our own that is booted once per run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_specimens import GPU_NODE, VERSION, Disk, OwnLab

from sovctl.engine.lab.hardware import inventory as hardware
from sovctl.engine.lab.layout import Lab
from sovctl.engine.lab.lifecycle import lifecycle
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


@pytest.fixture(scope="session")
def own_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnLab]:
    """A lab beside any other, booted once; a crashed one of an earlier run is cleaned by the same `up`."""
    own = OwnLab(Lab("sovtest"), tmp_path_factory.mktemp("lab-site"))
    own.up()
    yield own
    lifecycle.down(own.lab, progress=lambda _: None)
