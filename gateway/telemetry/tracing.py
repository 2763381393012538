"""Traces of requests for an OpenTelemetry collector: names, codes, counts and times, without text.

    request     from the complete request to the end of its answer
    detect      inspection
    vault       storing the values of its tokens
    audit       making its records durable
    chat big    from sending it to the beginning of the answer, with the retries at that pool or cloud; named by
                operation and model
    release     release checks

`ATTRIBUTES` lists all attributes, with the names of OpenTelemetry's conventions where there are any (`gen_ai`); other
attributes are dropped, and so are values that are not numbers, booleans or short words. The gateway continues a
client's W3C `traceparent`, sends one to pools, and none to clouds. A separate thread sends the spans from a bounded
queue: if the collector is slow or unreachable, spans are lost, and requests are not affected. Without `tracing` in the
settings, OpenTelemetry is not imported.

    tracing = Tracing(settings, site="lab")
    trace = tracing.begin(headers.get("traceparent"))     # None for a request that is not sampled
    with span(trace, "detect"): ...
    trace.end({"status": 200})
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sovctl import __version__

from ..domain.errors import UpstreamFailed
from ..settings import TracingSettings
from . import log

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

TRACEPARENT = "traceparent"
ATTRIBUTES: Mapping[str, tuple[str, type]] = {
    "attempts": ("sovctl.attempts", int),
    "error_type": ("error.type", str),
    "fallback_route": ("sovctl.fallback_route", str),
    "findings": ("sovctl.findings", int),
    "input_tokens": ("gen_ai.usage.input_tokens", int),
    "is_stream": ("gen_ai.request.stream", bool),
    "model": ("gen_ai.request.model", str),
    "operation": ("gen_ai.operation.name", str),
    "output_tokens": ("gen_ai.usage.output_tokens", int),
    "provider": ("gen_ai.provider.name", str),
    "reason": ("sovctl.reason", str),
    "request_bytes": ("sovctl.request_bytes", int),
    "request_id": ("sovctl.request_id", str),
    "response_model": ("gen_ai.response.model", str),
    "status": ("http.response.status_code", int),
    "surface": ("sovctl.surface", str),
    "tokens": ("sovctl.tokens", int),
    "upstream": ("sovctl.upstream", str),
    "upstream_kind": ("sovctl.upstream_kind", str),
    "verdict": ("sovctl.verdict", str),
}
"""Full name and type of each permitted attribute: names from the settings, fixed words, counts."""

_WORD = re.compile(r"[A-Za-z0-9._:/@-]{1,200}")
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")  # W3C Trace Context 1, 3.2.2
_MAX_WAITING = 4096  # spans, about 4 MB: 680 sampled requests with 6 spans each
_BATCH = 512
_SEND_EVERY_S = 1.0
_TIMEOUT_S = 5.0
_LAST_SEND_S = 2.0  # timeout for the collector when the gateway stops
_SAY_EVERY_S = 60.0
NOTHING: AbstractContextManager[Any] = nullcontext()
"""Used instead of a span if the request is not sampled."""


class Tracing:
    """Creates traces and sends them. Open it in the serving process, because it starts a thread."""

    def __init__(self, settings: TracingSettings, *, site: str) -> None:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # `_Sending` logs instead
        self._trace = trace
        self._limit = int(settings.sample_ratio * 2**56)
        self._processor = BatchSpanProcessor(
            _sending(settings),
            max_queue_size=_MAX_WAITING,
            max_export_batch_size=_BATCH,
            schedule_delay_millis=_SEND_EVERY_S * 1000,
        )
        resource = Resource(
            {"service.name": "sovctl-gateway", "service.version": __version__, "service.namespace": site}
        )
        # The trace id decides about sampling; environment variables do not.
        provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("sovctl.gateway", __version__)

    def begin(self, traceparent: str | None) -> Trace | None:
        """Return the trace of a request; None if it is not sampled.

        Args:
            traceparent: header of the client, unchanged.
        """
        parent = _TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
        trace_id, span_id = (int(part, 16) for part in parent.groups()) if parent is not None else (0, 0)
        # W3C Trace Context 2, 3.2.2.3.1: the last seven bytes are random, so all systems sample the same traces.
        drawn = trace_id % 2**56 if trace_id else secrets.randbits(56)
        if drawn >= self._limit:
            return None
        api, context = self._trace, None
        if trace_id and span_id:
            remote = api.SpanContext(trace_id, span_id, is_remote=True, trace_flags=api.TraceFlags(1))
            context = api.set_span_in_context(api.NonRecordingSpan(remote), api.context_api.Context())
        root = self._tracer.start_span("request", context or api.context_api.Context(), kind=api.SpanKind.SERVER)
        return Trace(self._tracer, root, api.set_span_in_context(root, api.context_api.Context()))

    async def close(self) -> None:
        """Send the queued spans within the timeout."""
        # A daemon thread, because the library's own timeouts are longer.
        sending = threading.Thread(target=self._processor.shutdown, name="last traces", daemon=True)
        sending.start()
        await asyncio.to_thread(sending.join, _LAST_SEND_S)


class Trace:
    """Trace of one request."""

    def __init__(self, tracer: Any, root: Span, context: Any) -> None:
        self._tracer = tracer
        self._root = root
        self._context = context

    def span(self, name: str, attributes: Mapping[str, Any] | None = None) -> Timed:
        """Return a child span, from now until the end of the `with` block."""
        return Timed(self._tracer.start_span(name, self._context), attributes)

    def client_span(self, attributes: Mapping[str, Any]) -> Timed:
        """Return the span of a call to a model, named by `operation` and `model`."""
        from opentelemetry.trace import SpanKind

        name = f"{attributes['operation']} {attributes['model']}"
        return Timed(self._tracer.start_span(name, self._context, kind=SpanKind.CLIENT), attributes)

    def past(self, name: str, began_ns: int, attributes: Mapping[str, Any]) -> None:
        """Add a child span that began at a time (ns since 1970) and ends now."""
        span = self._tracer.start_span(name, self._context, start_time=began_ns)
        span.set_attributes(allowed(attributes))
        span.end()

    def end(self, attributes: Mapping[str, Any]) -> None:
        """End the trace; later attributes are ignored."""
        self._root.set_attributes(allowed(attributes))
        self._root.end(time.time_ns())


class Timed:
    """A span that ends with its `with` block."""

    def __init__(self, span: Span, attributes: Mapping[str, Any] | None) -> None:
        self._span = span
        if attributes:
            span.set_attributes(allowed(attributes))

    def say(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes."""
        self._span.set_attributes(allowed(attributes))

    @property
    def traceparent(self) -> str:
        """Header for a pool, whose own spans become children of this one."""
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"

    def __enter__(self) -> Timed:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, _traceback: TracebackType | None) -> None:
        if kind is not None:  # its class only, because a message may contain any text
            cause = error.cause if isinstance(error, UpstreamFailed) else kind.__name__
            self._span.set_attributes(allowed({"reason": kind.__name__, "error_type": cause}))
        self._span.end()


def span(
    trace: Trace | None, name: str, attributes: Mapping[str, Any] | None = None
) -> AbstractContextManager[Timed | None]:
    """Return a child span, or `NOTHING` without a trace."""
    return NOTHING if trace is None else trace.span(name, attributes)


def client_span(
    trace: Trace | None, attributes: Callable[[], Mapping[str, Any]]
) -> AbstractContextManager[Timed | None]:
    """Return the span of a call to a model, or `NOTHING` without a trace."""
    return NOTHING if trace is None else trace.client_span(attributes())


def allowed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the permitted attributes by their full names."""
    return {
        known[0]: value
        for name, value in attributes.items()
        if (known := ATTRIBUTES.get(name)) is not None
        and type(value) is known[1]
        and (type(value) is not str or _WORD.fullmatch(value))
    }


def _sending(settings: TracingSettings) -> SpanExporter:
    import requests
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    session = requests.Session()
    session.trust_env = False  # ignore HTTP_PROXY and HTTPS_PROXY
    session.max_redirects = 0
    inner = OTLPSpanExporter(
        str(settings.endpoint),
        certificate_file=str(settings.ca_file) if settings.ca_file is not None else None,
        timeout=_TIMEOUT_S,
        compression=Compression.NoCompression,
        session=session,
    )

    class _Sending(SpanExporter):
        """Logs once a minute that the collector does not accept spans."""

        _said_at = -_SAY_EVERY_S

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = inner.export(spans)
            now = time.monotonic()
            if result is not SpanExportResult.SUCCESS and now - self._said_at >= _SAY_EVERY_S:
                self._said_at = now
                log.event("traces rejected by the collector", level=30, spans=len(spans))
            return result

        def shutdown(self) -> None:
            inner.shutdown()  # type: ignore[no-untyped-call]

    return _Sending()
