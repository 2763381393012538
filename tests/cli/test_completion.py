"""Completion in a real bash on a real terminal: words, options, files; and how it is installed."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_sites import make_site, write_captures

BIN = Path(sys.executable).parent
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="completion is tried in bash, and there is none")


def environ(home: Path) -> dict[str, str]:
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "SHELL": "/bin/bash"}


def in_bash(script: str, home: Path) -> str:
    """What a bash that is not interactive prints; commands in it find bash as the shell they are called from."""
    command = ["bash", "--norc", "-c", f"{script}; exit $?"]
    done = subprocess.run(command, env=environ(home), cwd=home, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with completion installed, and a site in it."""
    make_site(tmp_path, ssh_port=22)
    write_captures(tmp_path / "facts")
    in_bash("sovctl --install-completion", tmp_path)
    return tmp_path


def type_in(keys: str, home: Path) -> str:
    """Everything on the screen after `keys` were typed in an interactive bash with the home's .bashrc."""
    ours, its = pty.openpty()
    variables = environ(home) | {"TERM": "dumb", "PS1": "", "HISTFILE": ""}
    with subprocess.Popen(["bash", "--noprofile"], cwd=home, env=variables, stdin=its, stdout=its, stderr=its) as shell:
        os.close(its)
        os.write(ours, f"{keys}\nexit 0\n".encode())
        seen = b""
        with contextlib.suppress(OSError):  # EIO: bash is gone
            while piece := os.read(ours, 65536):
                seen += piece
        shell.wait(timeout=60)
    os.close(ours)
    return seen.decode()


def test_what_is_shown_is_what_is_installed(home: Path) -> None:
    shown = in_bash("sovctl --show-completion", home)
    assert "complete -o default -F _sovctl_completion sovctl" in shown
    (installed,) = (home / ".bash_completions").iterdir()
    assert installed.read_text().strip() == shown.strip()
    assert str(installed) in (home / ".bashrc").read_text()


def test_installing_twice_is_installing_once(home: Path) -> None:
    before = (home / ".bashrc").read_text().split()
    in_bash("sovctl --install-completion", home)
    assert (home / ".bashrc").read_text().split() == before


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("val", "validate"),
        ("plan --detailed-", "--detailed-exitcode"),
        ("lab fau", "fault"),
        ("report packs gd", "gdpr"),
    ],
)
def test_words_and_options_complete(typed: str, completed: str, home: Path) -> None:
    words = f"sovctl {typed}"
    asked = {"_SOVCTL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(typed.split()))}
    done = subprocess.run(
        [BIN / "sovctl"], env=environ(home) | asked, cwd=home, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [completed], "")


def test_a_file_argument_completes(home: Path) -> None:
    screen = type_in("sovctl vali\tsi\t", home)
    assert "site.yaml is valid: on-prem site example-ministry" in screen


def test_a_folder_after_an_option_completes(home: Path) -> None:
    screen = type_in("sovctl plan --facts fac\t --node gw-1", home)
    assert "planned from captures; the plan was not saved" in screen
