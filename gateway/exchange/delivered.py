"""The end of an answer, as its audit record states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..recordings.recording import Recording
from ..tokens.restore import RestoreCounts
from .value import value


@value
class Delivered:
    """The end of an answer: delivered in full, in part, or not."""

    request_id: str
    status: int
    """HTTP status of the response."""
    reason: str
    """`answered`, `handed_over`, `client-left` or a reason code."""
    upstream: str | None
    """Source of the answer; None if no upstream gave one."""
    counts: RestoreCounts
    digest: str
    """Keyed digest of the bytes of the response's body that the client was sent: events, an answer or an error."""
    tries: Sequence[str]
    """Connections of the request, in order: `upstream/server:outcome`."""
    release: Mapping[str, Any] | None = None
    """Verdicts and reason codes of the release checks; None without checks."""
    handoff_id: str | None = None
    """Id of the hand-off that replaces the answer; None if it was not handed off."""
    earlier_release: Sequence[Mapping[str, Any]] = ()
    """As `release`, with the upstream, for each answer that was judged and not delivered; oldest first."""
    fallback_route: str | None = None
    """Fallback route that provided `upstream`; None if it is of the request's own route."""
    recording: Recording | None = None
    """Audio that arrived while the answer was streamed; None without such audio."""
