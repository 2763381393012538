"""Measures recordings in processes without rights, a limited number at a time.

measurer = Measurer(max_duration_s=600)
await measurer.duration_ms(content)         # 5000
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

from ..domain.errors import Code, Refused
from ..telemetry import log
from .problem import Problem

_WORKER = f"{__package__}.worker"
_LOCKDOWN_FAILED = 3  # worker.py
_AT_ONCE = 2  # processes of one gateway worker, as VLLM_MAX_AUDIO_PREPROCESS_WORKERS of vLLM 0.32.0
_WALL_S = 60.0  # three times the worker's limit of processor time
_ANSWER_BYTES = 64
_CODES = {Problem.UNREADABLE: Code.RECORDING_UNREADABLE, Problem.TOO_LONG: Code.RECORDING_TOO_LONG}


class Measurer:
    """Measures recordings for one gateway worker.

    Args:
        max_duration_s: longest accepted recording, in seconds.
    """

    def __init__(self, *, max_duration_s: int) -> None:
        self._max_duration_s = max_duration_s
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def duration_ms(self, content: memoryview, *, deadline_s: float | None = None) -> int:
        """Return the duration of the decoded recording in milliseconds, above 0.

        Args:
            deadline_s: deadline of the request, in seconds of the event loop's clock.

        Raises:
            Refused: the recording is too long or unreadable, or it cannot be measured.
        """
        try:
            async with asyncio.timeout_at(deadline_s), self._places:
                code, answer = await self._run(content)
        except TimeoutError:
            raise Refused(Code.DEADLINE_EXCEEDED) from None
        if code == 0 and answer.isdigit():
            return int(answer)
        if code == 0 and answer in set(Problem):
            raise Refused(_CODES[Problem(answer)], param="file")
        if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE, -signal.SIGBUS):
            log.event("recording not decoded", level=30, exit_code=code)
            raise Refused(Code.RECORDING_UNREADABLE, param="file")
        reason = "no isolation (seccomp)" if code == _LOCKDOWN_FAILED else "the process failed"
        log.event("recordings cannot be measured", level=40, reason=reason, exit_code=code)
        raise Refused(Code.RECORDING_CHECK_UNAVAILABLE)

    async def _run(self, content: memoryview) -> tuple[int, str]:
        """Return the exit code and the answer of a worker process."""
        file = os.memfd_create("recording")
        try:
            while content:
                content = content[os.write(file, content) :]
            os.lseek(file, 0, os.SEEK_SET)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-m", _WORKER, str(self._max_duration_s)),
                stdin=file,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                cwd="/",
            )
        finally:
            os.close(file)
        assert process.stdout is not None
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_WALL_S):
                    answer = await process.stdout.read(_ANSWER_BYTES)
                    return await process.wait(), answer.decode(errors="replace")
            return -signal.SIGKILL, ""
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
