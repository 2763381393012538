"""Validation of seed files by the programs of their installers, if they are installed on the controller.

The programs run as separate processes. Their output is dropped, because it can quote secrets of the seed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from sovctl.support.errors import SovctlError

from .autoinstall_keys import unknown_keys
from .seed_settings import Installer

TIMEOUT_S = 120


@dataclass(frozen=True)
class Program:
    """A validator: its command, to which the file is appended, and the file that it reads."""

    argv: tuple[str, ...]
    file: str


PROGRAMS = {
    Installer.AUTOINSTALL: Program(("cloud-init", "schema", "--config-file"), "user-data"),
    Installer.KICKSTART: Program(("ksvalidator", "-v", "RHEL9"), "ks.cfg"),
    Installer.PRESEED: Program(("debconf-set-selections", "--checkonly"), "preseed.cfg"),
}
"""Of cloud-init (autoinstall's `user-data`), pykickstart and debconf."""


def validate(installer: Installer, files: Mapping[str, str]) -> str | None:
    """Check the files of a seed.

    Returns:
        Name of the program that accepted them; None if it is not installed.

    Raises:
        SovctlError: the files are invalid.
    """
    program = PROGRAMS[installer]
    text = files[program.file]
    if installer is Installer.AUTOINSTALL:
        text = _checked_user_data(text)
    name = program.argv[0]
    if shutil.which(name) is None:
        return None
    with tempfile.TemporaryDirectory(prefix="sovctl-seed-") as folder:  # mode 0700
        path = Path(folder) / program.file
        path.write_text(text)
        done = subprocess.run([*program.argv, str(path)], capture_output=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise SovctlError(f"`{' '.join(program.argv)}` rejects the seed", where=program.file)
    return name


def _checked_user_data(text: str) -> str:
    """Return the cloud-init configuration inside of autoinstall."""
    document = yaml.safe_load(text)
    unknown = [*(key for key in document if key != "autoinstall"), *unknown_keys(document["autoinstall"])]
    if unknown:
        raise SovctlError(f"the installer has no key {unknown[0]}", where="user-data")
    return "#cloud-config\n" + yaml.safe_dump(document["autoinstall"]["user-data"])
