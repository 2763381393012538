"""The stand-in nvidia-smi and its companions: the real formats, one set of facts, and honest failures."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from lab_specimens import VERSION, Disk

from sovctl.engine.facts.benchmarks.nvbandwidth import parse_nvbandwidth
from sovctl.engine.facts.hardware.dcgm_diagnostic import parse_diagnostic
from sovctl.engine.lab.standins import (
    board,
    dcgm,
    dcgm_diagnostic,
    driver,
    fabricmanager,
    modprobe,
    nvbandwidth,
    nvidia_smi,
    persistenced,
    present,
    smi_query,
)
from sovctl.engine.resources.host import gpu_modes

NEWER = "580.173.02"


def ask(disk: Disk, *arguments: str) -> tuple[int, str]:
    code, lines = nvidia_smi.answer(disk.board, list(arguments))
    return code, "\n".join(lines)


def log(disk: Disk) -> ET.Element:
    code, text = ask(disk, "-q", "-x")
    assert code in (0, nvidia_smi.GPU_LOST)
    return ET.fromstring(text)


def shape(element: ET.Element) -> list[Any]:
    """Names of elements in order, all the way down."""
    return [element.tag, [shape(child) for child in element]]


@pytest.mark.shared
def test_the_report_has_the_elements_of_a_real_h100_in_the_same_order(disk: Disk, captures: Path) -> None:
    real = ET.parse(captures / "nvidia-smi-qx" / "8xh100__NVIDIA-k8s-test-infra.xml").getroot()
    ours = log(disk)
    assert shape(ours) == shape(real)
    values = [(one.tag, one.text, other.text) for one, other in zip(ours.iter(), real.iter(), strict=True)]
    for tag, one, other in values:
        assert _form(one) == _form(other) or tag in _DIFFERS, (tag, one, other)


# What differs for a reason: a capture from inside a virtual machine, and times that a healthy node need not have.
_DIFFERS = {"timestamp", "virtualization_mode", "latest_timestamp", "latest_duration", "fabric"}


def _form(text: str | None) -> str:
    """A value with its digits and hex digits blotted out: `29 C` and `30 C` have one form."""
    return re.sub(r"#+", "#", re.sub(r"[0-9a-fA-F]", "#", (text or "").strip().replace(".", "")))


@pytest.mark.shared
def test_nvlink_lines_look_like_the_real_ones(disk: Disk, captures: Path) -> None:
    real = (captures / "nvidia-smi-nvlink" / "good__Azure-azurehpc-health-checks.txt").read_text().splitlines()
    _, text = ask(disk, "nvlink", "-s", "-i", "7")

    def blot(line: str) -> str:
        return re.sub(r"[\d.]+|GPU-[0-9a-f-]+|A100-SXM4-80GB|H100 80GB HBM3", "#", line)

    assert {blot(line) for line in text.splitlines()} == {blot(line) for line in real}


@pytest.mark.shared
def test_the_topology_has_the_cells_of_a_real_one(disk: Disk, captures: Path) -> None:
    real = (captures / "nvidia-smi-topo" / "8xh100-mlx5cols__NVIDIA-NVSentinel.txt").read_text().splitlines()
    text = ask(disk, "topo", "-m")[1].splitlines()
    assert [line.split("\t")[:9] for line in text[:9]] == [line.split("\t")[:9] for line in real[:9]]
    legend = (captures / "nvidia-smi-topo" / "4xh100-niclegend__NVIDIA-NVSentinel.txt").read_text().splitlines()
    assert [line for line in legend if " = " in line] == [line for line in text if " = " in line]
    assert "  NIC7: mlx5_7" in text


@pytest.mark.shared
def test_a_lost_gpu_and_a_degraded_fabric_show_where_the_captures_show_them(
    disk: Disk, healthy: dict[str, Any], captures: Path
) -> None:
    real = ET.parse(captures / "nvidia-smi-qx" / "2xgb200-lost-mock__NVIDIA-k8s-test-infra.xml").getroot()
    healthy["gpus"][1]["is_lost"] = True
    disk.change(healthy)
    assert _leaves(log(disk).findall("gpu")[1], "GPU is lost") == _leaves(real.findall("gpu")[1], "GPU is lost")


def _leaves(gpu: ET.Element, text: str) -> list[str]:
    return [child.tag for child in gpu.iter() if child.text == text]


def test_everything_that_has_room_for_it_says_simulated(disk: Disk) -> None:
    for arguments in ((), ("-q", "-x")):
        assert "simulated by the sovctl lab" in ask(disk, *arguments)[1]


def test_the_installed_version_is_the_reported_version(disk: Disk) -> None:
    disk.load(NEWER, library=NEWER)
    disk.run_daemon(board.FABRIC_MANAGER_FILE, NEWER)
    assert log(disk).findtext("driver_version") == NEWER
    assert log(disk).findtext("gpu/fabric/state") == "Completed"
    assert ask(disk, "--query-gpu=driver_version", "--format=csv,noheader")[1].splitlines() == [NEWER] * 8
    assert f"Driver Version: {NEWER}" in ask(disk)[1]


def test_without_a_driver_it_fails_like_the_real_one(disk: Disk) -> None:
    disk.load(None)
    code, text = ask(disk, "-L")
    assert code == nvidia_smi.DRIVER_NOT_LOADED
    assert "couldn't communicate with the NVIDIA driver" in text


def test_a_library_that_is_newer_than_the_module_fails_like_the_real_one(disk: Disk) -> None:
    disk.load(VERSION, library=NEWER)
    code, text = ask(disk)
    assert code == nvidia_smi.LIBRARY_MISMATCH
    assert text == "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.173"


@pytest.mark.parametrize("version", [None, NEWER])
def test_the_fabric_is_ready_only_while_a_fabric_manager_of_the_drivers_version_runs(
    disk: Disk, version: str | None
) -> None:
    assert log(disk).findtext("gpu/fabric/state") == "Completed"
    if version:
        disk.run_daemon(board.FABRIC_MANAGER_FILE, version)
    else:
        (disk.root / "proc/77").rmdir()
    assert log(disk).findtext("gpu/fabric/state") == "In Progress"
    assert log(disk).findtext("gpu/fabric/status") == "N/A"
    assert "\tNS\t" in ask(disk, "topo", "-p2p", "n")[1]


def test_persistence_follows_its_daemon(disk: Disk) -> None:
    assert log(disk).findtext("gpu/persistence_mode") == "Enabled"
    (disk.root / board.PERSISTENCED_FILE).unlink()
    assert log(disk).findtext("gpu/persistence_mode") == "Disabled"


def test_the_plan_reads_persistence_and_mig_of_every_gpu(disk: Disk) -> None:
    code, text = ask(disk, *gpu_modes.COMMAND[1:])
    assert (code, len(text.splitlines())) == (0, 8)
    assert gpu_modes.modes(text) == {"persistence": "Enabled", "mig": "Disabled"}
    (disk.root / board.PERSISTENCED_FILE).unlink()
    assert gpu_modes.modes(ask(disk, *gpu_modes.COMMAND[1:])[1])["persistence"] == "Disabled"


@pytest.mark.parametrize(
    ("form", "first", "second"),
    [
        ("csv", "index, memory.total [MiB], power.limit [W]", "0, 81559 MiB, 700.00 W"),
        ("csv,nounits", "index, memory.total, power.limit", "0, 81559, 700.00"),
        ("csv,noheader", "0, 81559 MiB, 700.00 W", "1, 81559 MiB, 700.00 W"),
        ("csv,noheader,nounits", "0, 81559, 700.00", "1, 81559, 700.00"),
    ],
)
def test_queries_print_csv_as_asked(disk: Disk, form: str, first: str, second: str) -> None:
    text = ask(disk, "--query-gpu=index,memory.total,power.limit", f"--format={form}")[1].splitlines()
    assert text[:2] == [first, second]


def test_every_column_has_a_value_for_a_healthy_and_for_a_lost_gpu(disk: Disk, healthy: dict[str, Any]) -> None:
    for is_lost in (False, True):
        healthy["gpus"][0]["is_lost"] = is_lost
        disk.change(healthy)
        for column in smi_query.COLUMNS:
            code, text = ask(disk, f"--query-gpu={column}", "--format=csv,noheader")
            assert code == 0
            assert all(line.strip() for line in text.splitlines()), column


def test_errors_are_added_up_over_all_counters(disk: Disk, healthy: dict[str, Any]) -> None:
    healthy["gpus"][0]["ecc"]["volatile"].update(sram_uncorrectable_secded=2, dram_uncorrectable=5, dram_correctable=9)
    disk.change(healthy)
    text = ask(disk, "--query-gpu=ecc.errors.uncorrected.volatile.total", "--format=csv,noheader", "-i", "0")[1]
    assert text == "7"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--query-gpu=nonsense", "--format=csv"), 2, 'Field "nonsense" is not a valid field to query.'),
        (("--query-gpu=name", "--format=xml"), 2, '"--format=" can only be "csv".'),
        (("-i", "9"), 6, "Invalid device id: 9"),
        (("--gpu-reset",), 2, "simulated by the sovctl lab: only some commands"),
    ],
)
def test_what_it_cannot_do_is_an_error(disk: Disk, arguments: tuple[str, ...], code: int, said: str) -> None:
    assert ask(disk, *arguments)[0] == code
    assert said in ask(disk, *arguments)[1]


def test_a_gpu_can_be_named_in_every_way(disk: Disk, healthy: dict[str, Any]) -> None:
    gpu = healthy["gpus"][5]
    for name in ("5", gpu["uuid"], gpu["pci_bus_id"]):
        assert ask(disk, "--query-gpu=index", "--format=csv,noheader", "-i", name)[1] == "5"


def test_two_views_of_the_same_hardware_agree(disk: Disk) -> None:
    pci = present.pci_tree(disk.board)
    gpus = sorted(
        path.partition("/")[0] for path, text in pci.items() if path.endswith("/device") and text == "0x2330\n"
    )
    seen = sorted(gpu.attrib["id"].lower().removeprefix("0000") for gpu in log(disk).findall("gpu"))
    assert gpus == seen
    assert len(gpus) == 8


def test_the_configuration_space_names_the_device() -> None:
    space = present.configuration((0x10DE, 0x2330, 0x030200, 0x10DE, 0x16C1))
    assert (len(space), space[:4], space[9:12]) == (64, b"\xde\x10\x30\x23", b"\x00\x02\x03")


def test_a_service_node_has_no_gpus(disk: Disk) -> None:
    disk.change({"gpus": []})
    assert ask(disk, "-L")[0] == nvidia_smi.NO_SUCH_DEVICE
    assert present.pci_tree(disk.board) == {}
    assert driver.wanted_version(disk.board) is None


def test_loading_follows_the_installed_module(disk: Disk) -> None:
    (disk.root / driver.PROC_FOLDER).mkdir(parents=True)
    disk.lay(board.MODULE_VERSION_FILE, VERSION)
    assert driver.main(disk.root) == 0
    assert f"Open Kernel Module for x86_64  {VERSION}" in (disk.root / "proc/driver/nvidia/version").read_text()


def test_unloading_hides_the_driver(disk: Disk, healthy: dict[str, Any]) -> None:
    (disk.root / driver.PROC_FOLDER).mkdir(parents=True)
    disk.lay(board.MODULE_VERSION_FILE, VERSION)
    driver.main(disk.root)
    healthy["driver"]["loads"] = False
    disk.change(healthy)
    driver.main(disk.root)
    assert disk.board.loaded_version is None
    assert not (disk.root / "proc/driver/nvidia").exists()


def test_a_loaded_module_stays_until_the_reboot(disk: Disk) -> None:
    disk.lay(board.MODULE_VERSION_FILE, NEWER)
    assert driver.wanted_version(disk.board) == VERSION
    (disk.root / board.LOADED_VERSION_FILE).unlink()  # what a reboot does to /run
    assert driver.wanted_version(disk.board) == NEWER


def test_a_driver_in_use_is_not_unloaded_and_a_free_one_is_reloaded_in_the_installed_version(
    disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    (disk.root / driver.PROC_FOLDER).mkdir(parents=True)
    disk.lay(board.MODULE_VERSION_FILE, NEWER)
    assert modprobe.main(["--remove", "nvidia_uvm", "nvidia"], disk.root) == 1
    assert "Module nvidia is in use" in capsys.readouterr().err
    assert disk.board.loaded_version == VERSION
    (disk.root / "proc/77").rmdir()  # the daemons
    assert modprobe.main(["--remove", "nvidia_uvm", "nvidia"], disk.root) == 0
    assert disk.board.loaded_version is None
    assert modprobe.main(["--all", "nvidia", "nvidia_uvm"], disk.root) == 0
    assert disk.board.loaded_version == NEWER


@pytest.mark.parametrize("module", [fabricmanager, persistenced], ids=lambda module: module.__name__.split(".")[-1])
def test_a_daemon_of_another_version_than_the_loaded_module_does_not_start(disk: Disk, module: Any) -> None:
    assert module.main([], NEWER, disk.root) == 1


def _start(module: str, version: str, root: Path) -> subprocess.Popen[str]:
    code = (
        "import sys; from pathlib import Path; from sovctl.engine.lab.standins import fabricmanager, persistenced;"
        f"sys.exit({module}.main([], {version!r}, Path(sys.argv[1])))"
    )
    return subprocess.Popen([sys.executable, "-c", code, str(root)], stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("module", ["fabricmanager", "persistenced"])
def test_a_daemon_stays_until_it_is_ended_and_leaves_no_pid_file(disk: Disk, module: str) -> None:
    name = board.FABRIC_MANAGER_FILE if module == "fabricmanager" else board.PERSISTENCED_FILE
    pid_file = disk.root / name
    pid_file.unlink()
    with _start(module, VERSION, disk.root) as running:
        deadline = time.monotonic() + 20
        while not (pid_file.exists() and pid_file.read_text().startswith(f"{running.pid} {VERSION}")):
            assert time.monotonic() < deadline
            assert running.poll() is None
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait(10) == 0
    assert not pid_file.exists()


@pytest.mark.parametrize(
    ("loaded", "said"), [(NEWER, f"don't match with driver version {NEWER}"), (None, "Nothing to do")]
)
def test_fabric_manager_refuses_another_drivers_side(disk: Disk, loaded: str | None, said: str) -> None:
    disk.load(loaded)
    with _start("fabricmanager", VERSION, disk.root) as running:
        _, stderr = running.communicate(timeout=20)
    assert running.returncode == 1
    assert said in stderr


def test_dcgm_lists_the_gpus_while_its_engine_runs(disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    assert dcgm.dcgmi(["discovery", "-l"], "4.5.2", disk.root) == 1
    disk.run_daemon(board.HOST_ENGINE_FILE, "4.5.2")
    assert dcgm.dcgmi(["discovery", "-l"], "4.5.2", disk.root) == 0
    said = capsys.readouterr().out
    assert "unable to establish a connection" in said
    assert "8 GPUs found" in said
    assert said.count("Device UUID: GPU-") == 8


def test_dcgmi_runs_the_diagnostic_in_the_form_of_both_versions(
    disk: Disk, healthy: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    disk.run_daemon(board.HOST_ENGINE_FILE, "4.6.0")
    assert dcgm.dcgmi(["diag", "-r", "2", "-j"], "4.6.0", disk.root) == 0
    found = parse_diagnostic(capsys.readouterr().out)
    assert (found.major, found.version, found.gpus) == (4, "4.6.0", tuple(range(8)))
    assert {test.name for test in found.tests} == {"software", "memory", "pcie"}
    healthy["diagnostics"]["dcgm_major"] = 3
    healthy["gpus"][5]["failed_tests"] = ["memory"]
    disk.change(healthy)
    assert dcgm.dcgmi(["diag", "-r", "2", "-j"], "3.3.9", disk.root) == dcgm_diagnostic.FAILED
    older = parse_diagnostic(capsys.readouterr().out)
    memory = next(test for test in older.tests if test.name == "memory")
    assert (older.major, memory.results[5].status) == (3, "Fail")
    assert "faulty memory elements on GPU 5" in memory.results[5].errors[0].message


def test_dcgmi_compares_with_the_threshold_of_its_parameter(disk: Disk) -> None:
    words = ["-r", "memory_bandwidth", "-p", "memory_bandwidth.minimum_bandwidth={}", "-j"]
    codes = [
        dcgm_diagnostic.run(disk.board, [word.format(minimum) for word in words], "4.6.0")[0]
        for minimum in (2_000_000, 3_000_000)
    ]
    assert codes == [0, dcgm_diagnostic.FAILED]


def test_nvbandwidth_prints_equal_rates_as_text_and_json(disk: Disk, healthy: dict[str, Any]) -> None:
    healthy["gpus"][2]["host_gb_s"] = 12.5
    disk.change(healthy)
    words = ["-t", *nvbandwidth.HOST_TESTS, *nvbandwidth.PEER_TESTS]
    texts = [nvbandwidth.answer(disk.board, [*form, *words])[1] for form in ([], ["-j"])]
    text, document = map(parse_nvbandwidth, texts)
    assert text == document
    assert text.matrix("host_to_device_memcpy_ce")[0][2] == 12.5
    assert all("simulated" in each for each in texts)


def test_no_process_uses_a_simulated_gpu(disk: Disk) -> None:
    assert ask(disk, "--query-compute-apps=pid", "--format=csv,noheader") == (0, "")
