"""Probes, parsers and checks of one machine on its real tools; results are written to build/gpu/checks.json.

The checks expect the board of the catalogue whose PCI device the machine has, with the number of GPUs that it has, so
that one GPU in a virtual machine can be tested. A verdict may be FAIL, such as persistence off. UNKNOWN is an error:
the output of a real tool was not read.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import pytest

from bench.healthy.answers import platforms, targets
from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import Probe, ProbeOutput
from sovctl.engine.checks.probes.commands import LOADED_MODULE, PCI_LINKS
from sovctl.engine.facts.hardware.driver_files import parse_module_version
from sovctl.engine.facts.hardware.gpu import GpuReport
from sovctl.engine.facts.hardware.lspci import parse_lspci
from sovctl.engine.facts.hardware.pci import parse_pci
from sovctl.engine.facts.hardware.topology import parse_topology
from sovctl.support.atomic_files import write_atomic

pytestmark = pytest.mark.gpu

TOPICS = ("gpu", "vram", "bus", "driver", "xid")
NEEDS = {
    "driver.cdi-lists-every-gpu": "nvidia-ctk",
    "driver.container-toolkit-exact": "nvidia-ctk",
    "driver.dcgm-host-engine": "dcgmi",
}
"""Program of a check that a machine without sovctl may not have; its verdict may be UNKNOWN."""
IS_ROOT = os.geteuid() == 0
RESULT = Path("build/gpu/checks.json")


def output_of(probe: Probe) -> ProbeOutput:
    done = subprocess.run(["sh", "-c", probe.command], capture_output=True, text=True, timeout=120, check=False)
    return ProbeOutput(done.returncode, done.stdout, done.stderr)


def printed(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def test_the_driver_of_the_report_is_the_loaded_module(report: GpuReport) -> None:
    assert parse_module_version(printed(LOADED_MODULE)).version == report.driver_version


def test_every_field_that_checks_compare_is_in_the_report(report: GpuReport) -> None:
    for gpu in report.gpus:
        assert None not in (gpu.product, gpu.uuid, gpu.pci_bus_id, gpu.pci_device_id, gpu.vbios, gpu.memory_total_mib)
        assert None not in (gpu.pcie.generation, gpu.pcie.width, gpu.temperatures.gpu_c, gpu.settings.power.current_w)
        assert gpu.settings.clock_reasons is not None


def test_sysfs_has_the_gpus_of_the_report(report: GpuReport) -> None:
    found = [each.device for each in parse_pci(printed(PCI_LINKS)) if each.is_gpu]
    assert sorted(found) == sorted(str(gpu.pci_device_id) for gpu in report.gpus)


def test_the_topology_has_the_gpus_of_the_report(report: GpuReport) -> None:
    assert len(parse_topology(printed("nvidia-smi topo -m")).gpus) == len(report.gpus)


@pytest.mark.skipif(not IS_ROOT, reason="not run: lspci prints capabilities to root only")
def test_lspci_has_the_gpus_of_the_report(report: GpuReport) -> None:
    kinds = [each.kind for each in parse_lspci(printed("lspci -vvv")).devices.values() if "NVIDIA" in each.name]
    assert len(kinds) >= len(report.gpus)


def test_checks_of_gpus_read_the_output_of_the_real_tools(report: GpuReport) -> None:
    device = report.gpus[0].pci_device_id
    boards = [
        each for each in platforms().values() if each.checks.gpu_pci_id and each.checks.gpu_pci_id.value == device
    ]
    if not boards:
        pytest.skip(f"not run: no board of the catalogue has PCI device {device}")
    rows, unread = [], []
    for target in targets(boards[0].id):
        if target.check.id.partition(".")[0] not in TOPICS:
            continue
        expected = target.expectation
        if any(each.name == "gpu_count" for each in fields(expected)):
            expected = replace(expected, gpu_count=len(report.gpus))  # type: ignore[call-arg]
        judgement = judge(target.check, output_of(target.check.probe(expected)), expected)
        rows.append({"check": target.check.id, "verdict": judgement.verdict.value, "reason": judgement.reason})
        if judgement.verdict is Verdict.UNKNOWN and not (target.check.id in NEEDS and "127" in judgement.reason):
            unread.append(f"{target.check.id}: {judgement.reason}")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps({"driver": report.driver_version, "board": boards[0].id, "checks": rows}, indent=1))
    assert not unread, "\n".join(unread)
