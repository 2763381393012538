"""Section `scaling`: bounds within which `sovctl scaling run` moves pools on fixed hardware."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from .types import Name, SpecModel, words

_Replicas = Annotated[int, Field(ge=1, le=1024)]
_Vkey = Annotated[
    str,
    StringConstraints(pattern=r"^[^\s+]{1,80}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$"),
    words("the text of a .vkey file (name+hash+base64)", kind="public key"),
]


class IdleState(StrEnum):
    """State of a replica without traffic."""

    ASLEEP = "asleep"
    STOPPED = "stopped"


class PoolScaling(SpecModel):
    """Bounds of one pool. `replicas` of the pool are deployed by `sovctl apply`; replicas above it use GPUs of replicas
    of other pools above their minimum, while those are idle."""

    pool: Name
    """Name of one of `pools`."""
    minimum_replicas: _Replicas
    """Replicas that always serve."""
    maximum_replicas: _Replicas
    """Maximum replicas."""
    idle: IdleState = IdleState.STOPPED
    """State of replicas without traffic. `stopped`: a start loads the weights. `asleep`: the weights stay in host
    memory (sleep level 1 of vLLM), and a wake-up takes seconds."""


class Scaling(SpecModel):
    """Autoscaling on fixed hardware, inside an approved standing plan. Busy hours, time zone and Prometheus are those
    of `sizing.autoscaling`."""

    pools: Annotated[list[PoolScaling], Field(min_length=1, max_length=64)]
    """Pools that move between bounds. Other pools do not change."""
    approvers: Annotated[list[_Vkey], Field(min_length=1, max_length=20)]
    """Public keys of persons that approve standing plans; the person that requests one uses another key."""
    interval_s: Annotated[int, Field(ge=5, le=300)] = 15
    """Seconds between two decisions."""
    window_s: Annotated[int, Field(ge=15, le=600)] = 60
    """Seconds whose peaks decide about another replica; default of llm-d's workload-variant-autoscaler."""
    cooldown_s: Annotated[float, Field(ge=1, le=86_400)] | None = None
    """Seconds after a move in which a pool does not move in the other direction. Default, and least value: twice the
    load time of the pool, at least 120 s."""
    scale_down_after_s: Annotated[int, Field(ge=60, le=86_400)] | None = None
    """Seconds whose peaks decide about the removal of a replica. Default, and least value: the cooldown."""
    standing_plan_days: Annotated[int, Field(ge=1, le=365)] = 90
    """Longest duration of a standing plan in days."""
