"""State of autoscaling in the state folder: phases of replicas and newest moves.

The file is written before each step of a move, and each step is idempotent. After a crash, the next run finishes the
pending phases: draining, then waiting and starting.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..scaling.fleet import Direction, Fleet, LastMove, Phase, shared_gpus
from ..scaling.positions import Positions
from .terms import Terms, replica_id, rules

FILE = "scaling/state.json"
"""Path relative to the state folder."""


@dataclass(frozen=True)
class ScalingState:
    """Phases, newest moves and present alerts.

    Args:
        alerts: by pool, as last recorded in the ledger.
    """

    fleet: Fleet
    alerts: dict[str, str] = field(default_factory=dict)


def initial(terms: Terms) -> ScalingState:
    """Return the state after an apply: the deployed replicas serve."""
    deployed = {each["pool"]: each["replicas"] for each in terms["pools"]}
    places = rules(terms).positions
    phases = {each: Phase.AWAKE if each.index < deployed[each.pool] else Phase.IDLE for each in places}
    return ScalingState(Fleet(phases))


def load(root: Path, terms: Terms) -> ScalingState:
    """Return the stored state; the initial one if the file is absent or has other replicas.

    Raises:
        InputError: the file is invalid, or two replicas hold one GPU. No replica must move then.
    """
    path, places = root / FILE, rules(terms).positions
    try:
        value: dict[str, Any] = json.loads(path.read_text())
        phases = {replica_id(name): Phase(each) for name, each in value["phases"].items()}
        last = {
            pool: LastMove(float(each["time_s"]), Direction(each["direction"])) for pool, each in value["last"].items()
        }
        alerts = {str(pool): str(text) for pool, text in value["alerts"].items()}
    except FileNotFoundError:
        return _checked(initial(terms), places, path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"unreadable state of autoscaling ({type(error).__name__})", where=str(path), hint=_hint(path)
        ) from None
    if set(phases) != set(places):
        return _checked(initial(terms), places, path)
    return _checked(ScalingState(Fleet(phases, last), alerts), places, path)


def save(root: Path, state: ScalingState) -> None:
    """Write the state; durable on return."""
    value = {
        "phases": {str(each): phase.value for each, phase in sorted(state.fleet.phases.items())},
        "last": {
            pool: {"time_s": each.time_s, "direction": each.direction.value} for pool, each in state.fleet.last.items()
        },
        "alerts": state.alerts,
    }
    write_atomic(root / FILE, json.dumps(value, indent=1, sort_keys=True) + "\n", mode=0o600)


def with_fleet(state: ScalingState, fleet: Fleet) -> ScalingState:
    """Return the state with another fleet."""
    return replace(state, fleet=fleet)


def _checked(state: ScalingState, places: Positions, path: Path) -> ScalingState:
    if shared := shared_gpus(state.fleet, places):
        node, gpu = shared[0]
        raise InputError(f"two replicas hold GPU {gpu} of {node}", where=str(path), hint=_hint(path))
    return state


def _hint(path: Path) -> str:
    return f"run `sovctl apply`, which deploys `replicas` of each pool, then delete {path}"
