"""Running the suite: nodes that do not answer, a run that is stopped, evidence that is whole all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest
import warm_processes
from check_sites import TODAY

from sovctl.compliance.evidence.runs import list_runs, load_run
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.result import Result
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.runner import transport
from sovctl.engine.checks.runner.circumstances import Circumstances
from sovctl.engine.checks.runner.evidence import keep
from sovctl.engine.checks.runner.run import SUITE, run
from sovctl.engine.checks.runner.worker import Worker, stop
from sovctl.engine.site.site import Site
from sovctl.support.errors import InputError

SOVCTL = [sys.executable, "-c", "from sovctl.cli.main import main; main()"]


def verify(site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl("verify", site, *options, cwd=Path.cwd(), env=os.environ)


def test_an_unreachable_node_is_unknown_for_every_check_and_never_a_crash(quiet_site: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=True)
    seen: list[str] = []
    found = run(site, today=TODAY, report=lambda done, total, target, _: seen.append(f"{done}/{total} {target.id}"))
    nodes = {"a1", "a2"}
    assert {target.node for target in found.targets} == nodes | {"site"}
    for target, result in zip(found.targets, found.results, strict=True):
        assert target.id == result.target_id
        if target.node in nodes:
            assert result.verdict is Verdict.UNKNOWN
            assert "ssh to the node failed" in result.reason
            assert "Connection refused" in result.reason
            assert result.exit_code is None
    assert len(seen) == len(found.targets)
    assert not found.interrupted


def test_evidence_of_a_run_is_complete_and_under_the_signed_root(quiet_site: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=True)
    found = run(site, today=TODAY, nodes=["a1", "site"])
    stored = keep(site, found, Circumstances.of(site))
    (run_id,) = list_runs(site.state.evidence)
    loaded = load_run(site.state.evidence, run_id, LedgerReader(site.state.ledger))
    assert [each.evidence for each in loaded.records] == [each.evidence for each in stored]
    assert verify_ledger(site.state.ledger).is_whole
    for each in stored:
        evidence = each.evidence
        assert evidence.target in evidence.population.sampled
        assert evidence.spec_sha256 == site.loaded.spec_sha256
        assert (evidence.plan_sha256, evidence.apply_run) == ("none", "none")
        assert evidence.command
        assert not evidence.simulated
    targets = {each.evidence.target for each in stored}
    assert targets == {"a1", "site"}
    # What was not looked at is declared all the same, so that it cannot be forgotten.
    clock = next(each.evidence for each in stored if each.evidence.check_id == "clock.synchronized")
    assert clock.population.declared == ("a1", "a2")
    assert (clock.population.sampled, clock.population.sample_rule) == (("a1",), "targets on a1, site")
    assert (clock.population.discovered, clock.population.not_discovered) == ((), ("a1",))


@pytest.mark.parametrize(
    ("nodes", "checks", "word"), [(["a9"], [], "a9"), ([], ["nonsense.*"], "nonsense"), (["a1"], ["gpu.*"], "gpu")]
)
def test_a_name_or_pattern_that_fits_nothing_is_an_error(
    quiet_site: Path, nodes: list[str], checks: list[str], word: str
) -> None:
    site = Site.open(quiet_site, touches_nodes=True)
    with pytest.raises(InputError, match=rf"expected .*got .*{word}"):
        run(site, today=TODAY, nodes=nodes, checks=checks)


def test_unreachable_nodes_are_not_compared(quiet_site: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=True)
    found = run(site, today=TODAY, checks=["uniform.bios"])
    verdicts = {target.id: result for target, result in zip(found.targets, found.results, strict=True)}
    compared = next(result for target_id, result in verdicts.items() if target_id.endswith("uniform.bios"))
    assert compared.verdict is Verdict.UNKNOWN
    assert "ssh to the node failed" in compared.reason
    assert {target.check.id for target in found.targets} == {"node.inventory", "uniform.bios"}


def test_a_suite_that_dies_leaves_its_cases_unknown(quiet_site: Path) -> None:
    """The processes read the files that site.yaml names: here the key is gone by then."""
    site = Site.open(quiet_site, touches_nodes=True)
    (quiet_site.parent / "access" / "key").unlink()
    found = run(site, today=TODAY, nodes=["a1"])
    assert {result.verdict for result in found.results} == {Verdict.UNKNOWN}
    assert all("the suite ended with" in result.reason for result in found.results)


def test_the_opened_description_is_checked_also_after_site_yaml_changed(quiet_site: Path) -> None:
    """`apply --rollback` applies an earlier description; its checks must not expect the later one."""
    site = Site.open(quiet_site, touches_nodes=True)
    quiet_site.write_text("no site at all\n")
    found = run(site, today=TODAY, nodes=["site"], checks=["site.keys-private"])
    assert [result.verdict for result in found.results] == [Verdict.PASS]


def test_a_node_may_not_be_called_as_evidence_calls_the_controller(quiet_site: Path) -> None:
    quiet_site.write_text(quiet_site.read_text().replace("name: a1", "name: site"))
    with pytest.raises(InputError, match="other names than 'site'"):
        run(Site.open(quiet_site, touches_nodes=True), today=TODAY)


def test_verify_says_no_with_exit_code_1_and_one_json_document(quiet_site: Path) -> None:
    done = verify(quiet_site, "--json", "--check", "clock.sync*")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["counts"] == {"UNKNOWN": 2}
    assert [each["target"] for each in document["results"]] == ["a1", "a2"]
    assert all(each["verdict"] == "UNKNOWN" and each["leaf_index"] >= 0 for each in document["results"])


def test_verify_shows_a_table_with_verdict_and_reason(quiet_site: Path) -> None:
    done = verify(quiet_site, "--node", "a2", "--check", "perimeter.default-drop")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].split() == ["VERDICT", "TARGET", "CHECK", "REASON"]
    assert "UNKNOWN  a2      perimeter.default-drop" in done.stdout
    assert "1 UNKNOWN" in done.stdout
    assert "stored as evidence run" in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_passes_with_0_when_nothing_blocks(quiet_site: Path) -> None:
    done = verify(quiet_site, "--node", "site", "--check", "site.keys-private")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout


def test_verify_refuses_bad_options_without_touching_anything(quiet_site: Path) -> None:
    done = verify(quiet_site, "--node", "nobody")
    assert done.returncode == 3
    assert "expected one of the nodes a1, a2, site, got 'nobody'" in done.stderr
    assert not (quiet_site.parent / ".sovctl" / "evidence").exists()


@pytest.fixture
def slow_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands before ssh on PATH: says that it began, and then takes for ever."""
    folder, mark = tmp_path / "bin", tmp_path / "began"
    folder.mkdir()
    (folder / "ssh").write_text(f"#!/bin/sh\necho $$ >> {mark}\nexec sleep 600\n")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return mark


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A sovctl that runs beside the test, and is gone after it."""
    process = subprocess.Popen([*SOVCTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_for(path: Path, *, seconds: float = 30) -> list[int]:
    """Process ids in `path`, as soon as there is one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and path.read_text().endswith("\n"):
            return [int(line) for line in path.read_text().split()]
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def gone(pid: int, *, seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_keeps_what_was_seen_and_calls_the_rest_unmeasured(quiet_site: Path, slow_ssh: Path) -> None:
    with started("verify", str(quiet_site), "--jobs", "3") as process:
        children = wait_for(slow_ssh)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "not measured: interrupted" in out
    assert "stored as evidence run" in err
    site = Site.open(quiet_site, touches_nodes=False)
    (run_id,) = list_runs(site.state.evidence)
    records = load_run(site.state.evidence, run_id, LedgerReader(site.state.ledger)).records
    assert {each.evidence.target for each in records} == {"a1", "a2", "site", "site/services"}
    assert all(gone(child) for child in children)


def test_a_verify_killed_outright_leaves_no_process_and_no_half_evidence(quiet_site: Path, slow_ssh: Path) -> None:
    with started("verify", str(quiet_site), "--node", "a1") as process:
        (child,) = wait_for(slow_ssh)[:1]
        process.kill()
        process.communicate(timeout=30)
    os.kill(child, signal.SIGKILL)  # what the node would do in the end; the suite then finds itself alone
    site = Site.open(quiet_site, touches_nodes=False)
    assert list_runs(site.state.evidence) == []
    again = verify(quiet_site, "--node", "site", "--check", "site.keys-private")
    assert again.returncode == 0, again.stderr


def test_a_command_that_a_worker_left_behind_is_ended_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "began"
    worker = Worker(["sh", "-c", f"sh -c 'echo $$ >> {mark}; exec sleep 600' &"])
    worker.begin([])
    (child,) = wait_for(mark)
    assert not gone(child, seconds=0.2)
    stop([worker])
    worker.read(SimpleQueue())
    assert gone(child)


def test_a_worker_without_options_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = "from sovctl.engine.checks.runner.worker import Worker; print(Worker()._process.pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert gone(int(done.stdout))


def test_a_worker_that_is_not_used_ends_with_its_block() -> None:
    with Worker() as worker:
        pass
    assert worker.has_ended(time.monotonic())


def test_a_second_verify_is_refused_while_one_runs(quiet_site: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=False)
    with site.state.exclusive("apply"):
        done = verify(quiet_site)
    assert done.returncode == 6
    assert "apply" in done.stderr


def test_the_suite_runs_by_hand_with_pytest(quiet_site: Path) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-c",
        str(SUITE / "pytest.ini"),
        "-p",
        "sovctl.engine.checks.runner.pytest_plugin",
    ]
    done = subprocess.run(
        [*command, "--sovctl-site", str(quiet_site), "-k", "synchronized and a1", str(SUITE)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=quiet_site.parent,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout


def test_a_result_survives_its_line() -> None:
    result = Result(
        "n1-x", "true", 0, b"\x00\xff", "2026-11-21T00:00:00Z", "2026-11-21T00:00:01Z", Verdict.WARN, "é", None
    )
    assert Result.from_line(result.to_line()) == result
    assert "\n" not in result.to_line()[:-1]


def test_a_command_without_an_end_is_ended() -> None:
    started = time.monotonic()
    code, _, err = transport.run_bounded(["sh", "-c", "echo begun; sleep 600"], timeout_s=0.5, stdin=b"")
    assert code is None
    assert b"timeout after" in err
    assert time.monotonic() - started < 10


def test_a_flood_is_cut_and_is_no_answer() -> None:
    code, out, err = transport.run_bounded(["sh", "-c", "yes"], timeout_s=60, stdin=b"")
    assert (code, out) == (None, b"")
    assert b"more than" in err


def test_standard_input_reaches_the_command_and_an_early_end_is_no_error() -> None:
    assert transport.run_bounded(["cat"], timeout_s=10, stdin=b"secret\n") == (0, b"secret\n", b"")
    assert transport.run_bounded(["true"], timeout_s=10, stdin=b"x" * 1_000_000)[0] == 0


def test_a_host_key_is_never_taken_on_trust(quiet_site: Path, tmp_path: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=True)
    text = transport.ssh_config(site.spec, site.folder, tmp_path)
    assert "StrictHostKeyChecking yes" in text
    assert "GlobalKnownHostsFile /dev/null" in text
    assert "UpdateHostKeys no" in text
    (tmp_path / "ssh_config").write_text(text)
    shown = subprocess.run(
        ["ssh", "-G", "-F", tmp_path / "ssh_config", "a1"], capture_output=True, text=True, check=True
    ).stdout
    for line in ("hostname 127.0.0.2", "user ops", "batchmode yes", "forwardagent no", "identitiesonly yes"):
        assert line in shown.lower()


def test_cases_have_targets_that_tell_them_apart(quiet_site: Path) -> None:
    site = Site.open(quiet_site, touches_nodes=True)
    found = run(site, today=TODAY, nodes=["site"])
    assert all(isinstance(target, CheckTarget) and target.is_controller for target in found.targets)
    assert {target.name for target in found.targets} == {"site"}
    assert len({target.id for target in found.targets}) == len(found.targets) >= 2
