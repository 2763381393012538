"""A recording is measured before it is sent: limits of bytes and duration, and one audit record without its content."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from recordings_made import encoded, silence_bomb, wav
from surface_givens import MAIL, PROMPT, audited
from surface_upstream import SurfaceUpstream


@pytest.fixture(name="limited", scope="module")
def limited_fixture(start: Callable[..., Any]) -> Any:
    return start(limits={"max_recording_s": 5, "max_recording_bytes": 200_000})


def refused(gateway: Any, content: bytes, name: str = "call.wav") -> tuple[int, str, str]:
    with pytest.raises(openai.APIStatusError) as caught:
        gateway.client().audio.transcriptions.create(model="assistant", file=(name, content))
    return caught.value.status_code, str(caught.value.code), str(caught.value.param)


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "opus", "mp3"])
def test_every_format_is_sent_as_it_came(limited: Any, pool: SurfaceUpstream, kind: str) -> None:
    content = encoded(kind, 5)
    limited.client().audio.transcriptions.create(model="assistant", file=("x.bin", content))  # the name is ignored
    assert pool.requests[-1]["file"] == content
    recording = audited(limited)["recording"]
    assert (recording["duration_ms"], recording["size_bytes"]) == (5000, len(content))


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (wav(seconds=6.3), 413, "recording_too_large"),
        (encoded("mp3", 6), 413, "recording_too_long"),
        (silence_bomb(660), 413, "recording_too_long"),
        (b"\x00junk" * 100, 400, "recording_unreadable"),
        (wav(), 400, "recording_unreadable"),
        (b"", 400, "recording_unreadable"),
        (encoded("flac", 2)[:9000], 400, "recording_unreadable"),
        (b"\x1aE\xdf\xa3webm", 400, "recording_unreadable"),
    ],
    ids=["bytes", "duration", "silence-bomb", "junk", "no-sound", "no-bytes", "truncated", "other-format"],
)
def test_other_recordings_are_refused_and_not_sent(
    limited: Any, pool: SurfaceUpstream, content: bytes, status: int, code: str
) -> None:
    assert refused(limited, content) == (status, code, "file")
    assert not pool.requests


def test_eight_at_once_are_measured_and_sent(limited: Any, pool: SurfaceUpstream) -> None:
    contents = [encoded("ogg", 1 + number / 10) for number in range(8)]
    create = limited.client().audio.transcriptions.create
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda content: create(model="assistant", file=("a.ogg", content)), contents))
    assert [answer.text for answer in answers] == [f"Heard {len(content)} bytes: " for content in contents]
    assert len(pool.requests) == 8


def test_a_recording_has_one_record_without_its_content(limited: Any, pool: SurfaceUpstream) -> None:
    before = len(limited.records())
    content = wav(seconds=1)
    for _ in range(2):
        limited.client().audio.transcriptions.create(model="assistant", file=("anna.wav", content), prompt=PROMPT)
    records = limited.records()[before:]
    assert [record["type"] for record in records] == ["gateway.request", "gateway.answer"] * 2
    first, second = records[0]["recording"], records[2]["recording"]
    assert first == second
    assert set(first) == {"duration_ms", "size_bytes", "hmac"}
    assert records[0]["request_hmac"] != first["hmac"]
    assert not any(word in json.dumps(records) for word in (MAIL, "anna", "Heard", "confirm"))
    assert pool.requests


def test_requests_without_a_recording_have_no_such_fact(limited: Any) -> None:
    limited.client().chat.completions.create(model="assistant", messages=[{"role": "user", "content": "Good morning"}])
    assert "recording" not in audited(limited)
