"""Simulation of vLLM's admission rules, against which the closed formulas are tested.

One step computes every running request, then admits waiting requests while the blocks of their tokens are free. See the
rules in `engine/sizing/performance/admission.py`. Without prefix cache.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

_BLOCK = 16
_STEP_TOKENS = 8192


@dataclass(eq=False)
class _Request:
    input_tokens: int
    output_tokens: int
    sent_s: float
    generated: int = 0
    computed: int = 0
    blocks: int = 0
    first_s: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.generated


@dataclass
class Outcome:
    """Means over all requests that ended."""

    running: float = 0.0
    """Mean running requests over time."""
    ttft_s: list[float] = field(default_factory=list)
    preempted: int = 0
    recomputed: int = 0
    """Tokens of preempted requests that were computed before."""
    ended: int = 0
    seconds: float = 0.0


@dataclass
class Scheduler:
    """vLLM's scheduler for `clients` that each send the next request after an answer."""

    kv_tokens: int
    clients: int
    input_tokens: int
    output_tokens: int
    step_s: Callable[[int, int], float]
    """Seconds of a step, from its tokens and its requests."""
    spread: float = 0.0
    """Lengths are uniform in mean x (1 - spread, 1 + spread)."""

    def run(self, requests: int) -> Outcome:
        """Run until `requests` requests ended."""
        self._random = random.Random(20261128)
        self._free = self.kv_tokens // _BLOCK
        self._running: list[_Request] = []
        self._waiting = deque(self._new(0.0) for _ in range(self.clients))
        self._out = out = Outcome()
        busy = 0.0
        while out.ended < requests:
            scheduled, has_preempted = self._continued()
            if not has_preempted:
                self._admit(scheduled)
            took_s = self.step_s(sum(scheduled.values()), len(scheduled))
            out.seconds += took_s
            busy += took_s * len(self._running)
            self._advance(scheduled)
        out.running = busy / out.seconds
        return out

    def _new(self, now_s: float) -> _Request:
        def length(mean: int) -> int:
            return max(1, round(mean * (1 + self.spread * (2 * self._random.random() - 1))))

        return _Request(length(self.input_tokens), length(self.output_tokens), now_s)

    def _take(self, request: _Request, tokens: int) -> bool:
        more = -(-tokens // _BLOCK) - request.blocks
        if more > self._free:
            return False
        self._free -= more
        request.blocks += more
        return True

    def _continued(self) -> tuple[dict[_Request, int], bool]:
        scheduled: dict[_Request, int] = {}
        has_preempted, position = False, 0
        while position < len(self._running):
            request = self._running[position]
            tokens = min(request.tokens - request.computed, _STEP_TOKENS - sum(scheduled.values()))
            while not self._take(request, request.computed + tokens):
                last, has_preempted = self._running.pop(), True
                self._preempt(last)
                scheduled.pop(last, None)
                if last is request:
                    return scheduled, True
            scheduled[request] = tokens
            position += 1
        return scheduled, has_preempted

    def _preempt(self, request: _Request) -> None:
        self._out.preempted += 1
        self._out.recomputed += request.computed
        self._free += request.blocks
        request.blocks = request.computed = 0
        self._waiting.appendleft(request)

    def _admit(self, scheduled: dict[_Request, int]) -> None:
        left = _STEP_TOKENS - sum(scheduled.values())
        while self._waiting and left > 0 and -(-self._waiting[0].tokens // _BLOCK) <= self._free:
            request = self._waiting.popleft()
            tokens = min(request.tokens, left)
            self._take(request, tokens)
            self._running.append(request)
            scheduled[request], left = tokens, left - tokens

    def _advance(self, scheduled: dict[_Request, int]) -> None:
        out = self._out
        for request, tokens in scheduled.items():
            request.computed += tokens
            if request.computed < request.tokens:
                continue
            request.first_s = request.first_s or out.seconds
            request.generated += 1
            if request.generated == request.output_tokens:
                self._running.remove(request)
                self._free += request.blocks
                out.ended += 1
                out.ttft_s.append(request.first_s - request.sent_s)
                self._waiting.append(self._new(out.seconds))
