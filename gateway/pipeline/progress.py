"""State of one request while its upstreams are asked."""

from __future__ import annotations

from ..exchange.planned import Planned
from ..upstream import Attempts
from .answer_record import AnswerRecorder
from .charge import Charge


class Progress:
    """Changed by `UpstreamSender` and `AttemptPreparer`, in the task of the request."""

    __slots__ = ("charge", "conversations", "is_recorded", "planned", "reasons", "recorder", "tries")

    def __init__(self, planned: Planned) -> None:
        admitted = planned.inspected.admitted
        self.planned = planned
        self.tries = Attempts()
        """Connections of all attempts."""
        self.charge = Charge(admitted.reservation, self.tries)
        self.conversations = admitted.request.conversations
        """As `Attempt.conversations`."""
        self.reasons = [*planned.reasons]
        """Reason codes of the plan, then of upstreams that were asked without success."""
        self.recorder: AnswerRecorder | None = None
        """Recorder of the current attempt; None before the first one."""
        self.is_recorded = False
        """Whether `gateway.request` was recorded; other upstreams are recorded as `gateway.fallback`."""
