"""Recordings are measured by decoding in a process without rights; bombs, junk and damaged files are refused."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys

import pytest
from recordings_made import RATE, encoded, silence_bomb, wav, with_flac_length, with_wav_length

from sovctl.gateway.domain.errors import Code, Refused
from sovctl.gateway.recordings.decoding import RecordingRefused, duration_ms
from sovctl.gateway.recordings.measurer import Measurer
from sovctl.gateway.recordings.problem import Problem

KINDS = ("wav", "flac", "ogg", "opus", "mp3")
JUNK = random.Random(7).randbytes(5000)


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_has_its_duration(kind: str) -> None:
    assert duration_ms(encoded(kind, 5), max_duration_s=5) == 5000


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_recording_is_too_long_in_every_format(kind: str) -> None:
    with pytest.raises(RecordingRefused) as caught:
        duration_ms(encoded(kind, 5.5), max_duration_s=5)
    assert caught.value.problem is Problem.TOO_LONG


def test_the_sample_rate_counts() -> None:
    assert duration_ms(encoded("mp3", 3, rate=44_100), max_duration_s=3) == 3000
    assert duration_ms(wav(seconds=0.0005), max_duration_s=1) == 1


def test_a_silence_bomb_is_too_long() -> None:
    bomb = silence_bomb(660)
    assert len(bomb) < 40_000
    for content in (bomb, with_flac_length(bomb, 0), with_flac_length(bomb, RATE * 3600)):
        with pytest.raises(RecordingRefused) as caught:
            duration_ms(content, max_duration_s=600)
        assert caught.value.problem is Problem.TOO_LONG


def test_frames_after_the_declared_length_are_not_decoded_as_by_vllm() -> None:
    assert duration_ms(with_flac_length(silence_bomb(20), RATE), max_duration_s=5) == 1000
    assert duration_ms(with_wav_length(wav(seconds=5), 2 * RATE), max_duration_s=5) == 1000


@pytest.mark.parametrize("stated", [1 << 31, 0xFFFFFFFF])
def test_a_wav_header_cannot_make_a_recording_longer(stated: int) -> None:
    assert duration_ms(with_wav_length(wav(seconds=2), stated), max_duration_s=5) == 2000


def test_many_channels_count_as_decoded_bytes() -> None:
    mono = wav(bytes(2 * RATE))
    wide = mono[:22] + (1000).to_bytes(2, "little") + mono[24:28] + mono[28:32] + (2000).to_bytes(2, "little")
    with pytest.raises(RecordingRefused):
        duration_ms(wide + mono[34:40] + (1 << 30).to_bytes(4, "little") + bytes(140_000_000), max_duration_s=600)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"hello", JUNK, wav(), wav()[:20], b"RIFF" + JUNK, b"OggS" + JUNK, b"fLaC" + JUNK, b"ID3" + JUNK),
        *(b"\xff\xfb" + JUNK, b"FORM" + JUNK, b"\x1aE\xdf\xa3" + JUNK, encoded("flac", 2)[:9000]),
        encoded("ogg", 2)[:600],
    ],
    ids=lambda content: f"{content[:4]!r}-{len(content)}",
)
def test_other_content_is_unreadable(content: bytes) -> None:
    with pytest.raises(RecordingRefused) as caught:
        duration_ms(content, max_duration_s=600)
    assert caught.value.problem is Problem.UNREADABLE


def test_a_truncated_recording_counts_as_far_as_it_is_decoded() -> None:
    half = wav(seconds=5)
    assert duration_ms(half[: len(half) // 2], max_duration_s=5) in range(2490, 2501)


def test_recordings_are_measured_in_processes() -> None:
    async def measure() -> list[int | Code]:
        measurer = Measurer(max_duration_s=5)
        contents = [*(encoded(kind, 1) for kind in KINDS), silence_bomb(6), JUNK, b""]
        answers = await asyncio.gather(
            *(measurer.duration_ms(memoryview(each)) for each in contents), return_exceptions=True
        )
        return [each.code if isinstance(each, Refused) else each for each in answers]  # type: ignore[misc]

    too_long, unreadable = Code.RECORDING_TOO_LONG, Code.RECORDING_UNREADABLE
    assert asyncio.run(measure()) == [1000] * 5 + [too_long, unreadable, unreadable]


def test_a_request_whose_deadline_passed_waits_no_longer() -> None:
    async def measure() -> None:
        await Measurer(max_duration_s=5).duration_ms(memoryview(wav(seconds=1)), deadline_s=0.0)

    with pytest.raises(Refused) as caught:
        asyncio.run(measure())
    assert caught.value.code is Code.DEADLINE_EXCEEDED


def test_the_process_writes_one_number() -> None:
    worker = [sys.executable, "-I", "-m", "sovctl.gateway.recordings.worker", "5"]
    done = subprocess.run(worker, input=encoded("opus", 1), capture_output=True, check=True, env={})
    assert (done.stdout, done.stderr) == (b"1000", b"")
