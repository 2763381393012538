"""Exit without a traceback on Ctrl-C during imports.

with exit_on_interrupt():
    from sovctl.gateway.runtime.server import serve
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """Restore the system default of SIGINT for the block: Ctrl-C ends the process, and a shell reports exit code 130.

    A process that ignores SIGINT, or has its own handler, keeps that.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
