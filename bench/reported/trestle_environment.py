"""compliance-trestle in an environment of its own under build/bench: it requires versions that sovctl excludes.

trestle 5.2.0 requires paramiko 5, pyinfra 3.10 an earlier one. engine/catalog/locks/trestle.txt has the exact versions.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LOCK = Path("engine/catalog/locks/trestle.txt")
FOLDER = Path("build/bench/venv-oscal").absolute()
TIMEOUT_S = 600  # one command; chosen


@dataclass(frozen=True)
class Answer:
    """Result of one command of trestle."""

    is_accepted: bool
    messages: tuple[str, ...]
    """Its errors and warnings."""


def make() -> None:
    """Install the lock, if it is not installed.

    Raises:
        CalledProcessError: pip failed.
    """
    stamp, wanted = FOLDER / ".ready", LOCK.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing {LOCK} into {FOLDER.name}", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    pip = [str(FOLDER / "bin/python"), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(LOCK)]
    subprocess.run(pip, check=True)
    stamp.write_text(wanted)


def start_workspace(folder: Path) -> None:
    """Create the workspace of trestle in a new folder."""
    folder.mkdir()
    run(folder, "init", "--full")


def run(workspace: Path, *arguments: str) -> Answer:
    """Run one command of trestle in a workspace."""
    done = subprocess.run(
        [str(FOLDER / "bin/trestle"), *arguments],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    told = tuple(line for line in lines if "ERROR" in line or "WARN" in line or "not valid" in line.lower())
    return Answer(done.returncode == 0, told)


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the environment, which has securesystemslib too."""
    words = [str(FOLDER / "bin/python"), "-c", code, *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
