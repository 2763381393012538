"""Stand-ins of nccl-tests and perftest: the real formats, and faults that exactly the checks of the table find."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from lab_specimens import GPU_NODE, VERSION, Disk

from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.checks.definitions.ib import _pairs
from sovctl.engine.checks.definitions.nccl import _one_node
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import TIMED_OUT, CommandOutput, joined
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.facts.benchmarks.nccl_log import parse_nccl_log
from sovctl.engine.facts.benchmarks.nccl_tests import parse_nccl_test
from sovctl.engine.facts.benchmarks.perftest import parse_perftest
from sovctl.engine.lab.hardware import faults
from sovctl.engine.lab.hardware import inventory as hardware
from sovctl.engine.lab.hardware.fault_table import FAULTS
from sovctl.engine.lab.hardware.fault_tables.check_groups import NCCL_CHECKS, PAIR_CHECKS
from sovctl.engine.lab.hardware.fault_tables.fault import Fault
from sovctl.engine.lab.layout import NODES
from sovctl.engine.lab.standins import driver, nccl_tests, perftest
from sovctl.support.package_files import package_folder

HEALTHY = hardware.facts("sovtest", GPU_NODE)
ROOT = package_folder("engine").resolve().parent
_LIMIT = load_benchmarks().nccl_limit("h100-sxm-8", nodes=1, gpus=8)
assert _LIMIT is not None
NODE = _one_node.Expected(
    nodes=("n1",), gpus=8, payload_bytes=_LIMIT.payload_bytes, minimum_gb_s=460, without_nvls_gb_s=367, needs_nvls=True
)
PAIR = _pairs.Expected(
    subject="n1+n2",
    nodes=("n1", "n2"),
    server_address="127.0.0.1",
    rails=tuple(nic["pci_bus_id"] for nic in HEALTHY["nics"]),
    link_gbit_s=400,
    limit=load_benchmarks().rdma_limit(400),
)
ARGUMENTS = ["-b", str(1 << 30), "-e", str(NODE.payload_bytes), "-f", "2", "-g", "8", "-c", "1"]


def reduced(disk: Disk) -> CommandOutput:
    """One run on a node, as the command of the checks prints it."""
    if disk.board.facts["nccl"]["hangs"]:
        return CommandOutput(TIMED_OUT, "", "")
    code, out, err = nccl_tests.answer(disk.board, ARGUMENTS)
    return CommandOutput(code, out + nccl_tests.log(disk.board), err)


def written(disk: Disk, rail: int, *, is_latency: bool) -> CommandOutput:
    """One run of a pair whose server is healthy, as the client prints it."""
    nic = disk.board.nics[rail]
    if nic["perftest_hangs"]:
        return CommandOutput(TIMED_OUT, "", "")
    if nic["state"] != "4: ACTIVE":
        return CommandOutput(1, "", "Port number 1 state is Down")
    mine, theirs = perftest.abilities(nic), perftest.abilities(HEALTHY["nics"][rail])
    found = {
        "gbit_s": min(mine["gbit_s"], theirs["gbit_s"]),
        "latency_us": max(mine["latency_us"], theirs["latency_us"]),
    }
    size = 2 if is_latency else 1 << 20
    return CommandOutput(0, perftest.report(nic["name"], found, size=size, is_latency=is_latency), "")


def under_load(disk: Disk) -> dict[str, str]:
    """Verdicts of the active checks on what the stand-ins print."""
    nccl = joined({f"run{number}": reduced(disk) for number in (1, 2, 3)})
    found = {name: judge(BY_ID[name], nccl, NODE).verdict.value for name in NCCL_CHECKS}
    for name, is_latency, runs in (("ib.pair-bandwidth", False, 3), ("ib.pair-latency", True, 1)):
        outputs = {
            _pairs.section(rail, run): written(disk, rail, is_latency=is_latency)
            for rail in range(8)
            for run in range(1, runs + 1)
        }
        found[name] = judge(BY_ID[name], joined(outputs), PAIR).verdict.value
    return found


def test_a_healthy_node_passes_under_load(disk: Disk) -> None:
    assert under_load(disk) == dict.fromkeys((*NCCL_CHECKS, *PAIR_CHECKS), "PASS")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
def test_exactly_the_checks_of_the_table_find_a_fault_under_load(disk: Disk, fault: Fault) -> None:
    disk.change(faults.with_fault(HEALTHY, fault, 3))
    disk.lay("usr/lib/sovctl-lab/module-version", VERSION)
    disk.load(driver.wanted_version(disk.board))
    found = under_load(disk)
    expected = {check: verdict for check, verdict in fault.expects.items() if check in found}
    assert {check: verdict for check, verdict in found.items() if verdict != "PASS"} == expected


def test_the_table_of_nccl_tests_is_marked_and_parses(disk: Disk) -> None:
    code, text, _ = nccl_tests.answer(disk.board, ARGUMENTS)
    test = parse_nccl_test(text)
    assert (code, len(test.rows), len(test.ranks)) == (0, 5, 8)
    assert test.row(16 << 30).bus_gb_s == 480.0
    assert "simulated" in text
    assert parse_nccl_log(nccl_tests.log(disk.board)).uses_nvls is True


def test_a_node_without_fabric_manager_does_not_initialize(disk: Disk) -> None:
    (disk.root / "run/nvidia-fabricmanager/nv-fabricmanager.pid").unlink()
    code, text, _ = nccl_tests.answer(disk.board, ARGUMENTS)
    assert (code, "system not yet initialized" in text) == (nccl_tests.CUDA_ERROR, True)


def test_the_program_writes_the_log_of_nccl_to_the_named_file(disk: Disk) -> None:
    file = disk.root / "nccl.log"
    done = program("nccl_tests", "main", ARGUMENTS, disk.root, NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(file))
    done.communicate(timeout=30)
    assert done.returncode == 0
    assert parse_nccl_log(file.read_text()).nvls_channels == (16,) * 8


@pytest.mark.parametrize(
    ("function", "options", "field"),
    [
        ("write_bw", ["-s", "1048576", "-D", "6", "--report_gbits"], "bandwidths"),
        ("write_lat", ["-s", "2"], "latencies"),
    ],
)
def test_server_and_client_meet_over_tcp_and_the_slower_one_decides(
    disk: Disk, tmp_path_factory: pytest.TempPathFactory, function: str, options: list[str], field: str
) -> None:
    other = Disk(tmp_path_factory.mktemp("other"))
    facts = hardware.facts("sovtest", NODES[1])
    slow = faults.with_fault(facts, faults.fault_named("rail-slow"), 2)
    other.change(faults.with_fault(slow, faults.fault_named("rail-late"), 2))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ["-F", *options, "-d", "mlx5_2", "-p", port]
    server = program("perftest", function, words, other.root)
    wait = f"until grep -q ':{int(port):04X} 00000000:0000 0A' /proc/net/tcp; do sleep 0.05; done"
    subprocess.run(["sh", "-c", wait], check=True, timeout=30)  # the server listens
    client = program("perftest", function, [*words, "127.0.0.1"], disk.root)
    outputs = [each.communicate(timeout=30)[0] for each in (server, client)]
    assert (server.returncode, client.returncode) == (0, 0)
    results = [getattr(parse_perftest(text), field)[0] for text in outputs]
    assert results[0] == results[1]
    assert getattr(results[0], "average_gbit_s" if field == "bandwidths" else "typical_us") in (196.0, 31.0)


def test_a_client_without_a_server_and_a_port_that_is_down_end_with_an_error(disk: Disk) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        words = ["-d", "mlx5_2", "-p", str(closed.getsockname()[1]), "127.0.0.1"]
        done = program("perftest", "write_bw", words, disk.root)
        assert "Couldn't connect" in done.communicate(timeout=30)[1]
    disk.change(faults.with_fault(HEALTHY, faults.fault_named("ib-link-down"), 2))
    done = program("perftest", "write_bw", words, disk.root)
    assert "state is Down" in done.communicate(timeout=30)[1]
    assert done.returncode == 1


def program(module: str, function: str, arguments: list[str], root: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a stand-in as its package does."""
    text = (
        f"import sys; from pathlib import Path; from sovctl.engine.lab.standins.{module} import {function}; "
        f"sys.exit({function}({json.dumps(arguments)}, Path({str(root)!r})))"
    )
    return subprocess.Popen(
        [sys.executable, "-B", "-c", text],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
