"""Decodes a recording with libsndfile, and counts its frames up to a limit. Pure.

vLLM 0.32.0 decodes with the same library (`vllm/multimodal/media/audio.py`), so both count the same frames.

- The content selects the format. File name and media type are ignored, as by vLLM.
- The declared and the decoded length are both limited, as by vLLM.
- The sound is discarded block by block.
"""

from __future__ import annotations

import io

import soundfile

from .problem import Problem

_BEGINNINGS = (b"RIFF", b"fLaC", b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa")
"""First bytes of WAV, FLAC, Ogg and MPEG layer III, with an ID3 tag or without (ISO 11172-3, 2.4.1.3)."""
_FORMATS = frozenset({"WAV", "WAVEX", "FLAC", "OGG", "MP3", "MPEG"})
"""Formats of libsndfile that are accepted. The others are rare, and each of them is one more parser."""
_SAMPLE_BYTES = 4  # decoded as 32-bit floating point, as by vLLM
_BLOCK_BYTES = 8 << 20
MAX_DECODED_BYTES = 1 << 28
"""Decoded bytes of a recording; VLLM_MAX_AUDIO_DECODE_BYTES, default of vLLM 0.32.0 (read 2026-11)."""


class RecordingRefused(Exception):
    """The recording is not accepted."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.value)
        self.problem = problem


def duration_ms(content: bytes, *, max_duration_s: int) -> int:
    """Return the duration of a recording in milliseconds, above 0.

    Args:
        max_duration_s: decoding stops above it.

    Raises:
        RecordingRefused: it is longer, or it is not a recording.
    """
    if not content.startswith(_BEGINNINGS):
        raise RecordingRefused(Problem.UNREADABLE)
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            if file.format not in _FORMATS or file.samplerate <= 0 or file.channels <= 0:
                raise RecordingRefused(Problem.UNREADABLE)
            max_frames = min(max_duration_s * file.samplerate, MAX_DECODED_BYTES // (_SAMPLE_BYTES * file.channels))
            if file.frames > max_frames:
                raise RecordingRefused(Problem.TOO_LONG)
            frames = _decoded(file, max_frames)
            rate = int(file.samplerate)
    except (soundfile.LibsndfileError, soundfile.SoundFileRuntimeError, RuntimeError, ValueError, MemoryError):
        raise RecordingRefused(Problem.UNREADABLE) from None
    if frames > max_frames:
        raise RecordingRefused(Problem.TOO_LONG)
    if frames == 0:
        raise RecordingRefused(Problem.UNREADABLE)
    return max(frames * 1000 // rate, 1)


def _decoded(file: soundfile.SoundFile, max_frames: int) -> int:
    """Return the number of decoded frames; more than `max_frames` if decoding stopped there."""
    block = bytearray(_BLOCK_BYTES // (_SAMPLE_BYTES * file.channels) * (_SAMPLE_BYTES * file.channels))
    frames = 0
    while frames <= max_frames:
        count = int(file.buffer_read_into(block, dtype="float32"))
        if count <= 0:
            break
        frames += count
    return frames
