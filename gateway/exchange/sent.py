"""State of a request while upstreams are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..quota.need import NOTHING, Nano, Usage
from ..quota.reservation import Reservation
from ..release.judge import Judge
from ..surfaces import Restoration
from ..tokens.conversation import Conversation
from ..tokens.restore import Issued, RestoreBounds, RestoreCounts
from ..upstream import Attempts
from .planned import Planned
from .request import Request


@dataclass(slots=True)
class Exchange:
    """State of a request while upstreams are asked. Filled in as it goes."""

    planned: Planned
    request: Request
    body: dict[str, Any]
    conversation: Conversation
    older: Sequence[Conversation]
    """What the conversation is called under older token keys; one of them may still live."""
    reservation: Reservation
    reasons: list[str]
    counts: RestoreCounts = field(default_factory=RestoreCounts)
    issued: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    """Fields that did not leave and that the answer repeats."""
    upstream: str | None = None
    attempts: Attempts = field(default_factory=Attempts)
    judge: Judge | None = None
    """Of the answer that is on its way; after that, what the checks said."""
    handoff_id: str | None = None
    """Of what the client gets instead of the answer, when a person has to look at that."""
    usage: Usage | None = NOTHING
    """What it has used so far; None when an upstream may have used any part of what is reserved."""
    price: Nano | None = None
    """Of the upstream that was asked last."""

    @classmethod
    def of(cls, planned: Planned) -> Exchange:
        """Before the first upstream."""
        admitted = planned.inspected.admitted
        request = admitted.request
        conversation, *older = request.conversations
        return cls(planned, request, admitted.body, conversation, older, admitted.reservation, [*planned.reasons])

    def settle(self) -> None:
        """Nothing more will be used. More than once does no harm."""
        usage = self.usage
        if usage is not None and (hedges := self.attempts.hedges):
            usage = Usage(usage.prompt * (1 + hedges), usage.completion * (1 + hedges))
        self.reservation.settle(usage, self.price)

    def restoration(self, bounds: RestoreBounds) -> Restoration:
        """What the answer is restored with: nothing for a caller who may not see values."""
        request = self.request
        if not (self.issued and request.principal.may_restore):
            return Restoration({}, request.route.model, self.counts, self.kept)
        is_json = request.surface.wants_json(self.body)
        return Restoration(Issued(self.issued, bounds), request.route.model, self.counts, self.kept, is_json=is_json)

    def new_judge(self) -> Judge | None:
        """A judge for an answer that has come; None when nothing is checked."""
        request, inspector = self.request, self.planned.inspected.inspector
        if request.release_checks is None or not request.surface.is_judged:
            return None
        texts = [*(leaf.text for leaf in inspector.leaves.texts), *self.issued.values()]
        may_see = request.principal.may_restore
        self.judge = request.release_checks.judge(self.body, inspector.found, texts, may_see=may_see)
        return self.judge
