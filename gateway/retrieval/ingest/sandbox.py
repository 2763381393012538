"""Runs the parser of one document as an untrusted process, and checks its output.

    extraction = parse(content, suffix=".pdf", limits=Limits(), user_id=65534)

The process receives the document as standard input, an empty environment, and no other descriptor. `support.lockdown`
lists its rights. Its output is untrusted: sizes, types and characters are checked here.
"""

from __future__ import annotations

import json
import os
import pwd
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any

from sovctl.support.errors import InputError, MissingTool

from .parsers.blocks import clean
from .parsers.extracted import Block, Extraction, Limits, Reason, Refused

_WORKER = f"{__package__}.parsers.worker"
_LOCKDOWN_FAILED = 3  # parsers/worker.py
_OVERFLOW_USER_ID = 65534  # Linux, admin-guide/sysctl/kernel.rst: default of overflowuid; owns no files
_MESSAGE_CHARACTERS = 300
_EXTRACTOR_CHARACTERS = 80


def parser_user_id(name: str = "") -> int:
    """Return the user id of parser processes.

    Args:
        name: user of the settings; empty: the overflow user, 65534.

    Raises:
        InputError: the user does not exist, or is root.
    """
    if not name:
        return _OVERFLOW_USER_ID
    try:
        user_id = pwd.getpwnam(name).pw_uid
    except KeyError as error:
        raise InputError(
            "no such user on this machine", where="parser: user", hint="create it, or omit `user`"
        ) from error
    if user_id == 0:
        raise InputError("expected a user without rights, got root", where="parser: user")
    return user_id


def parse(content: bytes, *, suffix: str, limits: Limits, user_id: int) -> Extraction:
    """Return the text of a document.

    Args:
        suffix: of the file name, with the dot.
        user_id: user of the process if this process is root.

    Raises:
        Refused: the document is not ingested; the reason is safe to show.
        MissingTool: this machine cannot isolate the parser.
    """
    if len(content) > limits.file_bytes:
        raise Refused(Reason.SIZE, f"expected at most {limits.file_bytes} bytes, got {len(content)}")
    document = os.memfd_create("document")
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(document, view) :]
        os.lseek(document, 0, os.SEEK_SET)
        given = json.dumps({"suffix": suffix.lower(), "limits": asdict(limits), "user_id": user_id})
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", _WORKER, given],
            stdin=document,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
        )
    finally:
        os.close(document)
    try:
        output = _output(process, limits)
        errors = process.stderr.read(_MESSAGE_CHARACTERS) if process.stderr else b""
        process.wait(timeout=limits.wall_s)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    if process.returncode == _LOCKDOWN_FAILED:
        raise MissingTool(
            f"cannot isolate the parser: {errors.decode(errors='replace')}", hint="use Linux with seccomp"
        )
    if process.returncode != 0:
        raise _ended(process.returncode, limits)
    return _checked(output)


def _output(process: subprocess.Popen[bytes], limits: Limits) -> bytes:
    assert process.stdout is not None
    deadline = time.monotonic() + limits.wall_s
    waiting = select.poll()
    waiting.register(process.stdout, select.POLLIN | select.POLLHUP)
    output = bytearray()
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not waiting.poll(left_s * 1000):
            raise Refused(Reason.TIME, f"parsing takes more than {limits.wall_s:g} s")
        chunk = os.read(process.stdout.fileno(), 1 << 20)
        if not chunk:
            return bytes(output)
        output += chunk
        if len(output) > limits.text_bytes:
            raise Refused(Reason.OUTPUT, f"the text has more than {limits.text_bytes >> 20} MiB")


def _ended(code: int, limits: Limits) -> Refused:
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return Refused(Reason.TIME, f"parsing takes more than {limits.cpu_s} s of processor time, or was killed")
    return Refused(Reason.CRASHED, f"the parser ended with code {code}")


def _checked(output: bytes) -> Extraction:
    """Return the result of a worker.

    Raises:
        Refused: the worker refused the document, or its output is not a result.
    """
    invalid = Refused(Reason.CRASHED, "the parser returned an invalid result")
    try:
        result: Any = json.loads(output)
    except (ValueError, RecursionError):
        raise invalid from None
    match result:
        case {"refused": {"reason": str(reason), "message": str(message)}} if reason in set(Reason):
            raise Refused(Reason(reason), clean(message)[:_MESSAGE_CHARACTERS])
        case {"extractor": str(extractor), "blocks": list(blocks)} if 0 < len(extractor) <= _EXTRACTOR_CHARACTERS:
            return Extraction(clean(extractor), [_block(each, invalid) for each in blocks])
    raise invalid


def _block(value: Any, invalid: Refused) -> Block:
    match value:
        case [str(text), (int() | None) as page, int(level)] if (
            text.strip() and 0 <= level <= 9 and (page is None or page > 0)
        ):
            return Block(clean(text), page, level)
    raise invalid
