"""The simulated board: probes run its ipmitool and dmidecode, and their output has no name of a user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab_specimens import GPU_NODE, Disk

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.definitions.bmc import _controller
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import Probe, ProbeOutput
from sovctl.engine.checks.probes.own_board import MACHINE
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.lab.hardware import inventory as hardware

PROGRAM = """#!{python}
import sys
from pathlib import Path
from sovctl.engine.lab.standins.{module} import main
sys.exit(main(sys.argv[1:], Path({root!r})))
"""


@pytest.fixture
def path(disk: Disk, tmp_path: Path) -> str:
    """A search path with the stand-ins, which read the facts of a healthy node."""
    disk.change(hardware.facts("sovtest", GPU_NODE))
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in (("ipmitool", "ipmi"), ("dmidecode", "dmi")):
        program = folder / name
        program.write_text(PROGRAM.format(python=sys.executable, module=module, root=str(disk.root)))
        program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def run(probe: Probe, path: str) -> ProbeOutput:
    command = probe.command.replace(MACHINE, "echo simulated")
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    return ProbeOutput(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "check_id", ["bmc.no-anonymous-user", "bmc.no-cipher-zero", "bmc.event-log-clean", "bmc.clock-correct"]
)
def test_the_shell_of_a_probe_gives_what_its_judge_reads(check_id: str, path: str) -> None:
    expected, check = _controller.Expected(), BY_ID[check_id]
    judgement = judge(check, run(check.probe(expected), path), expected)
    assert judgement.verdict is Verdict.PASS, judgement.reason


def test_evidence_has_neither_the_names_of_users_nor_the_community_string(path: str) -> None:
    output = run(BY_ID["bmc.no-anonymous-user"].probe(_controller.Expected()), path)
    assert "2,named,true,false,true,ADMINISTRATOR" in output.stdout
    assert "operator" not in output.stdout + output.stderr
    assert "Community" not in output.stdout + output.stderr
