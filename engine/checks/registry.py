"""Every check, in the order of reports: topics as in `TOPICS`, then in the order of names.

A new check is one file in `definitions/`, whose path is its id. A new topic is also one word of `TOPICS`.

The controls of a check are those of NIST SP 800-53 Rev. 5 for which its result is evidence. The control maps in
`compliance/packs/` state which part of a control that is, and which part people decide.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, TypeGuard

from . import definitions
from .model.check import Check

TOPICS = (
    "access",
    "unit",
    "host",
    "cpu",
    "memory",
    "disk",
    "network",
    "certificate",
    "clock",
    "perimeter",
    "software",
    "gpu",
    "vram",
    "bus",
    "driver",
    "nvlink",
    "diagnostic",
    "bandwidth",
    "xid",
    "ib",
    "roce",
    "nccl",
    "fabric",
    "bmc",
    "firmware",
    "node",
    "uniform",
    "model",
    "pool",
    "gateway",
    "monitoring",
    "retrieval",
    "plan",
    "site",
)


def _checks_of(topic: str) -> Iterator[Check[Any]]:
    """Yield a topic's checks: each public module has one class whose id is the path of the module."""
    package = importlib.import_module(f"{definitions.__name__}.{topic}")
    for name in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        if not name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{name}")
            wanted = f"{topic}.{name.replace('_', '-')}"
            yield next(each for each in vars(module).values() if _is_check(each, wanted))()


def _is_check(found: object, check_id: str) -> TypeGuard[type[Check[Any]]]:
    return isinstance(found, type) and issubclass(found, Check) and found.__dict__.get("id") == check_id


CHECKS: tuple[Check[Any], ...] = tuple(check for topic in TOPICS for check in _checks_of(topic))

BY_ID = {check.id: check for check in CHECKS}
KNOWN_CHECKS = frozenset(BY_ID)
"""Check ids that a control map may name, in addition to the keys of `FORMER_IDS`."""
FORMER_IDS = {former: check.id for check in CHECKS for former in check.former_ids}
"""Current check id by former id."""
