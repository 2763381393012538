"""Fixtures of the tests on a real NVIDIA GPU. They run only if the marker expression names `gpu`: `make test-gpu`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sovctl.engine.checks.probes.commands import GPU_REPORT
from sovctl.engine.facts.hardware.gpu import GpuReport
from sovctl.engine.facts.hardware.nvidia_smi import parse_nvidia_smi_xml


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "gpu" in config.option.markexpr.split():
        return
    skip = pytest.mark.skip(reason="runs with `make test-gpu` only")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def report() -> GpuReport:
    """The real report of this machine's GPUs; skips without a GPU, and with the simulated tool of a lab."""
    if shutil.which("nvidia-smi") is None:
        pytest.skip("not run: no nvidia-smi, so no NVIDIA GPU")
    done = subprocess.run(GPU_REPORT.split(), capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        pytest.skip(f"not run: nvidia-smi exits with {done.returncode}: {done.stdout.strip()[:100]}")
    found = parse_nvidia_smi_xml(done.stdout)
    if found.is_simulated or not found.gpus:
        pytest.skip("not run: the GPUs are simulated" if found.gpus else "not run: nvidia-smi reports no GPU")
    return found
