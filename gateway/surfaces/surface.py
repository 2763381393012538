"""A surface: one client API. Base class of the modules in this folder.

A surface defines the meaning of a request: its prose, its content parts, the beginning of its conversation. It also
defines how its answers are restored, and the format of its errors. Everything is pure.

    surface = SURFACES["/v1/chat/completions"]
    surface.check(body)
    surface.whole(answer, restoration)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeGuard

import orjson

from ..body import exact_json
from ..body.json_texts import Path
from ..domain.errors import Code, Refused, UpstreamFailed, error_body
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.answer_json import loaded, read_json
from .answers.channels import restored
from .answers.fields import Fields
from .answers.model_strings import Added, ModelString, model_strings
from .answers.replacement_answer import Ending
from .answers.restoration import Restoration


class EventStream(Protocol):
    """Restores a streamed answer, event by event."""

    is_finished: bool
    """The upstream marked the answer as complete."""

    def put(self, events: bytes) -> bytes | None:
        """Return the framed events for framed events of a known form; None if `feed` must read them."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the framed events for one event's data, in order; usually one, and none after the end.

        Raises:
            UpstreamFailed: it is an error, or not an event of this surface.
        """

    def last(self) -> list[bytes]:
        """Return the framed events that end the stream; sent after the record of the answer is durable."""


class Surface(ABC):
    """One surface; subclasses define the differences."""

    name: ClassVar[str]
    """Name in audit and metrics, such as `chat.completions`."""
    family: ClassVar[SurfaceName]
    """Name in an upstream's `surfaces`."""
    paths: ClassVar[tuple[str, ...]]
    """Paths for clients."""
    path: ClassVar[str]
    """Path at upstreams, below their base URL."""
    parts: ClassVar[Mapping[str, Obstacle | None]] = {}
    """Types of content parts: None for text, else the obstacle. A missing type is unknown."""
    media: ClassVar[Collection[str]] = ("messages",)
    """Top-level fields whose content parts may refer to media."""
    dropped: ClassVar[Collection[str]] = frozenset({"user", "cache_salt"})
    """Top-level fields about the end user or for a provider's bookkeeping; not needed by a cloud to answer."""
    told: ClassVar[Mapping[str, Any]] = {}
    """Top-level fields with a fixed value for upstreams."""
    repeated: ClassVar[Collection[str]] = frozenset()
    """Those of `dropped` that answers repeat."""
    client_headers: ClassVar[tuple[str, ...]] = ()
    """Headers of a request with a meaning in this API, in lower case."""
    answer_list: ClassVar[str]
    """The field of an answer with the list of results."""
    fields: ClassVar[Fields] = Fields(left_alone=frozenset({"id", "object", "model", "usage"}))
    """Special fields of an answer."""
    has_stream: ClassVar[bool] = True
    """Answers may be streamed."""
    is_upload: ClassVar[bool] = False
    """Requests are forms with files, and may be as large as `limits.max_upload_bytes`."""
    is_socket: ClassVar[bool] = False
    """Clients use the API over a WebSocket; it has no requests with a body."""
    is_salted: ClassVar[bool] = True
    """vLLM takes a salt for its prefix cache (`cache_salt`)."""
    has_text: ClassVar[bool] = True
    """Answers contain text. Otherwise no tokens are stored for restoring."""
    uses_tokens: ClassVar[bool] = True
    """A model reads the request. False for counting, which uses no tokens of the limits."""
    is_written: ClassVar[bool] = True
    """A model wrote the text of the answer. Otherwise release checks do not apply."""
    spelled_out: ClassVar[frozenset[str]] = frozenset({"logprobs", "prompt_logprobs", "top_logprobs"})
    """Fields of an answer that repeat its text in parts; emptied if some of it was masked."""

    @property
    def is_judged(self) -> bool:
        """Answers contain text for release checks."""
        return self.has_text and self.is_written

    def read(self, raw: bytes, _headers: Mapping[str, str]) -> Any:
        """Parse a request; a valid one is an object.

        Args:
            headers: those in `client_headers`.

        Raises:
            Refused: unreadable for this API.
        """
        try:
            return exact_json.loads(raw)
        except (orjson.JSONDecodeError, UnicodeDecodeError):
            raise Refused(Code.INVALID_JSON) from None
        except RecursionError:
            raise Refused(Code.TOO_DEEP) from None

    def write(
        self,
        body: Mapping[str, Any],
        _raw: bytes,
        _headers: Mapping[str, str],
        *,
        model: str,
        cache_salt: str | None = None,
    ) -> bytes:
        """Return the request for a pool: unchanged except for its model and its salt.

        Args:
            body: the fields that the pool may receive.
            raw: the bytes of the whole request.
            cache_salt: of the tenant; replaces the client's own.
        """
        if cache_salt is None or not self.is_salted:
            return exact_json.dumps({**body, **self.told, "model": model})
        return exact_json.dumps({**body, **self.told, "model": model, "cache_salt": cache_salt})

    def recording(self, _raw: bytes, _headers: Mapping[str, str]) -> memoryview | None:
        """Return the recording in a request; None for APIs without recordings.

        Args:
            _raw: bytes of a request that `read` and `check` accepted.
            _headers: those in `client_headers`.
        """
        return None

    def check(self, body: Mapping[str, Any]) -> None:
        """Check that `body` is a request of this surface.

        Raises:
            Refused: it is not.
        """
        if not isinstance(body.get("model"), str):
            raise Refused(Code.INVALID_REQUEST, param="model")
        stream = body.get("stream")  # not "yes" or 1, which some servers read as true and others do not
        if stream and not (stream is True and self.has_stream):
            raise Refused(Code.INVALID_REQUEST, param="stream")

    def is_stream(self, body: Mapping[str, Any]) -> bool:
        """Return whether the client requests a stream."""
        return body.get("stream") is True

    @abstractmethod
    def prose(self, path: Path) -> Path | None:
        """Return the prose path of a string: strings with equal ones are read together as one text in one language.
        None for strings that are not prose."""

    def is_part(self, path: Path) -> bool:
        """Return whether the object at `path` is a content part."""
        return len(path) > 2 and path[-2] == "content" and isinstance(path[-1], int)

    def obstacle(self, part: Mapping[str, Any]) -> Obstacle | None:
        """Return why a content part cannot be inspected; None if it can."""
        return self.parts.get(str(part.get("type")), Obstacle.UNKNOWN_PART)

    def is_argument(self, _path: Path) -> bool:
        """Return whether the path is inside tool-call arguments that are an object, where other APIs have a string of
        JSON."""
        return False

    def is_person(self, _path: Path, _body: Mapping[str, Any]) -> bool:
        """Return whether the string at `path` is the name of a speaker; called for keys called `name`."""
        return False

    def obstacles(self, _body: Mapping[str, Any]) -> Collection[Obstacle]:
        """Return obstacles of this request outside its content parts."""
        return ()

    @abstractmethod
    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        """Return the beginning of the conversation, which later turns repeat."""

    def passed_on(self, _headers: Mapping[str, str], _body: bytes) -> Mapping[str, str] | None:
        """Return the headers that upstreams need; none of them may contain free text.

        Args:
            _headers: those in `client_headers`.
            _body: the body that is sent.
        """
        return None

    def max_answer_tokens(self, body: Mapping[str, Any]) -> int:
        """Return the requested length of the answer; 0 if not specified."""
        asked = body.get("max_tokens")
        return asked if isinstance(asked, int) and asked > 0 else 0

    def wants_json(self, _body: Mapping[str, Any]) -> bool:
        """Return whether the client requests an answer that is a JSON document."""
        return False

    def whole(self, answer: Any, restoration: Restoration) -> dict[str, Any]:
        """Restore an answer that is not streamed.

        Raises:
            UpstreamFailed: it is not an answer of this surface.
        """
        if not isinstance(answer, dict) or not isinstance(answer.get(self.answer_list), list):
            raise UpstreamFailed("protocol")
        if "model" in answer:
            answer["model"] = restoration.model
        return restored(answer, self.fields, restoration) if restoration.issued and self.has_text else answer

    def strings_of(self, answer: Mapping[str, Any]) -> Iterable[ModelString]:
        """Return the strings of the model in an answer that is not streamed; for release checks."""
        return model_strings(answer.get(self.answer_list), self.fields)

    def added(self, _event: Mapping[str, Any]) -> Added:
        """Return the strings that an event of a stream adds; for release checks.

        Raises:
            UpstreamFailed: this surface has no streams.
        """
        raise UpstreamFailed("protocol")

    def parsed(self, data: bytes) -> Any:
        """Parse an upstream's answer.

        Raises:
            UpstreamFailed: it is invalid.
        """
        if self.has_text:
            return read_json(data)
        try:
            return loaded(data)  # vectors and figures are large, and only `written` depends on their nesting
        except orjson.JSONDecodeError:
            raise UpstreamFailed("protocol") from None

    def written(self, answer: Any) -> bytes:
        """Return the body of an answer.

        Args:
            answer: the result of `whole`.
        """
        return orjson.dumps(answer)

    def content_type(self, _content: bytes) -> bytes:
        """Return the content type of an answer's body."""
        return b"application/json"

    def stream(self, _restoration: Restoration) -> EventStream:
        """Return an object that restores a streamed answer.

        Raises:
            UpstreamFailed: this surface has no streams.
        """
        raise UpstreamFailed("protocol")

    def ending(self, _body: Mapping[str, Any]) -> Ending | None:
        """Return the builder of replacement answers for hand-offs; None if this API has no format for them."""
        return None

    def error(self, code: Code, *, request_id: str, param: str | None = None, reasons: Sequence[str] = ()) -> bytes:
        """Return the body of an error.

        Args:
            param: the missing or invalid field.
            reasons: reasons of the policy.
        """
        return error_body(code, request_id=request_id, param=param, reasons=reasons)

    def error_event(self, code: Code, *, request_id: str) -> bytes:
        """Return a framed error event for a stream that has begun."""
        return b"data: " + error_body(code, request_id=request_id) + b"\n\n"


def is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Return whether the value is a list of objects."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
