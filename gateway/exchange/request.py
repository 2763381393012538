"""One request on its way through the gateway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..access.principal import Principal
from ..inspection.inspector import Inspection, Inspector
from ..policy.decision import Permit
from ..policy.permissions import Permissions
from ..quota.need import NOTHING, Nano, Usage
from ..quota.reservation import UNLIMITED, Reservation
from ..release.judge import Checks, Judge
from ..routing.complexity import Shadow
from ..routing.demand import Demand
from ..settings import RouteSettings
from ..surfaces import Restoration, Surface
from ..telemetry.tracing import Trace
from ..tokens.conversation import Conversation
from ..tokens.restore import Issued, RestoreBounds, RestoreCounts
from ..upstream import Attempts

_LARGE_BYTES = 64 << 10  # the work on less is done in the time that two threads take to change places


@dataclass(slots=True)
class Exchange:
    """One request on its way. Filled in as it goes."""

    surface: Surface
    client: Principal
    route: RouteSettings
    model: str
    """What its client calls the model, which is the route's name."""
    permissions: Permissions
    body: dict[str, Any]
    raw: bytes
    conversation: Conversation
    request_id: str
    started: float
    is_stream: bool
    """The client asked for a stream."""
    inspector: Inspector
    headers: Mapping[str, str]
    """Of the client: those that the surface asks for."""
    older: Sequence[Conversation] = ()
    """What the conversation is called under older token keys; one of them may still live."""
    inspection: Inspection | None = None
    permit: Permit | None = None
    counts: RestoreCounts = field(default_factory=RestoreCounts)
    issued: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    """Fields that did not leave and that the answer repeats."""
    upstream: str | None = None
    reasons: list[str] = field(default_factory=list)
    demand: Demand | None = None
    shadow: Shadow | None = None
    """What a heuristic would have chosen."""
    attempts: Attempts = field(default_factory=Attempts)
    deadline_s: float | None = None
    """When an answer must have begun, by the loop's clock."""
    checks: Checks | None = None
    """What the answer must pass before the client sees it."""
    judge: Judge | None = None
    """Of the answer that is on its way; after that, what the checks said."""
    handoff_id: str | None = None
    """Of what the client gets instead of the answer, when a person has to look at that."""
    trace: Trace | None = None
    """Its trace, when it is sampled."""
    reservation: Reservation = UNLIMITED
    usage: Usage | None = NOTHING
    """What it has used so far; None when an upstream may have used any part of what is reserved."""
    costs: Mapping[str, int] | None = None
    """What it costs at most, by upstream, in nano; None where nobody asks."""
    max_cost: int | None = None
    """What it may cost by its route's cap."""
    budget: int | None = None
    """What of the caller's budgets is reserved for it; None for who has no limits."""
    price: Nano | None = None
    """Of the upstream that was asked last."""
    hides_usage: bool = False
    """The stream was made to say what was used; its client did not ask for that."""

    def settle(self) -> None:
        """Nothing more will be used. More than once does no harm."""
        usage = self.usage
        if usage is not None and (hedges := self.attempts.hedges):
            usage = Usage(usage.prompt * (1 + hedges), usage.completion * (1 + hedges))
        self.reservation.settle(usage, self.price)

    def end_trace(self, *, status: int, reason: str) -> None:
        """The answer is out, or refused."""
        if (trace := self.trace) is None:
            return
        self.trace = None
        trace.end(
            {
                "surface": self.surface.name,
                "model": self.model,
                "request_id": self.request_id,
                "is_stream": self.is_stream,
                "request_bytes": len(self.raw),
                "tokens": len(self.issued),
                "upstream": self.upstream,
                "status": status,
                "reason": reason,
            }
        )

    @property
    def is_large(self) -> bool:
        """True when it is worked on in a thread, so that others are served meanwhile."""
        return len(self.raw) > _LARGE_BYTES

    def restoration(self, bounds: RestoreBounds) -> Restoration:
        """What the answer is restored with: nothing for a caller who may not see values."""
        if not (self.issued and self.client.may_restore):
            return Restoration({}, self.model, self.counts, self.kept)
        is_json = self.surface.wants_json(self.body)
        return Restoration(Issued(self.issued, bounds), self.model, self.counts, self.kept, is_json=is_json)

    def new_judge(self) -> Judge | None:
        """A judge for an answer that has come; None when nothing is checked."""
        surface, inspector = self.surface, self.inspector
        if self.checks is None or not surface.is_judged:
            return None
        texts = [*(leaf.text for leaf in inspector.leaves.texts), *self.issued.values()]
        self.judge = self.checks.judge(self.body, inspector.found, texts, may_see=self.client.may_restore)
        return self.judge
