"""A circuit breaker: a server that keeps failing is left alone for a while, then asked again carefully. Pure.

| state | requests | becomes |
|---|---|---|
| closed | all | open after `failures_until_open` failures with no whole answer between them |
| open | none | half-open after `open_s`; twice as long each time it opens with no whole answer between, up to 8 times |
| half-open | one every `probe_every_s` | closed when one is answered, open when one fails |

An answer that only begins closes the circuit, so that nobody waits for the end of a long one. The failures are
forgotten when an answer is whole, so a server that breaks off every answer opens it all the same. Time is an argument.

breaker = Breaker(failures_until_open=3, open_s=10)
breaker.failed(now_s)
breaker.admits(now_s)      # False while it is open; True takes the half-open circuit's place for a probe
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_MOST_DOUBLINGS = 3  # 8 x 10 s: a server that is back is noticed within a minute or so (chosen, 2026-11)


class State(StrEnum):
    """Of a circuit."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(slots=True)
class Breaker:
    """The circuit of one server. All times are of one monotonic clock, in seconds."""

    failures_until_open: int
    open_s: float
    probe_every_s: float = 1.0
    """A probe may be an answer of a minute, and one that hangs must not hold up the next."""
    _failures: int = 0
    _openings: int = 0
    _open_until_s: float | None = None
    """None while it is closed."""
    _probe_at_s: float = 0.0

    def state(self, now_s: float) -> State:
        """What it is now."""
        if self._open_until_s is None:
            return State.CLOSED
        return State.OPEN if now_s < self._open_until_s else State.HALF_OPEN

    def would_admit(self, now_s: float) -> bool:
        """True when a request may go there now."""
        return self._open_until_s is None or now_s >= max(self._open_until_s, self._probe_at_s)

    def admits(self, now_s: float) -> bool:
        """The same, of a request that goes there if it may."""
        if self._open_until_s is None:
            return True
        if now_s < max(self._open_until_s, self._probe_at_s):
            return False
        self._probe_at_s = now_s + self.probe_every_s
        return True

    def answered(self) -> None:
        """An answer has begun."""
        self._open_until_s = None

    def succeeded(self) -> None:
        """An answer is whole."""
        self._failures, self._openings, self._open_until_s = 0, 0, None

    def failed(self, now_s: float) -> None:
        """No answer, or a broken one."""
        self._failures += 1
        state = self.state(now_s)
        if state is State.HALF_OPEN or (state is State.CLOSED and self._failures >= self.failures_until_open):
            self._open_until_s = now_s + self.open_s * 2 ** min(self._openings, _MOST_DOUBLINGS)
            self._openings += 1
            self._probe_at_s = 0.0
