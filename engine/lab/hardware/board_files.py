"""Files of the simulated hardware on a new node: its facts, and the unit that presents them below /sys.

The packages that `sovctl apply` installs contain the other programs.
"""

from __future__ import annotations

from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from ..artifacts.gpu_packages import HOME, MODULES, STANDINS, UNITS
from ..layout import Lab, LabNode
from ..standins.board import FACTS_FILE
from . import inventory as hardware

UNIT = "sovctl-lab-board.service"
_BASE_MODULES = ("__init__.py", "board.py", "daemon.py", "present.py")
_UNIT = f"""\
[Unit]
Description=Show the simulated hardware of the sovctl lab
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/{HOME}/present
"""
_PROGRAM = f"""\
#!/usr/bin/python3 -ISB
# simulated: mounts the simulated hardware of the sovctl lab over /sys.
import sys

sys.path.insert(0, "/{HOME}")
from sovctl.engine.lab.standins.present import main

sys.exit(main())
"""


def write(lab: Lab, node: LabNode) -> None:
    """Write the files to the disk of a node."""
    root = lab.root(node)
    write_atomic(root / FACTS_FILE, hardware.text(hardware.facts(lab.name, node)))
    package = root / HOME
    for part in ("sovctl", "engine", "lab"):
        package = package / part
        write_atomic(package / "__init__.py", "")
    for name in _BASE_MODULES:
        write_atomic(root / MODULES / name, (STANDINS / name).read_bytes())
    write_atomic(root / HOME / "present", _PROGRAM, mode=0o755)
    write_atomic(root / UNITS / UNIT, _UNIT)
    wants = root / UNITS / "sysinit.target.wants" / UNIT
    wants.parent.mkdir(parents=True, exist_ok=True)
    wants.unlink(missing_ok=True)
    wants.symlink_to(Path("..") / UNIT)
