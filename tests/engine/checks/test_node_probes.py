"""The probes of nodes: side by side, one attempt for an unreachable node, and no process after a stop."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from check_samples import SAMPLES

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.probe import Probe
from sovctl.engine.checks.model.probe_sections import parse_sections
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner import transport
from sovctl.engine.checks.runner.active.measurement import Measurement
from sovctl.engine.checks.runner.active.node_process import Machines
from sovctl.engine.checks.runner.node_probes import ControllerProbes, NodeProbes
from sovctl.engine.checks.runner.observer import Observer
from sovctl.engine.checks.runner.together import Request

GREETS = 'case "$4" in *simulated*) echo real; exit 0;; esac'

FakeSsh = Callable[[str], Path]


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSsh:
    """A program `ssh` with another body: `$3` is the node, `$4` the command; sudo runs it as the same user."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sudo").write_text('#!/bin/sh\nshift 3\nexec "$@"\n')  # -n /usr/bin/env PATH=...
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(body: str) -> Path:
        (folder / "ssh").write_text(f"#!/bin/sh\necho x >> {tmp_path}/starts\n{body}\n")
        for each in folder.iterdir():
            each.chmod(0o755)
        return tmp_path / "starts"

    return write


def probes_of(*requests: Request, running: transport.Running | None = None) -> NodeProbes:
    return NodeProbes(transport.node_host("n1", Path("/dev/null")), running or transport.Running(), requests)


def text_of(probes: NodeProbes, request: Request, name: str) -> str:
    return parse_sections(probes.wait(request).output).text(name).strip()


def test_shared_probes_and_those_with_a_secret_share_two_connections(ssh: FakeSsh) -> None:
    starts = ssh(f'{GREETS}\nexec sh -c "$4"')
    shared = [Request(Probe.of(a="echo 1")), Request(Probe.of(b="echo 2"))]
    long = Request(Probe({"c": "echo 3"}, timeout_s=1800))
    secret = Request(Probe({"d": "cat"}, timeout_s=190), "s3cret\n")
    probes = probes_of(*shared, long, secret)
    probes.run()
    assert [text_of(probes, each, name) for each, name in zip(shared, "ab", strict=True)] == ["1", "2"]
    assert (text_of(probes, long, "c"), text_of(probes, secret, "d")) == ("3", "s3cret")
    assert (probes.lost, probes.simulated) == ("", False)
    assert starts.read_text().count("x") == 3  # greeting, shared, one by one


def test_an_exclusive_probe_runs_after_the_others_which_run_side_by_side(ssh: FakeSsh, tmp_path: Path) -> None:
    ssh(f'{GREETS}\nexec sh -c "$4"')

    def meets(name: str, other: str) -> str:
        """Return a command that ends only if the other one runs at the same time."""
        wait = f"while [ ! -e {tmp_path}/{other} ]; do sleep 0.05; done"
        return f"touch {tmp_path}/{name}; {wait}; echo {name} >> {tmp_path}/log"

    shared = Request(Probe.of(a=meets("a", "b")))
    long = Request(Probe({"b": meets("b", "a")}, timeout_s=1800))
    alone = Request(Probe({"c": f"echo c >> {tmp_path}/log"}, is_exclusive=True))
    probes = probes_of(alone, shared, long)
    probes.run()
    log = (tmp_path / "log").read_text().split()
    assert (sorted(log[:2]), log[2:]) == (["a", "b"], ["c"])
    assert probes.wait(alone).output.exit_code == 0


def test_an_unreachable_node_gets_one_attempt_and_loses_all_probes(ssh: FakeSsh) -> None:
    starts = ssh("echo 'ssh: connect to host n1 port 22: Connection refused' >&2; exit 255")
    requests = [Request(Probe.of(a="echo 1")), Request(Probe({"b": "echo 2"}, timeout_s=1800))]
    probes = probes_of(*requests)
    probes.run()
    assert "Connection refused" in probes.lost
    assert all(probes.wait(each).output.exit_code is None for each in requests)
    assert starts.read_text().count("x") == 1


def test_another_greeting_is_not_a_node(ssh: FakeSsh) -> None:
    ssh("echo 'Welcome to the wrong machine'")
    probes = probes_of(Request(Probe.of(a="echo 1")))
    probes.run()
    assert "unexpected output of the first command" in probes.lost
    assert probes.simulated is None


def test_a_connection_that_is_lost_later_loses_the_node(ssh: FakeSsh) -> None:
    ssh(f"{GREETS}\necho 'client_loop: send disconnect: Broken pipe' >&2; exit 255")
    request = Request(Probe.of(a="echo 1"))
    probes = probes_of(request)
    probes.run()
    assert "Broken pipe" in probes.lost
    assert probes.wait(request).output.exit_code is None


def test_output_that_was_cut_is_not_an_output(ssh: FakeSsh) -> None:
    ssh(f'{GREETS}\nsh -c "$4" | head -c 120')
    one, two = Request(Probe.of(a="echo 1")), Request(Probe.of(b="printf '%0200d' 0"))
    probes = probes_of(one, two)
    probes.run()
    codes = [probes.wait(each).output.exit_code for each in (one, two)]
    assert codes[1] is None
    assert set(codes) <= {0, None}


def test_a_stop_ends_running_commands_and_starts_no_more(ssh: FakeSsh, tmp_path: Path) -> None:
    ssh(f"{GREETS}\necho $$ >> {tmp_path}/hangs; exec sleep 600")
    running = transport.Running()
    requests = [Request(Probe.of(a="echo 1")), Request(Probe({"b": "echo 2"}, timeout_s=1800))]
    probes = probes_of(*requests, running=running)
    thread = threading.Thread(target=probes.run)
    thread.start()
    until = time.monotonic() + 60
    hanging = tmp_path / "hangs"
    while time.monotonic() < until and not (hanging.exists() and hanging.read_text().count("\n") == 2):
        time.sleep(0.05)
    running.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert not [pid for pid in hanging.read_text().split() if Path(f"/proc/{pid}").exists()]
    assert all(probes.wait(each).output.exit_code != 0 for each in requests)
    with pytest.raises(OSError, match="stopped"):
        transport.run_bounded(["true"], timeout_s=5, stdin=b"", running=running)


def test_probes_of_the_controller_run_one_by_one_as_this_user(tmp_path: Path) -> None:
    requests = [Request(Probe.of(a=f"echo 1 >> {tmp_path}/log; id -u")), Request(Probe.of(b=f"cat {tmp_path}/log"))]
    probes = ControllerProbes(transport.controller_host(), transport.Running(), requests)
    probes.run()
    assert parse_sections(probes.wait(requests[0]).output).text("a").strip() == str(os.getuid())
    assert parse_sections(probes.wait(requests[1]).output).text("b").strip() == "1"


def test_an_internal_error_loses_one_node_and_no_other(ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh(f'{GREETS}\nexec sh -c "$4"')
    targets = [
        CheckTarget(BY_ID["clock.synchronized"], node, SAMPLES["clock.synchronized"].expectation) for node in "ab"
    ]
    whole = NodeProbes._greet

    def greet(self: NodeProbes) -> None:
        if self is observer._machines["a"]:
            raise RuntimeError("a defect")
        whole(self)

    monkeypatch.setattr(NodeProbes, "_greet", greet)
    observer = Observer(targets, Path("/dev/null"), lambda _: "", Measurement(Machines(Path("/dev/null"), "x"), {}))
    one, two = (observer.measure(target) for target in targets)
    observer.close()
    assert (one.verdict, "internal error: RuntimeError" in one.reason) == (Verdict.UNKNOWN, True)
    assert "internal error" not in two.reason
    assert two.simulated is False
