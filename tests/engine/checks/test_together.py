"""The commands of several probes at the same time: each once, with its own limit, and nothing missing is an output."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sovctl.engine.checks.model.probe import MARK, TIMED_OUT, CommandOutput, Probe, ProbeOutput, joined
from sovctl.engine.checks.model.probe_sections import parse_sections
from sovctl.engine.checks.model.result import utc_now
from sovctl.engine.checks.runner.together import Request, Together


def measured(*probes: Probe, at_once: int = 6, stdin: str = "") -> Together:
    """Run on this machine what otherwise runs on a node."""
    together = Together([Request(probe, stdin) for probe in probes], at_once=at_once)
    done = subprocess.run(
        ["sh", "-c", together.command], input=together.request, capture_output=True, timeout=60, check=False
    )
    together.take(ProbeOutput(done.returncode, done.stdout.decode(), done.stderr.decode()), utc_now())
    return together


def test_the_output_is_that_of_the_probe_alone() -> None:
    probe = Probe.of(one="echo first; echo noise >&2", two="printf cut-short", three="echo x; exit 7", four="true")
    alone = subprocess.run(["sh", "-c", probe.command], capture_output=True, text=True, check=True)
    found = joined(measured(probe).of(Request(probe)))
    assert (found.exit_code, found.stdout) == (0, alone.stdout)
    assert parse_sections(found) == parse_sections(ProbeOutput(0, alone.stdout, alone.stderr))


def test_an_equal_command_of_two_probes_runs_once(tmp_path: object) -> None:
    command = f"echo ran >> {tmp_path}/runs; cat {tmp_path}/runs"
    one, two = Probe.of(a=command), Probe.of(b=command, c="echo 1")
    together = measured(one, two)
    assert together.of(Request(one))["a"].stdout == together.of(Request(two))["b"].stdout == "ran\n"


def test_a_command_that_hangs_is_a_timeout_of_its_probe_only() -> None:
    hanging, good = Probe({"a": "sleep 30", "b": "echo 1"}, timeout_s=1), Probe.of(c="echo 2")
    together = measured(hanging, good)
    assert joined(together.of(Request(hanging))).exit_code == TIMED_OUT
    assert parse_sections(joined(together.of(Request(good)))).text("c").strip() == "2"


def test_a_missing_or_cut_line_is_not_an_output() -> None:
    one, two = Probe.of(a="echo 1"), Probe.of(b="echo 2")
    together = Together([Request(one), Request(two)])
    together.take(
        ProbeOutput(0, '{"number": 0, "exit_code": 0, "stdout": "1", "stderr": ""}\n{"number": 1, "ex', ""), ""
    )
    assert joined(together.of(Request(one))).exit_code == 0
    assert joined(together.of(Request(two))).exit_code is None
    lost = Together([Request(one)])
    lost.take(ProbeOutput(1, "", "sudo: a password is required"), "")
    assert joined(lost.of(Request(one))).exit_code is None
    assert "password is required" in joined(lost.of(Request(one))).stderr


def test_a_secret_reaches_its_command_on_standard_input_only() -> None:
    probe, other = Probe.of(a="cat; cat /proc/$$/cmdline | tr '\\0' ' '"), Probe.of(b="cat")
    together = Together([Request(probe, "s3cret\n"), Request(other)], at_once=1)
    assert "s3cret" not in together.command
    done = subprocess.run(["sh", "-c", together.command], input=together.request, capture_output=True, check=True)
    together.take(ProbeOutput(0, done.stdout.decode(), ""), utc_now())
    assert together.of(Request(probe, "s3cret\n"))["a"].stdout.startswith("s3cret\n")
    assert together.of(Request(probe, "s3cret\n"))["a"].stdout.count("s3cret") == 1
    assert together.of(Request(other))["b"].stdout == ""
    assert together.of(Request(probe, "another\n"))["a"].exit_code is None


def test_commands_one_by_one_keep_their_order(tmp_path: Path) -> None:
    commands = {name: f"echo {name} >> {tmp_path}/log; sleep 0.05; echo {name} >> {tmp_path}/log" for name in "cab"}
    together = measured(Probe(commands, timeout_s=20), Probe.of(last=f"cat {tmp_path}/log"), at_once=1)
    assert together.limit_s == 3 * 20 + 60
    assert together.of(Request(Probe.of(last=f"cat {tmp_path}/log")))["last"].stdout.split() == list("ccaabb")


@pytest.mark.parametrize("text", ["", "1", "1\n", "1\n\n", "\n1", f"a\n{MARK} end one 0\n", f"{MARK} begin two\nb"])
def test_sections_without_a_search_equal_those_of_the_text(text: str) -> None:
    found = joined({"one": CommandOutput(0, text, "noise"), "two": CommandOutput(7, "x\n", "more\n\n")})
    assert parse_sections(found) == parse_sections(ProbeOutput(found.exit_code, found.stdout, found.stderr))
    assert (found.parts is None) == (MARK in text)


def test_changed_text_is_searched() -> None:
    found = joined({"one": CommandOutput(0, "1", "")})
    assert found.parts is not None
    assert parse_sections(replace(found, stdout=found.stdout.replace("end one 0", ""))).by_name == {}


def test_a_command_that_did_not_end_has_no_section() -> None:
    found = joined({"one": CommandOutput(TIMED_OUT, "1", ""), "two": CommandOutput(None, "2", "")})
    assert parse_sections(found).by_name == {}
