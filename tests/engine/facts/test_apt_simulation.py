"""A simulated installation: additions, new versions and removals, and nothing else."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from sovctl.engine.facts.packages.apt_simulation import SimulatedStep, parse_simulation
from sovctl.engine.facts.unreadable import Unreadable

TEXT = """\
Reading package lists...
The following NEW packages will be installed:
  cowsay libtext-charwidth-perl
Remv nvidia-old [550.54-1]
Inst libtext-charwidth-perl (0.04-11 Debian:12.15/oldstable [amd64])
Inst libc6:i386 [2.36-9] (2.36-9+deb12u10 Debian:12.15/oldstable [i386]) []
Conf libtext-charwidth-perl (0.04-11 Debian:12.15/oldstable [amd64])
"""


def test_every_package_that_apt_changes_is_read_with_its_new_version() -> None:
    assert parse_simulation(TEXT) == (
        SimulatedStep("nvidia-old", None),
        SimulatedStep("libtext-charwidth-perl", "0.04-11"),
        SimulatedStep("libc6", "2.36-9+deb12u10"),
    )
    assert parse_simulation("Reading package lists...\n") == ()


@pytest.mark.parametrize("line", ["Inst cowsay", "Inst cowsay [1.0]", "Remv "])
def test_an_unknown_form_is_unreadable(line: str) -> None:
    with pytest.raises(Unreadable, match="apt-get"):
        parse_simulation(f"{line}\n")


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt on this machine")
def test_real_apt_prints_what_the_parser_reads() -> None:
    def run(*command: str) -> str:
        environment = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout

    simulate = ("apt-get", "-q", "--simulate", "-o", "Debug::NoLocking=true", "remove")
    chosen = run("apt-mark", "showmanual").split()[:10]
    assert any(SimulatedStep(name, None) in parse_simulation(run(*simulate, name)) for name in chosen)
