"""Speech to text: OpenAI's transcriptions and translations, as vLLM serves them.

A recording cannot be inspected, so it is always processed on-prem, and the answer needs no restoring. The
answer is passed in any of its formats, with the client's name for the model. Release checks read its text; captions
and segments as the one text they were cut from. Every request that is sent has a limit of tokens. The package
`recordings` limits bytes and duration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import orjson

from ..body.json_texts import Path
from ..body.multipart import FormError, content_type_of, parse_form, write_form
from ..body.sse import DONE, event
from ..domain.errors import Code, Refused, UpstreamFailed
from ..domain.obstacles import Obstacle
from ..settings import SurfaceName
from .answers.answer_json import loaded, read_json
from .answers.captions import Captions
from .answers.fields import Fields
from .answers.model_name import ModelName
from .answers.model_strings import Added, ModelString, Voice, added_to_choices, model_strings
from .answers.restoration import Restoration
from .surface import EventStream, Surface

_FIELDS = Fields(
    left_alone=frozenset(
        {"id", "object", "model", "created", "usage", "type", "task", "language", "role", "finish_reason", "logprobs"}
    )
)
_CUT = {"segments": "text", "words": "word"}
"""Lists of a transcript that repeat its text in parts, and the field with a part's text."""
_GROWING = {"transcript.text.delta": "delta", "transcript.text.segment": "text"}
"""Event types of OpenAI, and the field that continues the previous event of the type."""
# Values that vLLM's forms read as true and false (pydantic 2.11, "Booleans"); other values are errors.
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
_LIST = "[]"
"""End of the names of fields with several values."""
_FILE = "file"
_TOKENS = "max_completion_tokens"
_MAX_TOKENS = 4480
"""Most tokens of a transcript: 600 s, the longest recording that vLLM 0.32.0 decodes, with 224 tokens for 30 s, the
limit of Whisper's decoder (openai/whisper, decoding.py, `sample_len`). vLLM applies it to each piece of a recording.
Without a limit a model that does not stop fills its context. Derived, 2026-11."""
_COUNT = re.compile(r"[1-9][0-9]{0,8}")


class Transcriptions(Surface):
    """`POST /v1/audio/transcriptions`."""

    name = "audio.transcriptions"
    family = SurfaceName.TRANSCRIPTIONS
    paths = ("/v1/audio/transcriptions",)
    path = "audio/transcriptions"
    client_headers = ("content-type",)
    media = ()
    is_upload = True
    has_text = False
    spelled_out = Surface.spelled_out | {"words", "tokens"}

    @property
    def is_judged(self) -> bool:
        return True

    def read(self, raw: bytes, headers: Mapping[str, str]) -> Any:
        body: dict[str, Any] = {}
        try:
            form = parse_form(headers["content-type"], raw)
        except FormError:
            raise Refused(Code.INVALID_FORM) from None
        for name, value in form.fields:
            if name not in body:
                body[name] = [value] if name.endswith(_LIST) else value
            elif name.endswith(_LIST):
                body[name].append(value)
            else:  # servers differ in which of them they read
                raise Refused(Code.INVALID_FORM)
        if _FILE in body or len(form.files) > 1 or any(file.field != _FILE for file in form.files):
            raise Refused(Code.INVALID_FORM)
        if "stream" in body:
            body["stream"] = _is_true(body["stream"])
        return {**body, _FILE: [file.name for file in form.files]}

    is_salted = False

    def write(
        self,
        body: Mapping[str, Any],
        raw: bytes,
        headers: Mapping[str, str],
        *,
        model: str,
        cache_salt: str | None = None,  # noqa: ARG002 - not cached
    ) -> bytes:
        fields = [("model", model), (_TOKENS, str(min(_asked_tokens(body), _MAX_TOKENS)))]
        for name, value in body.items():
            if name not in ("model", _FILE, _TOKENS):
                fields += [(name, _text_of(each)) for each in (value if isinstance(value, list) else [value])]
        try:
            return write_form(fields, parse_form(headers["content-type"], raw).files)
        except FormError:
            raise Refused(Code.INVALID_FORM) from None

    def recording(self, raw: bytes, headers: Mapping[str, str]) -> memoryview:
        return parse_form(headers["content-type"], raw).files[0].content

    def passed_on(self, _headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        return {"content-type": content_type_of(body)}

    def check(self, body: Mapping[str, Any]) -> None:
        super().check(body)
        if not body.get(_FILE):
            raise Refused(Code.INVALID_REQUEST, param=_FILE)
        _asked_tokens(body)

    def prose(self, path: Path) -> Path | None:
        return path if path[0] == "prompt" else None

    def obstacles(self, _body: Mapping[str, Any]) -> Collection[Obstacle]:
        return {Obstacle.AUDIO}

    def beginning(self, body: Mapping[str, Any]) -> list[Any]:
        return [body["file"]]

    def parsed(self, data: bytes) -> Any:
        try:
            if isinstance(answer := loaded(data), dict):
                return answer
        except orjson.JSONDecodeError:
            pass
        try:
            return Captions(data.decode())  # text, srt or vtt
        except UnicodeDecodeError:
            raise UpstreamFailed("protocol") from None

    def whole(self, answer: Any, restoration: Restoration) -> dict[str, Any]:
        if isinstance(answer, Captions):
            return answer
        if not isinstance(answer.get("text"), str):
            raise UpstreamFailed("protocol")
        return {**answer, "model": restoration.model} if "model" in answer else answer

    def strings_of(self, answer: Mapping[str, Any]) -> Iterator[ModelString]:
        if isinstance(answer, Captions):
            for place in answer.spoken:
                yield ModelString(("lines",), Voice.ASIDE, answer["lines"], place, is_whole=False)
            return
        for said in model_strings(answer, _FIELDS):
            said.voice = Voice.ASIDE
            if said.place == _CUT.get(str(said.channel[0])):
                said.channel, said.is_whole = (said.channel[0],), False
            yield said

    def added(self, event: Mapping[str, Any]) -> Added:
        if "choices" in event:
            added = added_to_choices(event, "delta", _FIELDS)
        else:
            added = Added(list(model_strings(event, _FIELDS)))
            for said in added.strings:
                if said.place == _GROWING.get(str(event.get("type"))):
                    said.channel, said.is_whole = (event["type"],), False
        for said in added.strings:
            said.voice = Voice.ASIDE
        return added

    def written(self, answer: Any) -> bytes:
        return answer.written().encode() if isinstance(answer, Captions) else orjson.dumps(answer)

    def content_type(self, content: bytes) -> bytes:
        return b"application/json" if content.startswith(b'{"') else b"text/plain; charset=utf-8"

    def stream(self, restoration: Restoration) -> EventStream:
        return _TranscriptStream(restoration)


class Translations(Transcriptions):
    """`POST /v1/audio/translations`: as transcriptions, into English."""

    name = "audio.translations"
    family = SurfaceName.TRANSLATIONS
    paths = ("/v1/audio/translations",)
    path = "audio/translations"


def _text_of(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def _asked_tokens(body: Mapping[str, Any]) -> int:
    """Return the client's limit of the transcript in tokens; `_MAX_TOKENS` if it set none."""
    asked = body.get(_TOKENS, str(_MAX_TOKENS))
    if not _COUNT.fullmatch(asked):
        raise Refused(Code.INVALID_REQUEST, param=_TOKENS)
    return int(asked)


def _is_true(value: str) -> bool:
    if (flag := _BOOLEANS.get(value.lower())) is None:
        raise Refused(Code.INVALID_REQUEST, param="stream")
    return flag


class _TranscriptStream:
    """Passes events: vLLM's chunks, which end with `[DONE]`, and OpenAI's, which end with the whole transcript."""

    def __init__(self, restoration: Restoration) -> None:
        self.is_finished = False
        self._name = ModelName(restoration.model)
        self._last: list[bytes] = []

    def put(self, _event: bytes) -> None:
        return None

    def feed(self, data: bytes) -> list[bytes]:
        if self.is_finished:
            return []
        if data == DONE:
            self.is_finished, self._last = True, [event(DONE)]
            return []
        said = read_json(data)
        if not isinstance(said, dict) or not ("choices" in said or "type" in said):
            raise UpstreamFailed("protocol" if not isinstance(said, dict) or "error" not in said else "error-event")
        events = [event(self._name.put(data, said, said))]
        if said.get("type") == "transcript.text.done":
            self.is_finished, self._last = True, events
            return []
        return events

    def last(self) -> list[bytes]:
        return self._last
