"""Requests of a transcription pool behind the gateway: endpoints, formats, limits and errors, with expected answers.

The model may have random weights, so answers are compared by form, usage and code, not by text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from recordings_made import encoded, silence_bomb, wav

TRANSCRIPTIONS, TRANSLATIONS = "/v1/audio/transcriptions", "/v1/audio/translations"
TOKENS = "16"
"""Limit of the answers' tokens, because random weights do not stop."""
_BOUNDARY = "speech-cases-7f3a"
CONTENT_TYPE = f"multipart/form-data; boundary={_BOUNDARY}"


def form(content: bytes, name: str = "call.wav", **fields: str) -> bytes:
    """Return a form with a recording; its content type is `CONTENT_TYPE`."""
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return b"".join([*parts, head.encode(), content, f"\r\n--{_BOUNDARY}--\r\n".encode()])


def is_text(body: bytes) -> bool:
    """Return whether the body is a transcript in JSON."""
    return isinstance(json.loads(body).get("text"), str)


def is_verbose(body: bytes) -> bool:
    """Return whether the body is a transcript with segments and a duration."""
    answer = json.loads(body)
    return isinstance(answer["segments"], list) and abs(float(answer["duration"]) - 2) < 0.2


def is_stream(body: bytes) -> bool:
    """Return whether the body is a complete stream of events."""
    return b"transcription.chunk" in body and body.rstrip().endswith(b"data: [DONE]")


def has_code(code: str) -> Callable[[bytes], bool]:
    """Return a check of an error's code."""
    return lambda body: json.loads(body)["error"]["code"] == code


@dataclass(frozen=True)
class SpeechCase:
    """One request and its expected answer."""

    name: str
    content: Callable[[], bytes]
    status: int = 200
    is_expected: Callable[[bytes], bool] = is_text
    path: str = TRANSCRIPTIONS
    file_name: str = "call.wav"
    fields: dict[str, str] = field(default_factory=dict)

    def body(self, model: str) -> bytes:
        """Return the form."""
        return form(self.content(), self.file_name, model=model, **{"max_completion_tokens": TOKENS, **self.fields})


def two_seconds() -> bytes:
    """Return a recording of 2 s."""
    return encoded("wav", 2)


CASES = (
    SpeechCase("wav", two_seconds),
    SpeechCase("flac, 44.1 kHz", lambda: encoded("flac", 2, rate=44_100)),
    SpeechCase("ogg, Vorbis", lambda: encoded("ogg", 2)),
    SpeechCase("ogg, Opus", lambda: encoded("opus", 2)),
    SpeechCase("mp3", lambda: encoded("mp3", 2)),
    SpeechCase("8 kHz, as a telephone", lambda: encoded("wav", 2, rate=8000)),
    SpeechCase("wrong extension", lambda: encoded("mp3", 2), file_name="call.flac"),
    SpeechCase("45 s, two windows", lambda: encoded("mp3", 45), fields={"max_completion_tokens": "8"}),
    SpeechCase("translation", two_seconds, path=TRANSLATIONS),
    SpeechCase("text", two_seconds, fields={"response_format": "text"}),
    SpeechCase("verbose_json", two_seconds, is_expected=is_verbose, fields={"response_format": "verbose_json"}),
    SpeechCase("stream", two_seconds, is_expected=is_stream, fields={"stream": "true"}),
    SpeechCase("language", two_seconds, fields={"language": "de"}),
    SpeechCase("truncated wav", lambda: two_seconds()[:40_000]),
    SpeechCase("no token limit", two_seconds, fields={"max_completion_tokens": "448"}),
    SpeechCase("srt", two_seconds, 400, has_code("upstream_rejected"), fields={"response_format": "srt"}),
    SpeechCase("unknown language", two_seconds, 400, has_code("upstream_rejected"), fields={"language": "xx"}),
    SpeechCase("invalid limit", two_seconds, 400, has_code("invalid_request"), fields={"max_completion_tokens": "0"}),
    SpeechCase("silence bomb", lambda: silence_bomb(660), 413, has_code("recording_too_long")),
    SpeechCase("601 s", lambda: wav(seconds=601, rate=8000), 413, has_code("recording_too_long")),
    SpeechCase("26 MB", lambda: wav(bytes((25 << 20) + 2), rate=48_000), 413, has_code("recording_too_large")),
    SpeechCase("28 MiB form", lambda: bytes(28 << 20), 413, has_code("body_too_large")),
    SpeechCase("junk", lambda: random.Random(3).randbytes(4000), 400, has_code("recording_unreadable")),
    SpeechCase("truncated flac", lambda: encoded("flac", 2)[:9000], 400, has_code("recording_unreadable")),
    SpeechCase("no sound", wav, 400, has_code("recording_unreadable")),
    SpeechCase("no bytes", lambda: b"", 400, has_code("recording_unreadable")),
    SpeechCase("webm", lambda: b"\x1aE\xdf\xa3" + bytes(2000), 400, has_code("recording_unreadable")),
)
"""Requests of one client, one after the other. vLLM 0.32.0 answers `text` in JSON."""
