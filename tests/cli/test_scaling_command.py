"""`sovctl scaling`: the simulation of a day, and its bad inputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import warm_processes
from scaled_sites import write_site

from sovctl.support.errors import ExitCode


def sovctl(*arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
    done = warm_processes.sovctl("scaling", *arguments, cwd=cwd, env=os.environ)
    return done.returncode, done.stdout, done.stderr


def test_simulate_prints_one_row_for_each_policy_and_pool(tmp_path: Path) -> None:
    write_site(tmp_path)
    code, out, err = sovctl("simulate", "--load", "0.01", cwd=tmp_path)
    assert (code, len(out.splitlines())) == (0, 1 + 5 * 3)
    assert "nothing was measured" in err
    code, out, _ = sovctl("simulate", "--load", "0.01", "--shape", "chat=coding", "--json", cwd=tmp_path)
    found = json.loads(out)
    assert (code, found["shapes"]["chat"]) == (0, "coding")
    assert {each["policy"] for each in found["rows"]} >= {"static", "reactive, stopped", "sovctl, asleep"}
    assert sovctl("simulate", "--load", "0.01", "--shape", "chat=coding", "--json", cwd=tmp_path)[1] == out


@pytest.mark.parametrize("shape", ["chat", "chat=voice", "voice=coding"])
def test_an_unknown_shape_is_bad_input(tmp_path: Path, shape: str) -> None:
    write_site(tmp_path)
    code, out, err = sovctl("simulate", "--shape", shape, cwd=tmp_path)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert "expected" in err


def test_a_site_without_the_section_is_bad_input(tmp_path: Path) -> None:
    path = write_site(tmp_path)
    text = path.read_text()
    begin = text.index("scaling:\n  approvers")
    path.write_text(text[:begin] + text[text.index("site:\n", begin) :])
    code, _, err = sovctl("simulate", cwd=tmp_path)
    assert code == ExitCode.BAD_INPUT
    assert "no section `scaling`" in err
