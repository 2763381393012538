"""The commands of several probes at the same time: each once, with its own limit, and nothing missing is an output."""

from __future__ import annotations

import subprocess

from sovctl.engine.checks.model.probe import TIMED_OUT, Probe, ProbeOutput, joined
from sovctl.engine.checks.model.probe_sections import parse_sections
from sovctl.engine.checks.model.result import utc_now
from sovctl.engine.checks.runner.together import Together


def measured(*probes: Probe) -> Together:
    """Run on this machine what otherwise runs on a node."""
    together = Together(probes)
    done = subprocess.run(
        ["sh", "-c", together.command], input=together.request, capture_output=True, timeout=60, check=False
    )
    together.take(ProbeOutput(done.returncode, done.stdout.decode(), done.stderr.decode()), utc_now())
    return together


def test_the_output_is_that_of_the_probe_alone() -> None:
    probe = Probe.of(one="echo first; echo noise >&2", two="printf cut-short", three="echo x; exit 7", four="true")
    alone = subprocess.run(["sh", "-c", probe.command], capture_output=True, text=True, check=True)
    found = joined(measured(probe).of(probe))
    assert (found.exit_code, found.stdout) == (0, alone.stdout)
    assert parse_sections(found) == parse_sections(ProbeOutput(0, alone.stdout, alone.stderr))


def test_an_equal_command_of_two_probes_runs_once(tmp_path: object) -> None:
    command = f"echo ran >> {tmp_path}/runs; cat {tmp_path}/runs"
    one, two = Probe.of(a=command), Probe.of(b=command, c="echo 1")
    together = measured(one, two)
    assert together.of(one)["a"].stdout == together.of(two)["b"].stdout == "ran\n"


def test_a_command_that_hangs_is_a_timeout_of_its_probe_only() -> None:
    hanging, good = Probe({"a": "sleep 30", "b": "echo 1"}, timeout_s=1), Probe.of(c="echo 2")
    together = measured(hanging, good)
    assert joined(together.of(hanging)).exit_code == TIMED_OUT
    assert parse_sections(joined(together.of(good))).text("c").strip() == "2"


def test_a_missing_or_cut_line_is_not_an_output() -> None:
    one, two = Probe.of(a="echo 1"), Probe.of(b="echo 2")
    together = Together([one, two])
    together.take(
        ProbeOutput(0, '{"number": 0, "exit_code": 0, "stdout": "1", "stderr": ""}\n{"number": 1, "ex', ""), ""
    )
    assert joined(together.of(one)).exit_code == 0
    assert joined(together.of(two)).exit_code is None
    lost = Together([one])
    lost.take(ProbeOutput(1, "", "sudo: a password is required"), "")
    assert joined(lost.of(one)).exit_code is None
    assert "password is required" in joined(lost.of(one)).stderr
