"""Documentation says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sovctl.engine.checks.runner.documentation import page

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_checks_is_current() -> None:
    assert (DOCS / "checks.md").read_text() == page(), (
        "python -m sovctl.engine.checks.runner.documentation docs/checks.md"
    )


def test_every_option_of_verify_is_documented() -> None:
    command = [sys.executable, "-c", "from sovctl.cli.main import main; main()", "verify", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = (DOCS / "commands" / "verify.md").read_text()
    for option in set(re.findall(r"--[a-z]+", shown)) - {"--help"}:
        assert f"`{option}" in text
