"""Types of a translation between two APIs: of a request, of a whole answer, and of the events of a stream. Pure.

- A request is translated after it was tokenized, and an answer before it is restored. Both functions move strings and
  change none of them.
- A field without an equivalent raises `Inexpressible`, unless a table states that omitting it is harmless.

Translations can be chained: OpenAI's API on Bedrock is OpenAI's on Anthropic's, and Anthropic's on Converse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import orjson

from ..body import exact_json
from ..domain.errors import UpstreamFailed

Body = dict[str, Any]

DONE_EVENT: Body = {"type": "[DONE]"}
"""The event that ends OpenAI's streams, which is no JSON: `data: [DONE]`."""


class Inexpressible(Exception):
    """The API of the upstream has no equivalent of a field of the request.

    Args:
        field: its path in the API's schema, such as `messages[0].content[1]`; contains no text of the request.
    """

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class RequestOptions(NamedTuple):
    """Settings of the upstream that a request depends on."""

    model: str
    max_tokens: int
    """Length of an answer if the client states none, for APIs that require one."""


class AnswerOptions(NamedTuple):
    """Values of an answer that the upstream does not report."""

    answer_id: str
    created_s: int
    """Unix time."""
    has_usage: bool
    """Whether an event of the stream reports the usage, in APIs where the client chooses."""


class Events(Protocol):
    """Translates the events of one stream."""

    def feed(self, event: Body) -> list[Body]:
        """Return the client's events for an event of the upstream.

        Raises:
            UpstreamFailed: the event is invalid, out of order, or reports an error.
        """


@dataclass(frozen=True, slots=True)
class Translation:
    """A client's API on another API of an upstream."""

    request: Callable[[Mapping[str, Any], RequestOptions], Body]
    answer: Callable[[Mapping[str, Any], AnswerOptions], Body]
    events: Callable[[AnswerOptions], Events]


def chained(first: Translation, second: Translation) -> Translation:
    """Return the translation of `first` on an upstream for which `second` translates."""

    def request(body: Mapping[str, Any], options: RequestOptions) -> Body:
        return second.request(first.request(body, options), options)

    def answer(said: Mapping[str, Any], options: AnswerOptions) -> Body:
        return first.answer(second.answer(said, options), options)

    return Translation(request, answer, lambda options: _Chain(first.events(options), second.events(options)))


class _Chain:
    def __init__(self, first: Events, second: Events) -> None:
        self._first, self._second = first, second

    def feed(self, event: Body) -> list[Body]:
        return [made for between in self._second.feed(event) for made in self._first.feed(between)]


def protocol_error() -> UpstreamFailed:
    """Return the error for an answer that its API does not define."""
    return UpstreamFailed("protocol")


def object_in(value: Any, name: str) -> Body:
    """Return the object in a field of an answer.

    Raises:
        UpstreamFailed: it is not an object.
    """
    if not isinstance(value, dict) or not isinstance(found := value.get(name), dict):
        raise protocol_error()
    return found


def count_in(value: Mapping[str, Any], name: str) -> int:
    """Return the number of tokens in a field of a usage; 0 if absent or invalid."""
    count = value.get(name)
    return count if type(count) is int and count >= 0 else 0


def arguments_of(text: Any) -> Body | None:
    """Return the object in a JSON string of tool arguments, with exact numbers; {} for an empty string, None if the
    string holds no object."""
    if not isinstance(text, str):
        return None
    if not text.strip():
        return {}
    try:
        said = exact_json.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def arguments_text(arguments: Any) -> str:
    """Return tool arguments as a JSON string, with exact numbers.

    Raises:
        UpstreamFailed: they are nested too deeply.
    """
    try:
        return exact_json.dumps(arguments).decode()
    except orjson.JSONEncodeError:
        raise protocol_error() from None
