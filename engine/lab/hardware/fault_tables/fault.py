"""A fault of the simulated hardware: the changed facts, the visible effect, and the verdicts of the checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FaultTarget(StrEnum):
    """Device of a fault; the value is the name of its list in the facts file."""

    GPU = "gpus"
    ADAPTER = "nics"
    NODE = ""


@dataclass(frozen=True)
class Fault:
    """A fault."""

    name: str
    target: FaultTarget
    changes: Mapping[str, Any]
    """New values by dotted path below the target."""
    shows: str
    """Visible effect: tool and output."""
    expects: Mapping[str, str]
    """Verdicts by check ID of all checks of hardware, also of active ones, that do not pass."""


def of(checks: Iterable[str], verdict: str) -> dict[str, str]:
    """Return one verdict for several checks."""
    return dict.fromkeys(checks, verdict)
