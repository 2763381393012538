"""Judges over captures of real machines, good and bad: the traps that others fell into."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from check_cases.case import FM_UNIT, answer, boot
from check_cases.nvlink import H100_FABRIC

from sovctl.compliance.verdict import Verdict
from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.checks.definitions.bus import _bus_check
from sovctl.engine.checks.definitions.gpu import _gpu_check
from sovctl.engine.checks.definitions.ib import _pairs, _ports
from sovctl.engine.checks.definitions.nccl import _one_node
from sovctl.engine.checks.definitions.nvlink import _links, fabric_ready
from sovctl.engine.checks.model.check import Judgement
from sovctl.engine.checks.probes import gpu_settings
from sovctl.engine.checks.registry import BY_ID, CHECKS

pytestmark = pytest.mark.shared

H100 = _gpu_check.Expected(gpu_count=8, pci_device_id="2330", pcie_gen=5, pcie_width=16)
B200 = _gpu_check.Expected(gpu_count=8, pci_device_id="2901", pcie_gen=5, pcie_width=16)
GB200_MOCK = _gpu_check.Expected(gpu_count=2, pci_device_id="2341", pcie_gen=6, pcie_width=16)
B200_FABRIC = fabric_ready.Expected(
    gpu_count=8,
    services=("nvidia-fabricmanager",),
    state="Completed",
    status="Success",
    health="Healthy",
    has_cluster=False,
)
GB200_FABRIC = fabric_ready.Expected(
    gpu_count=4, services=(), state="Completed", status="Success", health="Healthy", has_cluster=True
)


def xml(captures: Path, name: str) -> str:
    return (captures / f"nvidia-smi-qx/{name}__NVIDIA-k8s-test-infra.xml").read_text()


def fabric(text: str, expectation: fabric_ready.Expected) -> Judgement:
    return BY_ID["nvlink.fabric-ready"].judge(answer({"gpus": text, "services": FM_UNIT}), expectation)


def test_a_healthy_h100_node_passes_every_gpu_check_in_spite_of_its_pcie_replays(captures: Path) -> None:
    output = answer({"gpus": xml(captures, "8xh100"), "bus": "0x10de 0x2330 0x030200\n" * 8})
    for check_id in ("gpu.count", "gpu.ecc", "gpu.row-remap", "gpu.persistence", "gpu.pcie-link"):
        judgement = BY_ID[check_id].judge(output, H100)
        assert judgement.verdict is Verdict.PASS, judgement.reason
    assert BY_ID["gpu.temperature"].judge(output, H100).verdict is Verdict.PASS


def test_zero_clique_and_zero_cluster_are_healthy_on_hgx_and_not_on_multi_node_nvlink(captures: Path) -> None:
    assert fabric(xml(captures, "8xh100"), H100_FABRIC).verdict is Verdict.PASS
    assert fabric(xml(captures, "8xb200"), B200_FABRIC).verdict is Verdict.PASS
    assert fabric(xml(captures, "4xgb200"), GB200_FABRIC).verdict is Verdict.PASS
    wrong = fabric_ready.Expected(**{**vars(B200_FABRIC), "has_cluster": True})
    assert fabric(xml(captures, "8xb200"), wrong).verdict is Verdict.FAIL


def test_a_degraded_fabric_fails_though_it_says_completed_and_success(captures: Path) -> None:
    expectation = fabric_ready.Expected(**{**vars(GB200_FABRIC), "gpu_count": 2, "has_cluster": False})
    judgement = fabric(xml(captures, "2xgb200-fabric-degraded-mock"), expectation)
    assert judgement.verdict is Verdict.FAIL
    assert "GPU 1, got Unhealthy" in judgement.reason


def test_a_lost_gpu_fails_the_count_and_leaves_its_temperature_unknown(captures: Path) -> None:
    output = answer({"gpus": xml(captures, "2xgb200-lost-mock"), "bus": "0x10de 0x2341 0x030200\n" * 2})
    assert BY_ID["gpu.count"].judge(output, GB200_MOCK).verdict is Verdict.FAIL
    judgement = BY_ID["gpu.temperature"].judge(output, GB200_MOCK)
    assert judgement.verdict is Verdict.UNKNOWN
    assert "the temperature of GPU 1, got GPU is lost" in judgement.reason
    assert BY_ID["gpu.ecc"].judge(output, GB200_MOCK).verdict is Verdict.FAIL  # the other GPU has five measured errors


def test_injected_errors_fail_ecc_and_row_remapping(captures: Path) -> None:
    output = answer({"gpus": xml(captures, "2xgb200-ecc-injected-mock")})
    assert "got 5" in BY_ID["gpu.ecc"].judge(output, GB200_MOCK).reason
    assert BY_ID["gpu.row-remap"].judge(output, GB200_MOCK).verdict is Verdict.FAIL


def test_a_b200_node_with_persistence_off_fails_that_alone(captures: Path) -> None:
    output = answer({"gpus": xml(captures, "8xb200"), "bus": "0x10de 0x2901 0x030200\n" * 8})
    assert BY_ID["gpu.persistence"].judge(output, B200).verdict is Verdict.FAIL
    assert BY_ID["gpu.count"].judge(output, B200).verdict is Verdict.PASS
    assert BY_ID["gpu.ecc"].judge(output, B200).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("name", "gpus", "verdict"),
    [
        ("8xa100__leptonai-gpud.txt", 8, Verdict.PASS),
        ("good__Azure-azurehpc-health-checks.txt", 1, Verdict.PASS),
        ("bad__Azure-azurehpc-health-checks.txt", 1, Verdict.FAIL),
    ],
)
def test_nvlink_captures(captures: Path, name: str, gpus: int, verdict: Verdict) -> None:
    text = (captures / "nvidia-smi-nvlink" / name).read_text()
    expectation = _links.Expected(gpu_count=gpus, links_per_gpu=12, link_gb_s=25.0, topology="NV12")
    assert BY_ID["nvlink.links-active"].judge(answer({"links": text}), expectation).verdict is verdict


def test_a_real_topology_joins_all_gpus_and_keeps_nics_out_of_it(captures: Path) -> None:
    text = (captures / "nvidia-smi-topo/8xh100-mlx5cols__NVIDIA-NVSentinel.txt").read_text()
    access = text.replace("NV18", "OK")
    expectation = _links.Expected(gpu_count=8, links_per_gpu=18, link_gb_s=26.562, topology="NV18")
    output = answer({"topology": text, "access": access})
    assert BY_ID["nvlink.peer-access"].judge(output, expectation).verdict is Verdict.PASS


def ports(captures: Path, name: str, rate: float) -> Judgement:
    tree = json.loads((captures / f"sysfs/{name}.json").read_text())
    files = {path.split("/infiniband/")[-1]: content.strip() for path, content in tree.items() if "mlx5" in path}
    lines = "".join(f"{path}:{content}\n" for path, content in files.items() if "\n" not in content)
    adapters = {path.split("/")[0] for path in files if "/ports/" in path}
    parts = {"tree": lines, "adapters": f"{len(adapters)}\n", "bus": "0x15b3 0x1021 0x020700\n"}
    return BY_ID["ib.ports-active"].judge(answer(parts), _ports.Expected(ports=8, rate_gbit_s=rate))


def test_a_real_h100_node_has_eight_compute_ports_beside_its_bond(captures: Path) -> None:
    judgement = ports(captures, "8xh100-class-infiniband__leptonai-gpud", 400)
    assert judgement.verdict is Verdict.PASS, judgement.reason


def test_ports_at_half_the_rate_fail(captures: Path) -> None:
    good = ports(captures, "8xa100-learn_good__facebookresearch-gcm", 200)
    bad = ports(captures, "8xa100-learn_ib_intf_bad_rate__facebookresearch-gcm", 200)
    assert good.verdict is Verdict.PASS, good.reason
    assert bad.verdict is Verdict.FAIL
    assert "200 Gbit/s on mlx5_" in bad.reason


SETTINGS = {
    "8xh100": gpu_settings.Expected(gpu_count=8, power_limit_w=700, sm_clock_mhz=1980, memory_mib=81559),
    "8xb200": gpu_settings.Expected(gpu_count=8, power_limit_w=1000, sm_clock_mhz=1965, memory_mib=183359),
    "4xgb200": gpu_settings.Expected(gpu_count=4, power_limit_w=1200, sm_clock_mhz=2062, memory_mib=189471),
    "4xgb300": gpu_settings.Expected(gpu_count=4, power_limit_w=1400, sm_clock_mhz=2070, memory_mib=284208),
}
SETTING_CHECKS = [check for check in CHECKS if isinstance(check, gpu_settings.SettingsCheck)]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("check", SETTING_CHECKS, ids=lambda check: check.id)
def test_healthy_captures_pass_every_check_of_settings(
    captures: Path, name: str, check: gpu_settings.SettingsCheck
) -> None:
    judgement = check.judge(answer({"gpus": xml(captures, name)}), SETTINGS[name])
    assert judgement.verdict is Verdict.PASS, judgement.reason


def test_replay_counters_of_106_to_150_are_healthy_and_growth_is_not(captures: Path) -> None:
    text = xml(captures, "8xh100")
    board = _bus_check.Expected(gpu_count=8)
    check, same = BY_ID["bus.replay-rate"], {"before": text, "after": text, "boot": boot()}
    assert check.judge(answer(same), board).verdict is Verdict.PASS
    grown = re.sub(r"<replay_counter>\d+<", "<replay_counter>900<", text, count=1)
    assert check.judge(answer({**same, "after": grown}), board).verdict is Verdict.FAIL


def test_a_real_run_of_nccl_on_eight_a100_has_its_bandwidth_and_did_not_compare_its_results(captures: Path) -> None:
    text = (captures / "nccl-tests/8xa100-allreduce__microsoft-superbenchmark.txt").read_text()
    limit = load_benchmarks().nccl_limit("a100-sxm-8", nodes=1, gpus=8)
    assert limit is not None
    expected = _one_node.Expected(
        nodes=("n1",), gpus=8, payload_bytes=limit.payload_bytes, minimum_gb_s=228, needs_nvls=False
    )
    output = answer({f"run{number}": text for number in (1, 2, 3)})
    bandwidth = BY_ID["nccl.one-node-bandwidth"].judge(output, expected)
    assert bandwidth.verdict is Verdict.PASS, bandwidth.reason
    assert BY_ID["nccl.results-correct"].judge(output, expected).verdict is Verdict.UNKNOWN
    ring = dataclasses.replace(expected, minimum_gb_s=300)
    assert BY_ID["nccl.one-node-bandwidth"].judge(output, ring).verdict is Verdict.FAIL


def test_a_real_loopback_of_an_hdr_adapter_passes_its_rate_and_fails_that_of_ndr(captures: Path) -> None:
    text = (captures / "perftest/ib_loopback_8M__microsoft-superbenchmark.txt").read_text()
    output = answer({_pairs.section(0, run): text for run in (1, 2, 3)})
    for rate, verdict in ((200, Verdict.PASS), (400, Verdict.FAIL)):
        expected = _pairs.Expected(
            subject="n1+n2",
            nodes=("n1", "n2"),
            server_address="10.0.0.1",
            rails=("0000:18:00.0",),
            link_gbit_s=rate,
            limit=load_benchmarks().rdma_limit(rate),
        )
        judgement = BY_ID["ib.pair-bandwidth"].judge(output, expected)
        assert judgement.verdict is verdict, judgement.reason


def test_one_gpu_in_a_virtual_machine_has_no_fabric_and_never_passes(captures: Path) -> None:
    text = (captures / "nvidia-smi-qx/h100_1x_vm_580.159.xml").read_text()
    alone = fabric_ready.Expected(**{**vars(H100_FABRIC), "gpu_count": 1})
    assert fabric(text, alone).verdict is Verdict.NOT_APPLICABLE
    assert fabric(text, H100_FABRIC).verdict is Verdict.FAIL
