"""A circuit breaker: skips a server that keeps failing, then probes it. Pure.

    | state | requests | becomes |
    |---|---|---|
    | closed | all | open after `failures_until_open` failures without a complete answer between them |
    | open | none | half-open after `open_s`; the time doubles for each opening without a complete answer, up to 8 times
    |
    | half-open | one every `probe_every_s` | closed if one is answered, open if one fails |

The beginning of an answer closes the circuit, so that other requests need not wait for the end of a long one. Only a
complete answer resets the count of failures, so a server that breaks off every answer still opens it. Time is an
argument.

    breaker = Breaker(failures_until_open=3, open_s=10)
    breaker.failed(now_s)
    breaker.admits(now_s)      # False while it is open; True reserves the probe of a half-open circuit
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_MAX_DOUBLINGS = 3  # 8 x 10 s: a recovered server is used again after about a minute (chosen, 2026-11)


class State(StrEnum):
    """State of a circuit."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(slots=True)
class Breaker:
    """The circuit of one server. All times are of one monotonic clock, in seconds."""

    failures_until_open: int
    open_s: float
    probe_every_s: float = 1.0
    """Probes are not serialized: one may take a minute, or hang."""
    _failures: int = 0
    _openings: int = 0
    _open_until_s: float | None = None
    """None in the closed state."""
    _probe_at_s: float = 0.0

    def state(self, now_s: float) -> State:
        """Return the current state."""
        if self._open_until_s is None:
            return State.CLOSED
        return State.OPEN if now_s < self._open_until_s else State.HALF_OPEN

    def would_admit(self, now_s: float) -> bool:
        """Return whether a request may be sent now."""
        return self._open_until_s is None or now_s >= max(self._open_until_s, self._probe_at_s)

    def admits(self, now_s: float) -> bool:
        """Return whether a request may be sent now, and reserve a probe for it if the circuit is half-open."""
        if self._open_until_s is None:
            return True
        if now_s < max(self._open_until_s, self._probe_at_s):
            return False
        self._probe_at_s = now_s + self.probe_every_s
        return True

    def answered(self) -> None:
        """Record the beginning of an answer."""
        self._open_until_s = None

    def succeeded(self) -> None:
        """Record a complete answer."""
        self._failures, self._openings, self._open_until_s = 0, 0, None

    def failed(self, now_s: float) -> None:
        """Record a failed or incomplete answer."""
        self._failures += 1
        state = self.state(now_s)
        if state is State.HALF_OPEN or (state is State.CLOSED and self._failures >= self.failures_until_open):
            self._open_until_s = now_s + self.open_s * 2 ** min(self._openings, _MAX_DOUBLINGS)
            self._openings += 1
            self._probe_at_s = 0.0
