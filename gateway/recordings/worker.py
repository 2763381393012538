"""Process of one untrusted recording: `python -I -m sovctl.gateway.recordings.worker MAX_DURATION_S`.

Reads the recording from standard input, drops all rights, decodes, and writes one line: the duration in milliseconds,
or the problem. `measurer` starts it.
"""

from __future__ import annotations

import io
import os
import sys
import wave

from sovctl.support import lockdown

from .decoding import RecordingRefused, duration_ms
from .problem import Problem

LOCKDOWN_FAILED = 3  # exit code: a required layer is unavailable
_USER_ID = 65534  # Linux, admin-guide/sysctl/kernel.rst: default of overflowuid; owns no files
_MEMORY_BYTES = 512 << 20  # of addresses; 10 minutes of MP3 need 130 MiB (measured 2026-11)
_CPU_S = 20  # 10 minutes of MP3 need 1 s (measured 2026-11)


def main() -> int:
    """Measure standard input; return the exit code."""
    max_duration_s = int(sys.argv[1])
    _warm_up()
    content = bytearray()
    while chunk := os.read(0, 1 << 20):
        content += chunk
    try:
        lockdown.enter(memory_bytes=_MEMORY_BYTES, cpu_s=_CPU_S, user_id=_USER_ID)
    except OSError as error:
        os.write(2, str(error).encode())
        return LOCKDOWN_FAILED
    try:
        answer = str(duration_ms(bytes(content), max_duration_s=max_duration_s))
    except RecordingRefused as refused:
        answer = refused.problem.value
    except Exception:  # noqa: BLE001 - a decoder of untrusted input raises anything
        answer = Problem.UNREADABLE.value
    os.write(1, answer.encode())
    return 0


def _warm_up() -> None:
    """Decode a short recording, because no library can be loaded afterwards."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes(bytes(160))
    duration_ms(file.getvalue(), max_duration_s=1)


if __name__ == "__main__":
    os._exit(main())  # the interpreter's shutdown needs system calls that are forbidden
