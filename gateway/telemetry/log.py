"""The log: one JSON object per line on standard error, without text of requests or answers.

Messages of libraries may contain content, and exceptions contain the value that caused them. Therefore only sovctl's
loggers write, with fixed words and named fields. An exception is logged as its type and its stack positions, without
its message.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_logger = logging.getLogger("sovctl.gateway")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.msg if record.name == _logger.name else f"library:{record.name}",
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = describe(record.exc_info[1])
        return json.dumps(fields, ensure_ascii=True, sort_keys=False)


def set_up(level: str = "INFO") -> None:
    """Send sovctl's log, and the names of libraries that warn, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.raiseExceptions = False  # otherwise a failed write would print the record with its text
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    _logger.setLevel(level)


def event(name: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Log an event.

    Args:
        name: fixed words, such as "upstream failed".
        error: logged without its message.
        fields: names, codes and numbers; no text of a request or an answer.
    """
    _logger.log(level, name, exc_info=error, extra={"fields": fields})


@contextlib.contextmanager
def without(library: str) -> Iterator[None]:
    """Suppress the logger of a library."""
    logger = logging.getLogger(library)
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def describe(error: BaseException) -> str:
    """Return an exception's type and its last stack positions, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {places}" if places else type(error).__name__
