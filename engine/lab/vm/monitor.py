"""Client of QEMU's monitor: removes and adds a drive of a running virtual machine, as an operator does with a tray.

Protocol: QMP of QEMU 7.2, JSON objects on a Unix socket; one per line.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from ..linux.process import LabFailure
from . import qemu
from .qemu import Files

_LIMIT_S = 60.0
_PAUSE_S = 1.0


class Monitor:
    """Connection to the monitor of a virtual machine. One client at a time can be connected."""

    def __init__(self, files: Files) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_LIMIT_S)
        try:
            self._socket.connect(str(files.monitor))
            self._lines = self._socket.makefile("r", encoding="utf-8")
            self._lines.readline()  # the greeting
            self.execute("qmp_capabilities")
        except OSError as error:
            self._socket.close()
            raise LabFailure(f"the monitor of the virtual machine does not answer: {error.strerror or error}") from None

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run a command, and return its result.

        Raises:
            LabFailure: QEMU reports an error, or the connection ended.
        """
        request = {"execute": command, **({"arguments": arguments} if arguments else {})}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        for line in self._lines:
            answer = json.loads(line)
            if "error" in answer:
                raise LabFailure(f"QEMU refuses {command}: {answer['error'].get('desc')}")
            if "return" in answer:  # other lines are events
                return answer["return"]
        raise LabFailure(f"the virtual machine ended before it answered {command}")


def remove_drive(files: Files, name: str) -> None:
    """Remove an NVMe drive. Returns after the system has released it.

    Raises:
        LabFailure: the system did not release it in time.
    """
    device = f"nvme-{name}"
    with Monitor(files) as monitor:
        monitor.execute("device_del", id=device)
        until = time.monotonic() + _LIMIT_S
        while device in _devices(monitor):
            if time.monotonic() > until:
                raise LabFailure(f"the system did not release {name} within {_LIMIT_S:.0f} s")
            time.sleep(_PAUSE_S)


def add_drive(files: Files, name: str) -> None:
    """Add a removed NVMe drive, with its former content."""
    with Monitor(files) as monitor:
        monitor.execute("device_add", **qemu.drive_device(name))


def _devices(monitor: Monitor) -> set[str]:
    """Return the ids of the devices that were named on the command line or added."""
    return {each["name"] for each in monitor.execute("qom-list", path="/machine/peripheral")}
