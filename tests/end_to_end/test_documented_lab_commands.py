"""Every command of README.md and docs/commands that needs nodes runs as shown, with the promised exit code.

`make test` runs those of README.md only, because all take 6 minutes.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess

import pytest
from documented_commands import IN_THE_LAB, PAGES, ROOT, typed
from lab_site import COMMAND_LIMIT_S, NAME, LabSite, sovctl_command

from examples import IS_COMPLETE
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab

# The fixture of this folder runs these two.
_OF_THE_FIXTURE = {"sovctl lab up --directory lab-site", "sovctl lab down"}
_RUN_ID = re.compile(r"20261121T101500Z-3fa9")
_ORDER = ("README", "inventory", "doctor", "plan", "apply", "drift", "verify", "golden", "report", "lab", "first-week")
OTHER_EXITS = {
    "sovctl lab fabric -- ibqueryerrors": {ExitCode.OK, ExitCode.FAILURE},  # FAILURE: it found errors
    "sovctl audit verify .sovctl": {ExitCode.UNPROVEN},  # no checkpoint is kept outside the site
    "sovctl audit verify .sovctl/reports/20261121T101500Z-3fa9": {ExitCode.UNPROVEN},
}


def _lines() -> list[str]:
    """Return the commands in the order of the pages, without commands that an earlier page shows."""
    assert set(_ORDER) == set(IN_THE_LAB)
    lines: list[str] = []
    for page in _ORDER if IS_COMPLETE else _ORDER[:1]:
        lines += [line for line in typed(PAGES[page]) if line in IN_THE_LAB[page] and line not in set(lines)]
    return [line for line in lines if line not in _OF_THE_FIXTURE]


def _words(line: str, site: LabSite) -> list[str]:
    """Return the arguments of a command, with the name of the test lab and the ID of an existing run."""
    runs = sorted(path.name for path in (site.state / "reports").glob("*") if path.is_dir())
    words = shlex.split(_RUN_ID.sub(runs[-1], line) if runs else line)[1:]
    words = [word.replace("~", str(site.folder)) for word in words]
    if words[0] == "lab" and words[1] != "check":
        at = words.index("--") if "--" in words else len(words)
        words[at:at] = ["--name", NAME]
    return words


def test_commands_run_as_shown(site: LabSite) -> None:
    before = {path.name for path in site.folder.iterdir()}
    try:
        for line in _lines():
            if "kept/checkpoint" in line:
                _keep_ledger_head(site)
            command = shlex.join(sovctl_command(*_words(line, site)))
            done = subprocess.run(
                ["script", "--quiet", "--return", "--command", command, "/dev/null"],  # a terminal, to confirm with y
                cwd=site.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                input="y\n",
                capture_output=True,
                text=True,
                timeout=COMMAND_LIMIT_S,
                check=False,
            )
            assert done.returncode in OTHER_EXITS.get(line, {ExitCode.OK}), f"{line}: {done.stdout}{done.stderr}"
    finally:
        site.succeed("lab", "fault", "n1", "--clear", "--name", NAME)
        for name in {path.name for path in site.folder.iterdir()} - before:
            path = site.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        site.mend()


def _keep_ledger_head(site: LabSite) -> None:
    """Copy the checkpoint and the public key of the ledger, as an auditor keeps them."""
    kept = site.folder / "kept"
    kept.mkdir(exist_ok=True)
    for folder, name in ((kept, "checkpoint"), (kept, "log.vkey"), (site.folder, "log.vkey")):
        shutil.copy(site.state / "ledger" / name, folder / name)
