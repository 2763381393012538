"""Simulated hardware of a node: its facts, and the installed and loaded driver.

/etc/sovctl-lab/hardware.json          facts; the controller changes them while the node runs
/usr/lib/sovctl-lab/module-version     installed kernel module      (nvidia-kernel-open-dkms)
/usr/lib/sovctl-lab/library-version    installed user-space library (nvidia-driver-cuda)
/run/sovctl-lab/driver-version         loaded kernel module
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Facts = dict[str, Any]

FACTS_FILE = "etc/sovctl-lab/hardware.json"
MODULE_VERSION_FILE = "usr/lib/sovctl-lab/module-version"
LIBRARY_VERSION_FILE = "usr/lib/sovctl-lab/library-version"
LOADED_VERSION_FILE = "run/sovctl-lab/driver-version"
FABRIC_MANAGER_FILE = "run/nvidia-fabricmanager/nv-fabricmanager.pid"
PERSISTENCED_FILE = "run/nvidia-persistenced/nvidia-persistenced.pid"
HOST_ENGINE_FILE = "run/nv-hostengine.pid"
MIG_FILE = "run/sovctl-lab/mig.json"
"""In /run, because neither mode nor instances of this board survive a reboot."""
SIMULATED = "simulated by the sovctl lab"


class Board:
    """Simulated hardware of a node, read when the object is created.

    Args:
        root: root folder of the node.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        file = root / FACTS_FILE
        self.facts: Facts = json.loads(file.read_text()) if file.exists() else {"gpus": []}

    def _version(self, name: str) -> str | None:
        file = self.root / name
        return (file.read_text().strip() or None) if file.exists() else None

    @property
    def module_version(self) -> str | None:
        """Version of the installed kernel module; None without one."""
        return self._version(MODULE_VERSION_FILE)

    @property
    def library_version(self) -> str | None:
        """Version of the installed user-space library; None without one."""
        return self._version(LIBRARY_VERSION_FILE)

    @property
    def loaded_version(self) -> str | None:
        """Version of the loaded kernel module; None without one."""
        return self._version(LOADED_VERSION_FILE)

    @property
    def gpus(self) -> list[Facts]:
        """GPUs on the bus, in index order."""
        return [gpu for gpu in self.facts["gpus"] if gpu["on_bus"]]

    @property
    def nics(self) -> list[Facts]:
        """InfiniBand adapters, in name order."""
        found: list[Facts] = self.facts.get("nics", [])
        return found

    @property
    def is_fabric_up(self) -> bool:
        """Whether a fabric manager with the version of the loaded driver runs."""
        words = self._daemon(FABRIC_MANAGER_FILE)
        return len(words) == 2 and words[1] == self.loaded_version

    @property
    def has_fabric_manager(self) -> bool:
        """Whether a fabric manager of any version runs."""
        return bool(self._daemon(FABRIC_MANAGER_FILE))

    @property
    def is_persistent(self) -> bool:
        """Whether the persistence daemon runs."""
        return bool(self._daemon(PERSISTENCED_FILE))

    @property
    def has_host_engine(self) -> bool:
        """Whether DCGM's host engine runs."""
        return bool(self._daemon(HOST_ENGINE_FILE))

    @property
    def mig(self) -> Facts:
        """Mode and MIG instances of divided GPUs, by index as text."""
        file = self.root / MIG_FILE
        found: Facts = json.loads(file.read_text()) if file.exists() else {}
        return found

    def _daemon(self, name: str) -> list[str]:
        """Return the words of a daemon's PID file, "PID VERSION"; empty if the process does not run."""
        words = (self._version(name) or "").split()
        return words if words and (self.root / "proc" / words[0]).exists() else []
