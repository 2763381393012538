"""A request as its client sent it, attributed to a principal and a route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..access.principal import Principal
from ..domain.errors import Refused
from ..policy.decision import coarse
from ..policy.permissions import Permissions
from ..quota.need import Usage
from ..recordings.live import LiveRecording
from ..recordings.recording import Recording
from ..release.judge import ReleaseChecks
from ..settings import RouteSettings
from ..surfaces import Surface
from ..telemetry.gen_ai import OPERATIONS
from ..telemetry.tracing import Trace
from ..tokens.conversation import Conversation
from ..upstream.retrieval_service import Hit
from .value import value

_FAILED = 400  # statuses from here on are errors
_THREAD_THRESHOLD_BYTES = 64 << 10  # below, the work takes less time than a switch to a thread and back


@value
class Request:
    """A request that its principal may make."""

    request_id: str
    received_at_s: float
    """Time of receipt, in seconds of `time.perf_counter`."""
    deadline_s: float | None
    """Deadline for the first byte of the answer, in seconds of the event loop's clock."""
    surface: Surface
    principal: Principal
    route: RouteSettings
    permissions: Permissions
    headers: Mapping[str, str]
    """Client headers that the surface asks for (`Surface.client_headers`)."""
    body: dict[str, Any]
    """Decoded `raw_body`. Not to be changed."""
    raw_body: bytes
    is_stream: bool
    """Whether the client asked for a stream."""
    conversations: tuple[Conversation, ...]
    """The conversation under each token key, newest key first: it may have begun under an older one."""
    release_checks: ReleaseChecks | None
    """Checks that the answer must pass before it is released; None without checks."""
    trace: Trace | None
    """Trace of the request; None if it is not sampled."""
    may_resend: bool = False
    """Whether the client permits that the request is processed twice."""
    sources: Sequence[Hit] = ()
    """Chunks of documents that the gateway has put into the request, by their number from 1."""
    recording: Recording | None = None
    """The recording in the request, once it is measured; None without one."""
    live: LiveRecording | None = None
    """Audio that arrives while the answer is streamed; None without such audio. Grows during the request."""

    @property
    def model(self) -> str:
        """Model name that the client used, which is the name of the route."""
        return self.route.model

    @property
    def is_large(self) -> bool:
        """Whether work on the body is done in a thread, so that the event loop serves other requests."""
        return len(self.raw_body) > _THREAD_THRESHOLD_BYTES

    def error(self, refused: Refused) -> bytes:
        """Return the body of its response if it is refused, with the reasons that its principal may see."""
        reasons = refused.reasons if self.principal.is_admin else coarse(refused.reasons)
        return self.surface.error(refused.code, request_id=self.request_id, param=refused.param, reasons=reasons)

    def end_trace(
        self,
        *,
        status: int,
        reason: str,
        upstream: str | None = None,
        model: str | None = None,
        tokens: int = 0,
        usage: Usage | None = None,
    ) -> None:
        """End its trace, if it has one.

        Args:
            status: HTTP status of the response.
            reason: `answered`, a reason code, or the class of an unexpected exception.
            upstream: the upstream asked last; None if none was.
            model: model name of that upstream in the settings.
            tokens: number of tokens in the body that was sent.
            usage: as the upstream reported it; None if it did not.
        """
        if self.trace is None:
            return
        self.trace.end(
            {
                "surface": self.surface.name,
                "operation": OPERATIONS[self.surface.family],
                "model": self.route.model,
                "request_id": self.request_id,
                "is_stream": self.is_stream,
                "request_bytes": len(self.raw_body),
                "tokens": tokens,
                "upstream": upstream,
                "response_model": model,
                "status": status,
                "reason": reason,
                **({} if status < _FAILED else {"error_type": reason}),
                **({} if usage is None else {"input_tokens": usage.prompt, "output_tokens": usage.completion}),
            }
        )

    def end_trace_of_error(self, error: BaseException, *, upstream: str | None = None, tokens: int = 0) -> None:
        """End its trace, if it has one, with what ended the request."""
        status, reason = (error.status, error.code.value) if isinstance(error, Refused) else (500, type(error).__name__)
        self.end_trace(status=status, reason=reason, upstream=upstream, tokens=tokens)
