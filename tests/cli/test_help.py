"""`--help` is quick because it imports next to nothing, and says for every command what it is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.cli import documentation as reference
from sovctl.cli.main import COMMANDS

SOVCTL = str(Path(sys.executable).parent / "sovctl")
HEAVY = ("pydantic", "yaml", "jinja2", "cryptography", "pyinfra", "pytest", "ansible", "testinfra", "rich")
MOST_MODULES = 290
"""Modules imported for `sovctl --help`, with those of Python: 261 on 2026-11-29. Its time: bench/startup.py."""
COUNT = """
import atexit, runpy, sys
atexit.register(lambda: print(len(sys.modules), file=sys.stderr))
sys.argv = ["sovctl", "--help"]
runpy.run_module("sovctl.cli", run_name="__main__")
"""


def test_help_imports_few_modules() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stderr) <= MOST_MODULES


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys, sovctl.cli.main; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_help_names_every_command_in_the_order_a_newcomer_meets_them() -> None:
    printed = subprocess.run([SOVCTL, "-h"], capture_output=True, text=True, check=True, timeout=60).stdout
    listed = printed.partition("\nCommands:\n")[2].splitlines()
    assert tuple(line.split()[0] for line in listed if line.startswith("  ") and line[2] != " ")[: len(COMMANDS)] == (
        COMMANDS
    )


@pytest.mark.parametrize("words", reference.commands())
def test_every_command_says_what_it_is_for_in_one_line(words: str) -> None:
    sentence = (reference.commands()[words].help or "").strip().splitlines()[0]
    assert sentence[:1].isupper()
    assert len(sentence) > 15
