"""The daemons a lab needs beside its nodes, each a row: the controller's web server and clock, and the cloud host.

A row says who it is, in which namespace it runs, what starts it and how one knows that it answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sovctl.compliance.files import write_atomic
from sovctl.engine.lab import layout, network, reach
from sovctl.engine.lab.layout import Lab
from sovctl.engine.lab.process import ProcessId, end, is_alive, record, recorded, spawn

_START_LIMIT_S = 15.0


@dataclass(frozen=True)
class Service:
    """One daemon."""

    name: str
    what: str
    namespace: Callable[[Lab], str]
    command: Callable[[Lab], list[str | Path]]
    address: str
    port: int | None
    """The TCP port that tells that it is up; None where it has none (UDP)."""


def _controller(lab: Lab) -> str:
    return lab.namespace


def _outside(lab: Lab) -> str:
    return lab.cloud_namespace


def _web(lab: Lab) -> list[str | Path]:
    server = [sys.executable, "-m", "http.server", str(layout.WEB_PORT), "--bind", layout.CONTROLLER_ADDRESS]
    return [*server, "--protocol", "HTTP/1.1", "--directory", lab.web]


def _clock(lab: Lab) -> list[str | Path]:
    # -x: never touch this machine's clock; -d: stay in the foreground and say everything on standard error.
    return ["chroot", lab.tools_root, "/usr/sbin/chronyd", "-d", "-x", "-u", "root", "-f", CLOCK_FILE]


CLOCK_FILE = "/etc/chrony/sovctl-lab.conf"
CLOCK_CONFIGURATION = f"""# Written by sovctl lab: this machine's clock, served to the lab and never changed.
local stratum 8
allow {layout.MANAGEMENT_NETWORK}
bindaddress {layout.CONTROLLER_ADDRESS}
cmdport 0
pidfile /run/chronyd-lab.pid
"""


def _cloud(lab: Lab) -> list[str | Path]:
    return [sys.executable, "-m", "sovctl.engine.lab.cloud", lab.cloud]


SERVICES = (
    Service("web", "apt, wheels and models", _controller, _web, layout.CONTROLLER_ADDRESS, layout.WEB_PORT),
    Service("clock", "time source (chronyd)", _controller, _clock, layout.CONTROLLER_ADDRESS, None),
    Service("cloud", "sovereign cloud (simulated)", _outside, _cloud, layout.CLOUD_ADDRESS, layout.CLOUD_PORT),
)


def prepare(lab: Lab) -> None:
    """Write what the daemons read."""
    write_atomic(lab.tools_root / CLOCK_FILE.lstrip("/"), CLOCK_CONFIGURATION)


def start(lab: Lab, service: Service) -> bool:
    """Start a daemon unless it runs.

    Returns:
        True when it had to be started.
    """
    if process(lab, service):
        return False
    command = [*network.inside(service.namespace(lab)), *(str(word) for word in service.command(lab))]
    record(_record(lab, service), spawn(command, log=log(lab, service), lab=lab.name))
    return True


def wait(lab: Lab, service: Service) -> None:
    """Wait until it answers.

    Raises:
        NodeUnreachable: it does not.
    """
    if service.port is not None:
        reach.wait_for(
            service.namespace(lab),
            service.address,
            service.port,
            what=f"the {service.name} service",
            limit_s=_START_LIMIT_S,
            log=log(lab, service),
        )


def stop(lab: Lab, service: Service) -> None:
    """End a daemon; nothing happens when it does not run."""
    running = process(lab, service)
    if running:
        end([running], grace_s=2.0)
    _record(lab, service).unlink(missing_ok=True)


def process(lab: Lab, service: Service) -> ProcessId | None:
    """Who it is; None when it does not run."""
    found = recorded(_record(lab, service))
    return found if found and is_alive(found) else None


def log(lab: Lab, service: Service) -> Path:
    """Where it writes."""
    return lab.log / f"{service.name}.log"


def _record(lab: Lab, service: Service) -> Path:
    return lab.run / f"{service.name}.json"
