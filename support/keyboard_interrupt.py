"""Ctrl-C while modules load: nothing has begun, and a traceback through libraries helps nobody.

with exit_on_interrupt():
    from sovctl.gateway.server import serve
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once, as the system does it; a shell sees 130.

    Who ignores the signal, or has taken it, keeps that.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
