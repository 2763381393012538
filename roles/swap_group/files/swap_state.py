"""Rules of a swap group: models that share GPUs in turns. Pure; `swap` does the I/O.

    control, action = step(control, seen)      # action: None, or ("wake", "chat")

- At most one engine occupies the GPUs. An engine that does not answer counts as one that occupies them.
- An engine starts or wakes only if all others are asleep or stopped, and the free memory of the GPUs is measured and
  sufficient. Unknown memory is insufficient.
- A pool is open, so that the proxy passes requests to it, only while its engine is awake and has answered since.
- A failed sleep, wake or probe ends the engine's unit, which starts again when the GPUs are free.
- `Control` holds no fact about engines, so that an agent that was killed continues from what it sees.

Python 3.9, standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

STOPPED, SILENT, AWAKE, ASLEEP = "stopped", "silent", "awake", "asleep"
"""States of an engine. Silent: its unit runs and the engine does not answer: it starts, or hangs."""
START, KILL, SLEEP, ABORT, WAKE, PROBE, OPEN, CLOSE = (
    "start",
    "kill",
    "sleep",
    "abort",
    "wake",
    "probe",
    "open",
    "close",
)
"""Actions. `sleep` lets requests in the engine finish; `abort` ends them and sleeps."""

SETTLE_S = 0.5
"""Time without requests after a pool closed. A request can be between proxy and engine."""
SILENCE_S = 20.0
"""Of two engines that occupy the GPUs, a silent one is ended after this time."""
MIN_AWAKE_S = 10.0
"""A pool with requests stays awake this long before the next turn."""
LINGER_S = 30.0
"""A pool without requests stays awake this long before the scheduled pool wakes."""
DRAIN_S = 300.0
"""Requests that run longer after their pool closed are aborted."""
HANG_S = 60.0
"""The engine of an open pool is ended if it is silent for this time."""
ROOM_S = 30.0
"""If the memory of an engine that fell asleep is not free after this time, the engine is ended."""
PROBES = 3
"""Failed probes in a row until the engine is ended."""
PROBE_PAUSE_S = 2.0
PROBE_PERIOD_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0
"""Pause after an engine was ended, which doubles each time until it serves."""


@dataclass(frozen=True)
class Engine:
    """Observation of one engine.

    Args:
        is_sleeping: as the engine reports; None without an answer.
        busy: requests that run or wait in the engine; None if unknown.
        is_open: whether the proxy passes requests to it.
        has_room: whether the GPUs have the free memory that it needs to start or wake; None if not measured.
        start_timeout_s: an engine that is silent for longer is ended.
    """

    pool: str
    unit_runs: bool
    is_sleeping: bool | None
    busy: int | None
    is_open: bool
    has_room: bool | None
    start_timeout_s: float = 900.0

    @property
    def state(self) -> str:
        if not self.unit_runs:
            return STOPPED
        if self.is_sleeping is None:
            return SILENT
        return ASLEEP if self.is_sleeping else AWAKE


@dataclass(frozen=True)
class Seen:
    """Everything that one step reads.

    Args:
        waiting: pools of held requests, by arrival.
        home: scheduled pool: asked for, of the calendar, or of the forecast; None without one.
        done: the last action with its pool, and whether it succeeded.
    """

    now_s: float
    engines: tuple[Engine, ...]
    waiting: tuple[str, ...] = ()
    home: str | None = None
    done: tuple[str, str, bool] | None = None

    def engine(self, pool: str) -> Engine:
        return next(each for each in self.engines if each.pool == pool)


@dataclass(frozen=True)
class Control:
    """Memory of the agent; all of it can be lost.

    Args:
        target: pool whose turn it is.
        is_preparing: whether stopped engines start, one after the other, before the target wakes.
        opened_s: time at which the target opened; None while it is closed.
        served_home: last scheduled pool that had its turn.
        since_s: by condition, the time since which it holds.
        failures: by pool, how often it was ended since it last served, and the time of its next start.
        probes: failed probes in a row.
        is_probed: whether the target answered since it woke.
        probed_s: time of the last probe.
        slept: pool that fell asleep last.
    """

    target: str
    is_preparing: bool = False
    opened_s: float | None = None
    served_home: str | None = None
    since_s: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    probes: int = 0
    is_probed: bool = False
    probed_s: float = float("-inf")
    slept: str | None = None
    reason: str = ""

    def is_paused(self, pool: str, now_s: float) -> bool:
        return now_s < self.failures.get(pool, (0, 0.0))[1]


Action = tuple[str, str]


def begin(seen: Seen) -> Control:
    """Return the first state of an agent: it continues with the open pool."""
    served = [each.pool for each in seen.engines if each.is_open]
    target = served[0] if served else seen.home or seen.engines[0].pool
    return Control(target=target, is_preparing=not served, served_home=target if target == seen.home else None)


def step(control: Control, seen: Seen) -> tuple[Control, Action | None]:
    """Return the next state, and the one action to do now."""
    control = _clocks(_choose(_fallen(_note(control, seen), seen), seen), seen)
    action = _failed(control, seen) or _shut(control, seen) or _next(control, seen)
    if isinstance(action, str):
        return replace(control, reason=action), None
    return replace(control, reason=f"{action[0]} {action[1]}"), action


def _note(control: Control, seen: Seen) -> Control:
    """Take the result of the last action into account."""
    if seen.done is None:
        return control
    action, pool, succeeded = seen.done
    if action == PROBE and pool == control.target:
        probes = 0 if succeeded else control.probes + 1
        return replace(control, probes=probes, is_probed=succeeded or control.is_probed, probed_s=seen.now_s)
    if action in (START, WAKE, KILL) and pool == control.target:
        return replace(control, probes=0, is_probed=False, probed_s=float("-inf"))
    if action in (SLEEP, ABORT) and succeeded:
        return replace(control, slept=pool)
    if action == OPEN and succeeded:
        failures = {each: value for each, value in control.failures.items() if each != pool}
        home = pool if pool == seen.home else control.served_home
        return replace(control, opened_s=seen.now_s, is_preparing=False, failures=failures, served_home=home)
    return control


def _fallen(control: Control, seen: Seen) -> Control:
    """Count the engines that ended, by themselves or by this agent, and pause before their next start."""
    failures = dict(control.failures)
    for each in seen.engines:
        was_started = seen.done is not None and seen.done[:2] == (START, each.pool)
        if each.state == STOPPED and (was_started or f"runs {each.pool}" in control.since_s):
            count = failures.get(each.pool, (0, 0.0))[0] + 1
            pause_s = min(FIRST_PAUSE_S * 2 ** min(count - 1, 10), LONGEST_PAUSE_S)
            failures[each.pool] = (count, seen.now_s + pause_s)
    return replace(control, failures=failures)


def _choose(control: Control, seen: Seen) -> Control:
    """Return the control with the pool whose turn it is."""
    current = seen.engine(control.target)
    is_blocked = control.is_paused(control.target, seen.now_s)
    serves = current.state == AWAKE and current.is_open
    if not serves and not is_blocked:
        return control
    claims = [*seen.waiting, *(each.pool for each in seen.engines if each.state == ASLEEP and each.busy)]
    claims = [each for each in claims if each != control.target and not control.is_paused(each, seen.now_s)]
    opened_s = seen.now_s if control.opened_s is None else control.opened_s
    if claims and (is_blocked or current.busy == 0 or seen.now_s - opened_s >= MIN_AWAKE_S):
        return _turn(control, claims[0])
    home = seen.home
    if home is not None and not claims and _is_due(control, seen, home):
        return _turn(control, home)
    if is_blocked:
        spare = [each.pool for each in seen.engines if each.state == ASLEEP]
        return _turn(control, spare[0]) if spare else control
    return control


def _is_due(control: Control, seen: Seen, home: str) -> bool:
    """Return whether the scheduled pool wakes now: it was not awake yet, or the other one has no requests."""
    if home == control.target or control.is_paused(home, seen.now_s):
        return False
    return home != control.served_home or _lasts(control, seen, "idle", LINGER_S)


def _turn(control: Control, pool: str) -> Control:
    return replace(control, target=pool, opened_s=None, probes=0, is_probed=False, probed_s=float("-inf"))


def _clocks(control: Control, seen: Seen) -> Control:
    """Note since when each condition holds."""
    held = {f"runs {each.pool}" for each in seen.engines if each.unit_runs}
    held |= {f"silent {each.pool}" for each in seen.engines if each.state == SILENT}
    target = seen.engine(control.target)
    if target.is_open and target.busy == 0:
        held.add("idle")
    if target.has_room is False:
        held.add("no room")
    for each in seen.engines:
        if each.state == AWAKE and each.pool != control.target and not each.is_open:
            held.add(f"drain {each.pool}")
            if each.busy == 0:
                held.add(f"quiet {each.pool}")
    since_s = {name: control.since_s.get(name, seen.now_s) for name in sorted(held)}
    opened_s = control.opened_s
    if target.is_open and opened_s is None:
        opened_s = seen.now_s  # opened by an agent before this one
    return replace(control, since_s=since_s, opened_s=opened_s)


def _failed(control: Control, seen: Seen) -> Action | None:
    """Return the end of an engine that failed."""
    if seen.done is not None:
        action, pool, succeeded = seen.done
        if not succeeded and action in (WAKE, SLEEP, ABORT) and seen.engine(pool).unit_runs:
            return KILL, pool
    if control.probes >= PROBES and seen.engine(control.target).unit_runs:
        return KILL, control.target
    return None


def _shut(control: Control, seen: Seen) -> Action | None:
    """Close a pool that may not serve."""
    for each in seen.engines:
        if each.is_open and not (each.pool == control.target and each.state in (AWAKE, SILENT)):
            return CLOSE, each.pool
    return None


def _next(control: Control, seen: Seen) -> Action | str:
    """Return the next action, or the reason to wait."""
    occupying = [each for each in seen.engines if each.state in (AWAKE, SILENT)]
    if len(occupying) > 1:
        return _leave_one(control, seen, occupying)
    if not occupying:
        return _bring_up(control, seen)
    (only,) = occupying
    if only.state == SILENT:
        limit_s = HANG_S if only.is_open else only.start_timeout_s
        return (KILL, only.pool) if _lasts(control, seen, f"silent {only.pool}", limit_s) else f"{only.pool} starts"
    return _serve(control, seen, only) if only.pool == control.target else _put_to_sleep(control, seen, only)


def _leave_one(control: Control, seen: Seen, occupying: list[Engine]) -> Action | str:
    others = [each for each in occupying if each.pool != control.target]
    for each in others:
        if each.state == AWAKE:
            return ABORT, each.pool
    for each in others:
        if _lasts(control, seen, f"silent {each.pool}", SILENCE_S):
            return KILL, each.pool
    return f"{others[0].pool} occupies the GPUs too"


def _serve(control: Control, seen: Seen, target: Engine) -> Action | str:
    if not control.is_probed and not target.is_open:
        if seen.now_s - control.probed_s >= PROBE_PAUSE_S:
            return PROBE, target.pool
        return f"{target.pool} did not answer"
    if not target.is_open:
        return OPEN, target.pool
    pause_s = PROBE_PAUSE_S if control.probes else PROBE_PERIOD_S
    if seen.now_s - max(control.probed_s, control.opened_s or 0.0) >= pause_s:
        return PROBE, target.pool
    return f"{target.pool} serves"


def _put_to_sleep(control: Control, seen: Seen, engine: Engine) -> Action | str:
    if _lasts(control, seen, f"quiet {engine.pool}", SETTLE_S):
        return SLEEP, engine.pool
    if _lasts(control, seen, f"drain {engine.pool}", DRAIN_S):
        return ABORT, engine.pool
    return f"{engine.pool} finishes {'its' if engine.busy is None else engine.busy} requests"


def _bring_up(control: Control, seen: Seen) -> Action | str:
    engine = seen.engine(control.target)
    if control.is_preparing:
        stopped = [each for each in seen.engines if each.state == STOPPED and each.pool not in control.failures]
        engine = next((each for each in stopped if each.pool != control.target), engine)
    if control.is_paused(engine.pool, seen.now_s):
        return f"{engine.pool} failed, and starts again later"
    if engine.has_room is None:
        return "the free memory of the GPUs is unknown"
    if engine.has_room:
        return (START if engine.state == STOPPED else WAKE), engine.pool
    asleep = [each.pool for each in seen.engines if each.state == ASLEEP and each.pool != engine.pool]
    if control.slept in asleep and _lasts(control, seen, "no room", ROOM_S):
        return KILL, control.slept
    return f"the GPUs have too little free memory for {engine.pool}"


def _lasts(control: Control, seen: Seen, condition: str, seconds: float) -> bool:
    return condition in control.since_s and seen.now_s - control.since_s[condition] >= seconds
