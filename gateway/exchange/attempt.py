"""One request to an upstream, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..settings import Fault
from ..tokens.conversation import Conversation
from ..tokens.restore import RestoreCounts
from ..upstream import Attempts
from .planned import Planned
from .request import Request
from .value import value

_THREAD_THRESHOLD_BYTES = 64 << 10  # below, the work takes less time than a switch to a thread and back


@value
class Attempt:
    """A request as it is sent to one upstream."""

    planned: Planned
    request: Request
    """The request as its client sent it."""
    upstream: str
    body: bytes
    """JSON as the upstream gets it: with tokens for a cloud, with the original text for a pool."""
    conversations: tuple[Conversation, ...]
    """As `Request.conversations`; only the current one, once the vault was asked for it."""
    issued: Mapping[str, str]
    """Values by token; empty if the original text is sent."""
    repeated: Mapping[str, Any]
    """Fields that are not sent and that the answer repeats."""
    tries: Attempts
    """Connections of all attempts of the request. Grows during the attempt."""
    counts: RestoreCounts
    """Tokens restored in the answer. Grows while the answer is restored."""

    @property
    def conversation(self) -> Conversation:
        """The conversation; under the newest token key, unless the vault was asked."""
        return self.conversations[0]


@value
class AttemptResult:
    """A complete answer of an upstream, restored and not yet released."""

    attempt: Attempt
    answer: dict[str, Any]
    size_bytes: int
    """Size of the answer as the upstream sent it."""
    fault: Fault | None = None
    """Reason to try the next upstream for a better answer; None to deliver this answer."""

    @property
    def is_large(self) -> bool:
        """Whether the answer is judged in a thread, so that the event loop serves other requests."""
        return self.size_bytes > _THREAD_THRESHOLD_BYTES
