"""Measurements and changes use programs of packages, also if /usr/local has a file with the same name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sovctl.engine.checks.runner.transport import as_root
from sovctl.engine.spec.program_path import PROGRAM_PATH
from sovctl.support.package_files import package_folder


def test_the_path_has_no_folder_that_a_package_does_not_fill() -> None:
    assert set(PROGRAM_PATH.split(":")) == {"/usr/sbin", "/usr/bin", "/sbin", "/bin"}


@pytest.mark.parametrize("name", ["apply", "site"])
def test_every_play_sets_it(name: str) -> None:
    plays = yaml.safe_load(Path(package_folder("playbooks") / f"{name}.yml").read_text())
    assert [play["environment"] for play in plays] == [{"PATH": PROGRAM_PATH}] * len(plays)


def test_every_check_sets_it_before_its_command() -> None:
    assert as_root("nft list ruleset", 60).startswith(f"sudo -n /usr/bin/env PATH={PROGRAM_PATH} timeout ")
