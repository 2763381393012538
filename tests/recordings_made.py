"""Recordings of invented sound in all accepted formats, and damaged ones."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np
import soundfile

RATE = 16_000


def wav(data: bytes = b"", *, seconds: float = 0.0, rate: int = RATE) -> bytes:
    """Return a WAV file with these samples of 16 bits, or with silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(data or bytes(2 * int(seconds * rate)))
    return file.getvalue()


def encoded(kind: str, seconds: float, *, rate: int = RATE) -> bytes:
    """Return a tone in a format: `wav`, `flac`, `ogg`, `opus` or `mp3`."""
    container, subtype = {
        "wav": ("WAV", "PCM_16"),
        "flac": ("FLAC", "PCM_16"),
        "ogg": ("OGG", "VORBIS"),
        "opus": ("OGG", "OPUS"),
        "mp3": ("MP3", "MPEG_LAYER_III"),
    }[kind]
    file = io.BytesIO()
    tone = 0.3 * np.sin(np.arange(int(seconds * rate), dtype="float32") * (2 * np.pi * 440 / rate))
    with soundfile.SoundFile(file, "w", rate, 1, format=container, subtype=subtype) as writer:
        for start in range(0, len(tone), rate):  # libsndfile 1.2.2 puts all of one write on the stack
            writer.write(tone[start : start + rate])
    return file.getvalue()


def silence_bomb(seconds: int) -> bytes:
    """Return silence as FLAC: about 50 bytes a second."""
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", RATE, 1, format="FLAC", subtype="PCM_16") as writer:
        for _ in range(seconds):
            writer.write(np.zeros(RATE, dtype="int16"))
    return file.getvalue()


def with_flac_length(content: bytes, frames: int) -> bytes:
    """Return a FLAC file whose header states another length; 0: unknown (RFC 9639, 8.2)."""
    word = struct.unpack(">Q", content[18:26])[0]
    return content[:18] + struct.pack(">Q", word >> 36 << 36 | frames) + content[26:]


def with_wav_length(content: bytes, size: int) -> bytes:
    """Return a WAV file whose header states another number of data bytes."""
    return content[:40] + struct.pack("<I", size) + content[44:]
