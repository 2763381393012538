"""What the stand-ins know: the node's hardware facts, and which driver is loaded.

/etc/sovctl-lab/hardware.json          the hardware; the controller edits it while the node runs
/usr/lib/sovctl-lab/module-version     the kernel module that is installed      (nvidia-kernel-open-dkms)
/usr/lib/sovctl-lab/library-version    the user-space library that is installed (nvidia-driver-cuda)
/run/sovctl-lab/driver-version         the kernel module that is loaded
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
SIMULATED = "simulated by the sovctl lab"


class Board:
    """The node's simulated hardware at one moment.

    Args:
        root: of the node's file system.
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
        """The kernel module that is installed."""
        return self._version(MODULE_VERSION_FILE)

    @property
    def library_version(self) -> str | None:
        """The user-space library that is installed."""
        return self._version(LIBRARY_VERSION_FILE)

    @property
    def loaded_version(self) -> str | None:
        """The kernel module that is loaded; None when none is."""
        return self._version(LOADED_VERSION_FILE)

    @property
    def gpus(self) -> list[Facts]:
        """GPUs on the bus, in index order; one that fell off it is not among them."""
        return [gpu for gpu in self.facts["gpus"] if gpu["on_bus"]]

    @property
    def nics(self) -> list[Facts]:
        """InfiniBand adapters, in name order."""
        found: list[Facts] = self.facts.get("nics", [])
        return found

    @property
    def is_fabric_up(self) -> bool:
        """True while a fabric manager of the loaded driver's version runs."""
        words = self._daemon(FABRIC_MANAGER_FILE)
        return len(words) == 2 and words[1] == self.loaded_version

    @property
    def is_persistent(self) -> bool:
        """True while the persistence daemon runs."""
        return bool(self._daemon(PERSISTENCED_FILE))

    @property
    def has_host_engine(self) -> bool:
        """True while DCGM's host engine runs."""
        return bool(self._daemon(HOST_ENGINE_FILE))

    def _daemon(self, name: str) -> list[str]:
        """The words of a daemon's pid file, "PID VERSION"; empty unless that process is there."""
        words = (self._version(name) or "").split()
        return words if words and (self.root / "proc" / words[0]).exists() else []
