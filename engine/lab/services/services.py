"""Daemons of a lab: web server, clock, simulated cloud, InfiniBand fabric and its subnet managers, as a table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from .. import layout
from ..hardware import fabric_processes as fabric
from ..hardware import infiniband_fabric
from ..layout import Lab, Tier
from ..linux import network
from ..linux.process import LabFailure, ProcessId, end, is_alive, record, recorded, spawn
from . import reachability as reach

_START_LIMIT_S = 15.0
_POLL_S = 0.05


@dataclass(frozen=True)
class Service:
    """One daemon."""

    name: str
    what: str
    namespace: Callable[[Lab], str]
    command: Callable[[Lab], list[str | Path]]
    address: str
    port: int | None = None
    """TCP port for the check; None without one."""
    ready_text: str = ""
    """Text in its log that means ready, if it has no port."""
    is_ready: Callable[[Lab], bool] | None = None
    """Further condition, in addition to port or text."""
    manager: str = ""
    """Device of a subnet manager; a fault can stop it."""


def _controller(lab: Lab) -> str:
    return lab.namespace


def _outside(lab: Lab) -> str:
    return lab.cloud_namespace


def _web(lab: Lab) -> list[str | Path]:
    server = [sys.executable, "-P", "-m", "http.server", str(layout.WEB_PORT), "--bind", layout.CONTROLLER_ADDRESS]
    return [*server, "--protocol", "HTTP/1.1", "--directory", lab.web]


def _clock(lab: Lab) -> list[str | Path]:
    # -x: do not set this machine's clock; -d: stay in the foreground and log to standard error.
    return ["chroot", lab.tools_root, "/usr/sbin/chronyd", "-d", "-x", "-u", "root", "-f", CLOCK_FILE]


CLOCK_FILE = "/etc/chrony/sovctl-lab.conf"
CLOCK_CONFIGURATION = f"""# Written by sovctl lab: serves this machine's clock to the lab without setting it.
local stratum 8
allow {layout.MANAGEMENT_NETWORK}
bindaddress {layout.CONTROLLER_ADDRESS}
cmdport 0
pidfile /run/chronyd-lab.pid
"""


def _cloud(lab: Lab) -> list[str | Path]:
    return [sys.executable, "-P", "-m", "sovctl.engine.lab.services.cloud", lab.cloud]


WEB = "web"
SERVICES = (
    Service(WEB, "apt, wheels and models", _controller, _web, layout.CONTROLLER_ADDRESS, layout.WEB_PORT),
    Service(
        "clock",
        "time source (chronyd)",
        _controller,
        _clock,
        layout.CONTROLLER_ADDRESS,
        ready_text="Disabled control of system clock",
    ),
    Service("cloud", "sovereign cloud (simulated)", _outside, _cloud, layout.CLOUD_ADDRESS, layout.CLOUD_PORT),
    Service(
        "fabric",
        "InfiniBand fabric (ibsim, simulated)",
        fabric.namespace,
        fabric.simulator_command,
        "-",
        ready_text=fabric.SIMULATOR_READY,
    ),
    Service(
        "subnet",
        "subnet manager (opensm)",
        fabric.namespace,
        lambda lab: fabric.manager_command(lab, infiniband_fabric.MANAGERS[0]),
        "-",
        ready_text=fabric.MASTER_READY,
        manager=infiniband_fabric.MANAGERS[0],
    ),
    Service(
        "standby",
        "standby subnet manager (opensm)",
        fabric.namespace,
        lambda lab: fabric.manager_command(lab, infiniband_fabric.MANAGERS[1]),
        "-",
        ready_text=fabric.STANDBY_READY,
        is_ready=fabric.knows_managers,
        manager=infiniband_fabric.MANAGERS[1],
    ),
)

SIMULATOR = "fabric"
_WITHOUT_FABRIC = (WEB, "clock", "cloud")
# A subnet manager exits without a fabric. Of 24 starts of both managers together, 3 ended without a standby.
_IN_ORDER = (SIMULATOR, "subnet")


def services_of(lab: Lab) -> tuple[Service, ...]:
    """Return the services that a lab must run: without a subnet manager that a fault stopped.

    A virtual machine has no simulated InfiniBand adapter, and needs no fabric. A mirror node replaces the web server.
    """
    wanted = tuple(each for each in SERVICES if each.name != WEB or not lab.has_mirror_node)
    if lab.tier is not Tier.CONTAINER:
        return tuple(each for each in wanted if each.name in _WITHOUT_FABRIC)
    managers = fabric.current(lab).managers
    return tuple(each for each in wanted if not each.manager or each.manager in managers)


def prepare(lab: Lab) -> None:
    """Write the configuration of the daemons."""
    write_atomic(lab.tools_root / CLOCK_FILE.lstrip("/"), CLOCK_CONFIGURATION)
    if lab.tier is Tier.CONTAINER:
        fabric.prepare(lab)


def start_all(lab: Lab) -> bool:
    """Start the services that do not run. A new simulator gets new subnet managers, and the links of the nodes' facts.

    Returns:
        Whether the simulator is new; `wait_for_all` then has to set its error counters.
    """
    wanted = services_of(lab)
    is_new = any(each.name == SIMULATOR and process(lab, each) is None for each in wanted)
    if is_new:
        stop_fabric(lab)
    for service in wanted:
        start(lab, service)
        if service.name in _IN_ORDER:
            wait(lab, service)
        if service.name == SIMULATOR and is_new:
            fabric.show_faults(lab)
    return is_new


def wait_for_all(lab: Lab, *, is_new: bool) -> None:
    """Wait until all services answer, and set the error counters of a new simulator.

    Raises:
        LabFailure: a daemon ended, or did not answer in time.
    """
    for service in services_of(lab):
        wait(lab, service)
    if is_new:
        fabric.clear_errors(lab)
        fabric.show_faults(lab)


def stop_fabric(lab: Lab) -> None:
    """End the subnet managers, then the simulator."""
    for service in reversed(SERVICES):
        if service.name not in _WITHOUT_FABRIC:
            stop(lab, service)


def start(lab: Lab, service: Service) -> bool:
    """Start a daemon if it does not run, without waiting for its answer. Return True if it was started."""
    if process(lab, service):
        return False
    file = log(lab, service)
    if file.exists():
        file.replace(file.with_suffix(".log.old"))  # the log of an earlier process must not count
    command = [*network.inside(service.namespace(lab)), *(str(word) for word in service.command(lab))]
    record(_record(lab, service), spawn(command, log=file, lab=lab.name))
    return True


def answers(lab: Lab, service: Service) -> bool:
    """Return whether a daemon runs and answers."""
    if process(lab, service) is None:
        return False
    if service.port is not None:
        return reach.answers(service.namespace(lab), service.address, service.port)
    if service.ready_text not in log(lab, service).read_text(errors="replace"):
        return False
    return service.is_ready is None or service.is_ready(lab)


def wait(lab: Lab, service: Service) -> None:
    """Wait until a daemon answers.

    Raises:
        LabFailure: the daemon ended, or did not answer in time.
    """
    deadline = time.monotonic() + _START_LIMIT_S
    while not answers(lab, service):
        if process(lab, service) is None or time.monotonic() > deadline:
            raise LabFailure(
                f"service {service.name} did not answer within {_START_LIMIT_S:.0f} s",
                hint=f"see {log(lab, service)}",
            )
        time.sleep(_POLL_S)


def stop(lab: Lab, service: Service) -> None:
    """End a daemon; no effect if it does not run."""
    running = process(lab, service)
    if running:
        end([running], grace_s=2.0)
    _record(lab, service).unlink(missing_ok=True)


def process(lab: Lab, service: Service) -> ProcessId | None:
    """Return the process of a daemon; None if it does not run."""
    found = recorded(_record(lab, service))
    return found if found and is_alive(found) else None


def log(lab: Lab, service: Service) -> Path:
    """Return the log file of a daemon."""
    return lab.log / f"{service.name}.log"


def _record(lab: Lab, service: Service) -> Path:
    return lab.run / f"{service.name}.json"
