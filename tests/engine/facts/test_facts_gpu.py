"""nvidia-smi's XML becomes facts; what is missing stays missing."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from gpu_samples import document, eight, gpu
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.hardware.gpu import GpuReport
from sovctl.engine.facts.hardware.nvidia_smi import parse_nvidia_smi_xml
from sovctl.engine.facts.unreadable import Unreadable


def read(folder: Path, name: str) -> GpuReport:
    return parse_nvidia_smi_xml((folder / "nvidia-smi-qx" / name).read_text())


def test_reads_every_field_of_a_healthy_gpu() -> None:
    report = parse_nvidia_smi_xml(document(gpu(0)))
    (one,) = report.gpus
    assert (report.driver_version, report.cuda_version, report.attached) == ("580.126.20", "13.0", 1)
    assert (one.index, one.product, one.pci_device_id) == (0, "NVIDIA H100 80GB HBM3", "2330")
    assert (one.pci_bus_id, one.vbios, one.serial) == ("00000000:10:00.0", "96.00.00.00.01", "INVENTED-0")
    assert (one.persistence_mode, one.ecc_mode, one.mig_mode, one.recovery_action) == (
        "Enabled",
        "Enabled",
        "Disabled",
        "None",
    )
    assert (one.ecc.volatile_uncorrectable, one.ecc.aggregate_uncorrectable, one.ecc.sram_threshold_exceeded) == (
        0,
        0,
        False,
    )
    assert (one.remapped_rows.pending, one.remapped_rows.failure) == (False, False)
    assert (one.fabric.state, one.fabric.status, one.fabric.health.summary) == ("Completed", "Success", "N/A")
    assert (one.pcie.generation, one.pcie.width, one.pcie.replay_counter) == (5, 16, 120)
    assert (one.settings.power.current_w, one.memory_total_mib) == (700.0, 81559)
    assert (one.temperatures.gpu_c, one.temperatures.memory_c, one.temperatures.margin_c) == (29, 37, 58)
    assert not one.is_lost
    assert not one.needs_reset


def test_a_stand_in_is_recognised_by_its_comment() -> None:
    assert parse_nvidia_smi_xml(document(gpu(0))).is_simulated
    assert not parse_nvidia_smi_xml(document(gpu(0), comment="")).is_simulated


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "No devices were found",
        "<nvidia_smi_log>",
        "<other/>",
        "<nvidia_smi_log></nvidia_smi_log>",
        eight()[: len(eight()) // 2],
    ],
)
def test_refuses_what_is_not_a_whole_document(text: str) -> None:
    with pytest.raises(Unreadable, match=r"expected .*, got "):
        parse_nvidia_smi_xml(text)


def test_refuses_entities_that_would_grow_without_bound() -> None:
    bomb = (
        '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><nvidia_smi_log><driver_version>&x;</driver_version></nvidia_smi_log>'
    )
    with pytest.raises(Unreadable, match="entity"):
        parse_nvidia_smi_xml(bomb)


@pytest.mark.parametrize(
    ("element", "field"),
    [
        ("persistence_mode", lambda each: each.persistence_mode),
        ("current_ecc", lambda each: each.ecc_mode),
        ("remapped_row_failure", lambda each: each.remapped_rows.failure),
        ("remapped_row_pending", lambda each: each.remapped_rows.pending),
        ("state", lambda each: each.fabric.state),
        ("status", lambda each: each.fabric.status),
        ("summary", lambda each: each.fabric.health.summary),
        ("current_link_gen", lambda each: each.pcie.generation),
        ("current_power_limit", lambda each: each.settings.power.current_w),
        ("gpu_recovery_action", lambda each: each.recovery_action),
    ],
)
def test_a_missing_element_is_none(element: str, field) -> None:  # type: ignore[no-untyped-def]
    text = re.sub(rf"<{element}>[^<]*</{element}>", "", document(gpu(0)))
    assert field(parse_nvidia_smi_xml(document(gpu(0))).gpus[0]) is not None
    assert field(parse_nvidia_smi_xml(text).gpus[0]) is None


def test_an_error_counter_that_cannot_be_read_spoils_the_sum() -> None:
    report = parse_nvidia_smi_xml(document(gpu(0, volatile="GPU is lost", aggregate="8")))
    assert report.gpus[0].ecc.volatile_uncorrectable is None
    assert report.gpus[0].ecc.aggregate_uncorrectable == 8
    assert parse_nvidia_smi_xml(document(gpu(0, volatile="N/A"))).gpus[0].ecc.volatile_uncorrectable is None


def test_a_lost_gpu_and_one_that_needs_a_reset_are_told_apart() -> None:
    report = parse_nvidia_smi_xml(document(gpu(0, state="GPU is lost"), gpu(1, state="GPU requires reset")))
    assert [(each.is_lost, each.needs_reset) for each in report.gpus] == [(True, False), (False, True)]


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Unreadable):
        parse_nvidia_smi_xml(text)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "count", "device", "limit_w"),
    [
        ("8xh100__NVIDIA-k8s-test-infra.xml", 8, "2330", 700.0),
        ("8xb200__NVIDIA-k8s-test-infra.xml", 8, "2901", 1000.0),
        ("4xgb200__NVIDIA-k8s-test-infra.xml", 4, "2941", 1200.0),
        ("4xgb300__NVIDIA-k8s-test-infra.xml", 4, "31c2", 1400.0),
        ("1xa100__NVIDIA-k8s-test-infra.xml", 1, None, None),
    ],
)
def test_reads_captures_of_real_machines(captures: Path, name: str, count: int, device: str, limit_w: float) -> None:
    report = read(captures, name)
    assert len(report.gpus) == report.attached == count
    assert not report.is_simulated
    assert not any(each.is_lost or each.needs_reset for each in report.gpus)
    assert all(each.ecc.volatile_uncorrectable == 0 and each.remapped_rows.failure is False for each in report.gpus)
    if device:
        assert {each.pci_device_id for each in report.gpus} == {device}
        assert {each.settings.power.current_w for each in report.gpus} == {limit_w}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["8xh100__NVIDIA-k8s-test-infra.xml", "8xb200__NVIDIA-k8s-test-infra.xml"])
def test_healthy_hgx_nodes_have_clique_zero_and_no_cluster(captures: Path, name: str) -> None:
    for each in read(captures, name).gpus:
        assert (each.fabric.state, each.fabric.status, each.fabric.clique_id) == ("Completed", "Success", "0")
        assert set(each.fabric.cluster_uuid or "") == {"0", "-"}


@pytest.mark.shared
def test_a_degraded_fabric_says_completed_and_success(captures: Path) -> None:
    good, bad = read(captures, "2xgb200-fabric-degraded-mock__NVIDIA-k8s-test-infra.xml").gpus
    assert (bad.fabric.state, bad.fabric.status) == (good.fabric.state, good.fabric.status) == ("Completed", "Success")
    assert (good.fabric.health.summary, bad.fabric.health.summary) == ("Healthy", "Unhealthy")
    assert bad.fabric.health.route_unhealthy == "True"


@pytest.mark.shared
def test_a_lost_gpu_is_recognised_and_its_numbers_are_missing(captures: Path) -> None:
    healthy, lost = read(captures, "2xgb200-lost-mock__NVIDIA-k8s-test-infra.xml").gpus
    assert (healthy.is_lost, lost.is_lost) == (False, True)
    assert lost.remapped_rows.failure is None
    assert lost.ecc.volatile_uncorrectable is None
    assert lost.memory_total_mib is None
    assert lost.temperatures.gpu_c is None


@pytest.mark.shared
def test_injected_memory_errors_are_counted(captures: Path) -> None:
    bad, good = read(captures, "2xgb200-ecc-injected-mock__NVIDIA-k8s-test-infra.xml").gpus
    assert (bad.ecc.volatile_uncorrectable, bad.ecc.aggregate_uncorrectable) == (5, 8)
    assert bad.remapped_rows.failure is True
    assert good.remapped_rows.failure is False


@pytest.mark.shared
def test_a_healthy_h100_has_pcie_replays(captures: Path) -> None:
    counters = [each.pcie.replay_counter for each in read(captures, "8xh100__NVIDIA-k8s-test-infra.xml").gpus]
    assert all(counter is not None and counter > 0 for counter in counters)


@pytest.mark.shared
def test_the_healthy_b200_capture_has_persistence_off(captures: Path) -> None:
    report = read(captures, "8xb200__NVIDIA-k8s-test-infra.xml")
    assert {each.persistence_mode for each in report.gpus} == {"Disabled"}


@pytest.mark.shared
def test_the_plain_log_format_is_refused(captures: Path) -> None:
    with pytest.raises(Unreadable):
        read(captures, "nvsmi8__Azure-azurehpc-health-checks.txt")
