"""Active tests with real processes: idle nodes only, failures final, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from active_cases import Late, LocalMachines, idle_nodes, measurement, target

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.active_check import NodeCommand, repeated
from sovctl.engine.checks.model.result import Result
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.probes.commands import python_command
from sovctl.engine.checks.runner.active import measurement as measuring
from sovctl.engine.checks.runner.active import run as running
from sovctl.engine.checks.runner.active.jobs import PowerBudget, jobs_of
from sovctl.engine.checks.runner.active.node_process import Machines, NodeProcess

ONE_BY_ONE = PowerBudget(None, {})


def measure(machines: LocalMachines, one: CheckTarget, *, allowed: tuple[str, ...] = ()) -> Result:
    (job,) = jobs_of([one])
    (result,) = measurement(machines, *job.nodes, allowed=allowed).measure(job)
    return result


def count(folder: Path, text: str) -> str:
    """Shell text that counts its runs in `folder/runs` and then runs `text` with the count in $n."""
    return f"echo x >> {folder}/runs; n=$(wc -l < {folder}/runs); {text}"


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def test_rounds_run_in_order_and_the_result_has_all_sections(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    result = measure(machines, target(*repeated("n1", count(tmp_path, "echo $n >&2; echo good"), times=3)))
    assert result.verdict is Verdict.PASS
    assert runs(tmp_path) == 3
    assert b"begin run3" in result.raw


def test_a_measured_failure_is_final(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    result = measure(machines, target(NodeCommand("run", "n1", count(tmp_path, "echo bad"))))
    assert result.verdict is Verdict.FAIL
    assert runs(tmp_path) == 1


def test_a_failed_measurement_is_repeated_once_and_its_reason_kept(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    result = measure(machines, target(NodeCommand("run", "n1", count(tmp_path, "[ $n -gt 1 ] && echo good"))))
    assert result.verdict is Verdict.PASS
    assert "measured twice, first: probe: expected exit code 0 of run, got 1" in result.reason
    again = measure(machines, target(NodeCommand("run", "n1", count(tmp_path, "exit 3"))))
    assert again.verdict is Verdict.UNKNOWN
    assert runs(tmp_path) == 4


def test_an_absent_program_is_not_tried_again(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    result = measure(machines, target(NodeCommand("run", "n1", count(tmp_path, "definitely-no-such-program"))))
    assert result.verdict is Verdict.UNKNOWN
    assert "got 127" in result.reason
    assert runs(tmp_path) == 1


def test_a_command_ends_at_its_limit_and_is_unknown(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    result = measure(machines, target(NodeCommand("run", "n1", count(tmp_path, "echo good; sleep 60"), timeout_s=1)))
    assert result.verdict is Verdict.UNKNOWN
    assert "timeout" in result.reason
    assert runs(tmp_path) == 1


def test_after_a_round_that_hangs_no_other_starts(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    rounds = repeated("n1", count(tmp_path, '[ "$n" = 1 ] || sleep 60; echo good'), times=4, timeout_s=2)
    assert measure(machines, target(*rounds)).verdict is Verdict.UNKNOWN
    assert runs(tmp_path) == 2


def test_a_server_starts_before_its_client_and_ends_after_it(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1", "n2")
    result = measure(
        machines,
        target(
            NodeCommand(
                "server",
                "n1",
                f"echo good; sleep 0.3; touch {tmp_path}/up; sleep 600",
                ready=f"test -e {tmp_path}/up",
                ends_with_others=True,
            ),
            NodeCommand("client", "n2", f"test -e {tmp_path}/up && echo good"),
        ),
    )
    assert result.verdict is Verdict.PASS, result.reason


def test_a_server_that_never_accepts_is_unknown_and_its_client_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "READY_LIMIT_S", 1)
    machines = idle_nodes(tmp_path, "n1", "n2")
    server = NodeCommand("server", "n1", "sleep 600", ready="false", ends_with_others=True)
    result = measure(machines, target(server, NodeCommand("client", "n2", count(tmp_path, "echo good"))))
    assert result.verdict is Verdict.UNKNOWN
    assert "not ready" in result.reason
    assert not (tmp_path / "runs").exists()


def test_the_other_ranks_end_after_one_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "FAILED_ROUND_S", 0.5)
    machines = idle_nodes(tmp_path, "n1", "n2")
    begun = time.monotonic()
    result = measure(machines, target(NodeCommand("a", "n1", "exit 3"), NodeCommand("b", "n2", "exec sleep 600")))
    assert result.verdict is Verdict.UNKNOWN
    assert time.monotonic() - begun < 20


POOL = 'echo "sovctl-pool-chat.service loaded active running vLLM chat"'


@pytest.mark.parametrize(
    ("program", "text", "word"),
    [
        ("systemctl", POOL, "pool chat runs; stop it with `sovctl node drain n1"),
        ("systemctl", POOL.replace("active", "activating"), "pool chat runs"),
        ("systemctl", POOL.replace("chat", "gone"), "sovctl-pool-gone runs"),
        ("systemctl", "exit 1", "the services of n1 are unknown"),
        ("systemctl", "echo garbage", "the services of n1 are unknown"),
        ("nvidia-smi", "echo 1", "process 1 ("),
        ("nvidia-smi", "exit 9", "the services of n1 are unknown"),
        ("nvidia-smi", "echo '[Unknown Error]'", "the services of n1 are unknown"),
    ],
)
def test_a_node_that_serves_or_is_unknown_is_not_tested(tmp_path: Path, program: str, text: str, word: str) -> None:
    machines = idle_nodes(tmp_path, "n1")
    machines.program("n1", program, text)
    result = measure(machines, target(NodeCommand("run", "n1", count(tmp_path, "echo good"))))
    assert result.verdict is Verdict.UNKNOWN
    assert word in result.reason
    assert not (tmp_path / "runs").exists()


def test_consent_permits_a_test_next_to_the_named_pool_only(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    machines.program("n1", "systemctl", POOL)
    one = target(NodeCommand("run", "n1", "echo good"))
    assert measure(machines, one).reason.endswith("or consent with --allow-downtime chat")
    assert measure(machines, one, allowed=("chat",)).verdict is Verdict.PASS
    machines.program("n1", "nvidia-smi", "echo 1")
    assert measure(machines, one, allowed=("chat",)).verdict is Verdict.UNKNOWN


def test_a_stopped_pool_does_not_serve(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    machines.program("n1", "systemctl", POOL.replace("active running", "inactive dead"))
    assert measure(machines, target(NodeCommand("run", "n1", "echo good"))).verdict is Verdict.PASS


def is_alive(file: Path) -> bool:
    try:
        return Path(f"/proc/{file.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(file: Path) -> None:
    until = time.monotonic() + 20
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_run_that_is_stopped_leaves_no_process_even_one_in_another_session(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1")
    own, other = tmp_path / "own", tmp_path / "other"
    text = f"setsid sh -c 'echo $$ > {other}; exec sleep 600' & echo $$ > {own}; wait"
    tests = measurement(machines, "n1")
    (job,) = jobs_of([target(NodeCommand("run", "n1", text))])
    found: list[Result] = []
    thread = threading.Thread(target=lambda: found.extend(tests.measure(job)))
    thread.start()
    wait_for(own)
    wait_for(other)
    assert is_alive(other)
    tests.stop()
    thread.join(30)
    assert [each.verdict for each in found] == [Verdict.UNKNOWN]
    assert "interrupted" in found[0].reason
    assert not is_alive(own)
    assert not is_alive(other)


def test_a_killed_controller_leaves_no_process_on_the_node(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    test = f"echo $$ > {pid}; exec sleep 600"
    command = python_command("active_test", str(tmp_path / "lock"), "t", "600", "5", test)
    program = "import subprocess, sys, time; subprocess.Popen(['sh', '-c', sys.argv[1]], stdin=-1); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program, command], process_group=0) as controller:
        wait_for(pid)
        os.kill(controller.pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_test_of_another_run_does_not_start_on_the_node(tmp_path: Path) -> None:
    machines = idle_nodes(tmp_path, "n1", token="run-a")
    held = NodeProcess(machines.test(NodeCommand("run", "n1", f"touch {tmp_path}/up; exec sleep 600")))
    until = time.monotonic() + 20
    while not (tmp_path / "up").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    try:
        other = LocalMachines(tmp_path, "run-b")
        output = NodeProcess(other.test(NodeCommand("run", "n1", "echo good")))
        while output.exit_code is None:
            time.sleep(0.02)
        assert output.exit_code == 75
        assert "another run" in output.end().stderr
        own = NodeProcess(machines.test(NodeCommand("more", "n1", "echo good")))
        while own.exit_code is None:
            time.sleep(0.02)
        assert own.end().stdout == "good\n"
    finally:
        held.end()


def test_a_run_measures_all_targets_and_reports_the_running_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "TICK_S", 0.05)
    machines = idle_nodes(tmp_path, "n1", "n2")
    shared = NodeCommand("run", "n1", "sleep 0.2; echo good")
    targets = [
        target(shared, subject="a"),
        target(shared, subject="b"),
        target(NodeCommand("run", "n2", "echo bad")),
        target(NodeCommand("a", "n1", "echo good"), NodeCommand("b", "n2", "echo good"), check=Late()),
    ]
    found: dict[str, Verdict] = {}
    seen: list[str] = []
    running.run_active(
        targets,
        measurement(machines, "n1", "n2"),
        PowerBudget(20.0, {"n1": 10.0, "n2": 10.0}),
        take=lambda result: found.update({result.target_id: result.verdict}),
        progress=seen.append,
    )
    assert list(found.values()).count(Verdict.PASS) == 3
    assert found["n2-active.commands"] is Verdict.FAIL
    assert any("n1/a active.commands and 1 more, 0 s of at most 10 min" in text for text in seen)


def test_a_node_above_the_power_cap_is_unknown_with_the_key_of_site_yaml(tmp_path: Path) -> None:
    found: list[Result] = []
    one = target(NodeCommand("run", "n1", "echo good"))
    running.run_active(
        [one], measurement(idle_nodes(tmp_path, "n1"), "n1"), PowerBudget(5.0, {"n1": 10.0}), take=found.append
    )
    assert [each.verdict for each in found] == [Verdict.UNKNOWN]
    assert "verify.power_cap_kw" in found[0].reason


def test_commands_reach_a_node_as_root_over_a_connection_of_their_own(tmp_path: Path) -> None:
    words = Machines(tmp_path / "ssh_config", "t").test(NodeCommand("run", "n1", "true", timeout_s=60))
    assert words[:3] == ["ssh", "-F", str(tmp_path / "ssh_config")]
    assert "ControlPath=none" in words
    assert words[-1].startswith("sudo -n ")
    assert "timeout -k 5 150 " in words[-1]
