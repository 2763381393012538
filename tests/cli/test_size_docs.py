"""What docs/commands/size.md shows of an example is what the command prints, but for figures of the time model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = "$ sovctl size examples/bank-hybrid/site.yaml"


def _form(line: str) -> str:
    """A line without its figures, which change with every fit."""
    return re.sub(r"[\d.,]*\d", "#", line.strip())


def test_the_page_shows_what_the_command_prints() -> None:
    page = (ROOT / "docs/commands/size.md").read_text()
    shown = page.partition(COMMAND)[2].partition("\n\n")[0].splitlines()
    done = subprocess.run(
        [sys.executable, "-m", "sovctl.cli", *COMMAND.split()[2:]],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    printed = [_form(line) for line in done.stdout.splitlines()]
    said = [_form(line.partition("...")[0]) for line in shown if line.strip() not in ("", "...")]
    assert len(said) > 8
    for line in said:
        assert any(each.startswith(line) for each in printed), line
