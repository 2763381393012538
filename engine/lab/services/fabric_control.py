"""Injects faults of `fabric_faults` into the simulated fabric of a running lab, and removes them.

Each change starts ibsim and the subnet managers again, which takes about 4 s. The faults of nodes, such as a port
without a link, are kept.
"""

from __future__ import annotations

from ..hardware import fabric_processes
from ..hardware.fabric_faults import FABRIC_FAULTS, FabricFault
from ..layout import Lab
from . import services


def active(lab: Lab) -> list[str]:
    """Return the names of the injected faults, in the order of the table."""
    return fabric_processes.injected(lab)


def set_fault(lab: Lab, fault: FabricFault) -> None:
    """Inject a fault, in addition to those that exist."""
    _restart(lab, {*active(lab), fault.name})


def clear_fault(lab: Lab, fault: FabricFault | None) -> None:
    """Remove a fault; all faults if `fault` is None."""
    _restart(lab, set(active(lab)) - {fault.name} if fault else set())


def _restart(lab: Lab, names: set[str]) -> None:
    fabric_processes.write_faults(lab, [each.name for each in FABRIC_FAULTS if each.name in names])
    services.stop_fabric(lab)
    services.wait_for_all(lab, is_new=services.start_all(lab))
