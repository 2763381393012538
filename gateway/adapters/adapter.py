"""Adapts one client API to one upstream: path, headers and body of a request, and the format of its answer. Pure.

    adapter = adapter_of(upstream, surface)          # None if requests are sent as they are
    adapter.check(body)                              # raises Inexpressible
    sent = adapter.outgoing(tokenized, is_stream=True)
    decoder = adapter.decoder(options, is_stream=True, max_event_bytes=1 << 20)
    decoder.feed(data)                               # events of the client's API

The body of a request is tokenized before, and the answer is restored afterwards. Therefore an adapter sees tokens only,
and all rules for restoring and release apply to the client's API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import orjson

from ..body import exact_json
from ..body.sse import DONE, Framer, event
from ..settings import UpstreamApi, UpstreamSettings
from ..surfaces import SURFACES, Surface
from ..surfaces.answers.answer_json import without_lone_surrogates
from .anthropic_on_bedrock import COUNT_ON_BEDROCK, MESSAGES_ON_CONVERSE, EventStreamFramer
from .anthropic_on_openai import MESSAGES_ON_CHAT
from .endpoints import Endpoint, Format, endpoint_of
from .openai_on_anthropic import CHAT_ON_MESSAGES
from .translation import (
    DONE_EVENT,
    AnswerOptions,
    Body,
    Events,
    Inexpressible,
    RequestOptions,
    Translation,
    chained,
    protocol_error,
)

_TRANSLATIONS: Mapping[tuple[str, Format], Translation] = {
    ("chat.completions", Format.MESSAGES): CHAT_ON_MESSAGES,
    ("chat.completions", Format.CONVERSE): chained(CHAT_ON_MESSAGES, MESSAGES_ON_CONVERSE),
    ("messages", Format.CHAT): MESSAGES_ON_CHAT,
    ("messages", Format.CONVERSE): MESSAGES_ON_CONVERSE,
    ("messages.count_tokens", Format.BEDROCK_COUNT): COUNT_ON_BEDROCK,
}
"""Translations by API of the client and format of the upstream."""
_NAMED_EVENTS = "messages"
"""The API whose streams name the type of each event."""


class Outgoing(NamedTuple):
    """A request as it is sent."""

    path: str
    body: bytes
    headers: Mapping[str, str] | None


class Decoder(Protocol):
    """Translates the bytes of one answer."""

    def feed(self, data: bytes) -> bytes:
        """Return the client's events for a part of a stream."""

    def whole(self, data: bytes) -> bytes:
        """Return the client's answer for an answer that is not streamed."""


class Adapter:
    """One client API at one upstream.

    Args:
        translation: None if client and upstream have the same API, at another path.
    """

    def __init__(
        self, upstream: UpstreamSettings, surface: Surface, endpoint: Endpoint, translation: Translation | None
    ) -> None:
        self._surface = surface
        self._endpoint = endpoint
        self._translation = translation
        self._options = RequestOptions(upstream.model, upstream.default_max_tokens)
        self._fields = dict(endpoint.fields)

    def check(self, body: Mapping[str, Any]) -> None:
        """Check that a request can be translated.

        Raises:
            Inexpressible: a field has no equivalent at the upstream.
        """
        if self._translation is not None:
            self._translation.request(body, self._options)

    def outgoing(self, body: bytes, *, is_stream: bool, headers: Mapping[str, str] | None) -> Outgoing:
        """Return the request for the upstream.

        Args:
            body: JSON in the client's API, as the upstream may see it.
            headers: those of the client's API; not sent to another API.

        Raises:
            Inexpressible: a field has no equivalent at the upstream.
        """
        translation, path = self._translation, self._endpoint.path(is_stream)
        if translation is not None or self._fields:
            made: Body = exact_json.loads(body)
            if translation is not None:
                made = translation.request(made, self._options)
            if self._fields:
                made = {**{name: value for name, value in made.items() if name != "model"}, **self._fields}
            body = exact_json.dumps(made)
        if translation is not None:
            headers = self._endpoint.headers or None
        return Outgoing(path, body, headers)

    def decoder(self, options: AnswerOptions, *, max_event_bytes: int) -> Decoder | None:
        """Return the decoder of one answer; None if the answer already has the client's API."""
        if self._translation is None:
            return None
        is_binary = self._endpoint.format is Format.CONVERSE
        return _Decoder(
            self._translation,
            options,
            _BinaryEvents(max_event_bytes) if is_binary else _SseEvents(max_event_bytes),
            has_names=self._surface.name == _NAMED_EVENTS,
        )

    @property
    def description(self) -> str:
        """The client's API and the one of the upstream, for operators."""
        if self._translation is None:
            return f"{self._surface.name} at {self._endpoint.path(False)}"
        return f"{self._surface.name} as {self._endpoint.format.value}"


def adapter_of(upstream: UpstreamSettings, surface: Surface) -> Adapter | None:
    """Return the adapter; None if requests and answers pass as they are, or if the API is not served."""
    endpoint = endpoint_of(upstream, surface)
    if endpoint is None:
        return None
    translation = _TRANSLATIONS.get((surface.name, endpoint.format))
    if translation is None and upstream.api in (UpstreamApi.OPENAI, UpstreamApi.ANTHROPIC):
        return None
    return Adapter(upstream, surface, endpoint, translation)


Adapters = Mapping[tuple[str, str], Adapter]
"""Adapters by names of the upstream and the client API."""


def adapters_of(upstreams: Iterable[UpstreamSettings]) -> Adapters:
    """Return the adapters of all upstreams."""
    found = {}
    for upstream in upstreams:
        for surface in SURFACES.values():
            if (adapter := adapter_of(upstream, surface)) is not None:
                found[upstream.name, surface.name] = adapter
    return found


def unserved_surfaces(upstream: UpstreamSettings) -> frozenset[str]:
    """Return the names of client APIs that the family of a served one includes, and the upstream lacks."""
    return frozenset(
        surface.name
        for surface in SURFACES.values()
        if surface.family in upstream.surfaces and endpoint_of(upstream, surface) is None
    )


class _Decoder:
    def __init__(
        self, translation: Translation, options: AnswerOptions, source: _SseEvents | _BinaryEvents, *, has_names: bool
    ) -> None:
        self._translation = translation
        self._options = options
        self._source = source
        self._events: Events | None = None
        self._has_names = has_names

    def feed(self, data: bytes) -> bytes:
        if self._events is None:
            self._events = self._translation.events(self._options)
        feed = self._events.feed
        return b"".join([self._framed(made) for said in self._source.feed(data) for made in feed(said)])

    def whole(self, data: bytes) -> bytes:
        return _written(self._translation.answer(_parsed(data), self._options))

    def _framed(self, made: Body) -> bytes:
        if made is DONE_EVENT:
            return event(DONE)
        if self._has_names:
            return b"event: " + str(made["type"]).encode() + b"\n" + event(_written(made))
        return event(_written(made))


class _SseEvents:
    def __init__(self, max_event_bytes: int) -> None:
        self._framer = Framer(max_event_bytes=max_event_bytes)

    def feed(self, data: bytes) -> list[Body]:
        return [DONE_EVENT if said == DONE else _parsed(said) for said in self._framer.feed(data)]


class _BinaryEvents:
    def __init__(self, max_event_bytes: int) -> None:
        self._framer = EventStreamFramer(max_event_bytes=max_event_bytes)

    def feed(self, data: bytes) -> list[Body]:
        return self._framer.feed(data)


def _parsed(data: bytes) -> Body:
    """Parse an answer or event with exact numbers.

    Raises:
        UpstreamFailed: it is not a JSON object.
    """
    try:
        said = exact_json.loads(without_lone_surrogates(data))
    except (orjson.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise protocol_error() from None
    if not isinstance(said, dict):
        raise protocol_error()
    return said


def _written(made: Body) -> bytes:
    try:
        written = exact_json.dumps(made)
    except orjson.JSONEncodeError:
        raise protocol_error() from None
    return written


__all__ = [
    "Adapter",
    "Adapters",
    "AnswerOptions",
    "Decoder",
    "Inexpressible",
    "Outgoing",
    "adapter_of",
    "adapters_of",
    "unserved_surfaces",
]
