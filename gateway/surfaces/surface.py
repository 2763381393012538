"""A surface: one API as clients and upstreams speak it.

What a request means is told here and nowhere else: which of its strings are prose, which of its objects are content
parts, what begins a conversation, how an answer is restored, how an error is said. Everything is pure.

    surface = SURFACES["/v1/chat/completions"]
    surface.check(body)
    surface.whole(answer, restoration)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeGuard

import orjson

from ..body.json_texts import Path
from ..domain.errors import Code, Refused, UpstreamFailed, error_body
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answer_json import loaded, read_json
from .fields import Fields, restored
from .handed_over import Ending
from .model_strings import Added, ModelString, model_strings
from .restoration import Restoration


class EventStream(Protocol):
    """Restores a streamed answer, event by event."""

    is_finished: bool
    """The upstream said that the answer is whole."""

    def put(self, events: bytes) -> bytes | None:
        """The framed events that stand for framed ones of a form that is known; None for what `feed` has to read."""

    def feed(self, data: bytes) -> list[bytes]:
        """Framed events that stand for one event's data, in order; mostly one, none behind the end.

        Raises:
            UpstreamFailed: it is an error, or no event of this surface.
        """

    def last(self) -> list[bytes]:
        """Framed events that end the stream; sent when the record of the answer is durable."""


class Surface(ABC):
    """One surface; subclasses say what is their own."""

    name: ClassVar[str]
    """For audit and metrics, such as `chat.completions`."""
    family: ClassVar[SurfaceName]
    """What an upstream that serves it lists in its settings."""
    paths: ClassVar[tuple[str, ...]]
    """Where clients reach it."""
    path: ClassVar[str]
    """Where upstreams serve it, below their base URL."""
    parts: ClassVar[Mapping[str, Obstacle | None]] = {}
    """Types of content parts: None for text, else why it can't be inspected. A type that is missing is unknown."""
    dropped: ClassVar[Collection[str]] = frozenset({"user", "cache_salt"})
    """Top-level fields about the end user or for a provider's bookkeeping; a cloud needs none of them to answer."""
    told: ClassVar[Mapping[str, Any]] = {}
    """Top-level fields that upstreams get whatever the client said."""
    repeated: ClassVar[Collection[str]] = frozenset()
    """Those of `dropped` that answers repeat."""
    client_headers: ClassVar[tuple[str, ...]] = ()
    """Headers of a request, in lower case, that mean something to this API."""
    answer_list: ClassVar[str]
    """The field of an answer that holds the list of what was made."""
    fields: ClassVar[Fields] = Fields(left_alone=frozenset({"id", "object", "model", "usage"}))
    """What in an answer is the model's."""
    has_stream: ClassVar[bool] = True
    """Answers may be streamed."""
    is_upload: ClassVar[bool] = False
    """Requests are forms with files, and may be as large as `limits.max_upload_bytes`."""
    is_salted: ClassVar[bool] = True
    """vLLM takes a salt for its prefix cache (`cache_salt`)."""
    has_text: ClassVar[bool] = True
    """Answers hold text. Where they don't, nothing has to be remembered for restoring."""
    uses_tokens: ClassVar[bool] = True
    """A model reads what was sent. Where one only counts, nothing is taken from limits but the request."""
    is_written: ClassVar[bool] = True
    """A model wrote that text. Where it didn't, there is nothing for release checks."""
    spelled_out: ClassVar[frozenset[str]] = frozenset({"logprobs", "prompt_logprobs", "top_logprobs"})
    """Fields of an answer that say its text once more, piece by piece; emptied when something in it was masked."""

    @property
    def is_judged(self) -> bool:
        """Answers hold text for release checks."""
        return self.has_text and self.is_written

    def read(self, raw: bytes, _headers: Mapping[str, str]) -> Any:
        """What a request says; an object when it is any.

        Args:
            headers: those in `client_headers`.

        Raises:
            Refused: nothing that this API could read.
        """
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            raise Refused(Code.INVALID_JSON) from None

    def write(
        self,
        body: Mapping[str, Any],
        _raw: bytes,
        _headers: Mapping[str, str],
        *,
        model: str,
        cache_salt: str | None = None,
    ) -> bytes:
        """The request for a pool: as it came, but for its model and its salt.

        Args:
            raw: what `body` was read from.
            cache_salt: the tenant's, in the place of the client's own.
        """
        if cache_salt is None or not self.is_salted:
            return orjson.dumps({**body, **self.told, "model": model})
        return orjson.dumps({**body, **self.told, "model": model, "cache_salt": cache_salt})

    def check(self, body: Mapping[str, Any]) -> None:
        """Return when `body` is a request of this surface.

        Raises:
            Refused: it is not.
        """
        if not isinstance(body.get("model"), str):
            raise Refused(Code.INVALID_REQUEST, param="model")
        stream = body.get("stream")  # not "yes" or 1, which some servers take for true and others don't
        if stream and not (stream is True and self.has_stream):
            raise Refused(Code.INVALID_REQUEST, param="stream")

    def is_stream(self, body: Mapping[str, Any]) -> bool:
        """True when the client asks for a stream."""
        return body.get("stream") is True

    @abstractmethod
    def prose(self, path: Path) -> Path | None:
        """Strings with equal prose paths are read together as one text in one language; None for what is no prose."""

    def is_part(self, path: Path) -> bool:
        """True when the object at `path` is a content part."""
        return len(path) > 2 and path[-2] == "content" and isinstance(path[-1], int)

    def obstacle(self, part: Mapping[str, Any]) -> Obstacle | None:
        """Why a content part can't be inspected; None when it can."""
        return self.parts.get(str(part.get("type")), Obstacle.UNKNOWN_PART)

    def is_argument(self, _path: Path) -> bool:
        """True inside the arguments of a tool call that are an object, where other APIs have a string of JSON."""
        return False

    def is_person(self, _path: Path, _body: Mapping[str, Any]) -> bool:
        """True when the string at `path` is the name of somebody who speaks; asked where its key says `name`."""
        return False

    def obstacles(self, _body: Mapping[str, Any]) -> Collection[Obstacle]:
        """What of this request can't be inspected, beyond its content parts."""
        return ()

    @abstractmethod
    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        """How the conversation began: what later turns repeat."""

    def passed_on(self, _headers: Mapping[str, str]) -> Mapping[str, str] | None:
        """What of `client_headers` upstreams need; nothing that could hold text."""
        return None

    def max_answer_tokens(self, body: Mapping[str, Any]) -> int:
        """How long an answer the client asks for; 0 when it doesn't say."""
        asked = body.get("max_tokens")
        return asked if isinstance(asked, int) and asked > 0 else 0

    def wants_json(self, _body: Mapping[str, Any]) -> bool:
        """True when the client asks for an answer that is a JSON document."""
        return False

    def whole(self, answer: Any, restoration: Restoration) -> dict[str, Any]:
        """An answer that is not streamed, restored.

        Raises:
            UpstreamFailed: it is no answer of this surface.
        """
        if not isinstance(answer, dict) or not isinstance(answer.get(self.answer_list), list):
            raise UpstreamFailed("protocol")
        if "model" in answer:
            answer["model"] = restoration.model
        return restored(answer, self.fields, restoration) if restoration.issued and self.has_text else answer

    def strings_of(self, answer: Mapping[str, Any]) -> Iterable[ModelString]:
        """What the model said in an answer that is not streamed; for release checks."""
        return model_strings(answer.get(self.answer_list), self.fields)

    def added(self, _event: Mapping[str, Any]) -> Added:
        """What an event of a stream adds to what the model said; for release checks.

        Raises:
            UpstreamFailed: there are no streams of this surface.
        """
        raise UpstreamFailed("protocol")

    def parsed(self, data: bytes) -> Any:
        """What an upstream's answer says.

        Raises:
            UpstreamFailed: nothing.
        """
        if self.has_text:
            return read_json(data)
        try:
            return loaded(data)  # vectors and figures: many, and only `written` need know how deep they nest
        except orjson.JSONDecodeError:
            raise UpstreamFailed("protocol") from None

    def written(self, answer: Any) -> bytes:
        """The body of an answer; `answer` is what `whole` made."""
        return orjson.dumps(answer)

    def content_type(self, _content: bytes) -> bytes:
        """Of the body of an answer."""
        return b"application/json"

    def stream(self, _restoration: Restoration) -> EventStream:
        """What restores a streamed answer.

        Raises:
            UpstreamFailed: there are no streams of this surface.
        """
        raise UpstreamFailed("protocol")

    def ending(self, _body: Mapping[str, Any]) -> Ending | None:
        """What makes what the client of a request gets instead of an answer that goes to a person; None where this API
        has no form for that."""
        return None

    def error(self, code: Code, *, request_id: str, param: str | None = None, reasons: Sequence[str] = ()) -> bytes:
        """The body of an error.

        Args:
            param: the field of the request that it is about.
            reasons: of policy.
        """
        return error_body(code, request_id=request_id, param=param, reasons=reasons)

    def error_event(self, code: Code, *, request_id: str) -> bytes:
        """An error in the middle of a stream, framed."""
        return b"data: " + error_body(code, request_id=request_id) + b"\n\n"


def is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """True for a list of objects."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
