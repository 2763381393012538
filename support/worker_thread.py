"""One thread that owns a file or a connection; coroutines hand it work and wait.

Like an executor with one thread, at a third of its cost for each piece of work: a queue, and one call back into the
event loop.

    thread = WorkerThread("vault writer", closed=partial(VaultFailed, "expected an open vault, got a closed one"))
    await thread.run(file.write, batch)
    thread.close()
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

_Result = TypeVar("_Result")
Then = Callable[[Any, Exception | None], None]
"""What is called in the event loop with a result, or with what was raised."""
_Work = tuple[Callable[..., Any], tuple[Any, ...], asyncio.AbstractEventLoop, Then]


class WorkerThread:
    """Runs what it is given, one after another.

    Args:
        closed: makes the error for who comes after the end.
    """

    def __init__(self, name: str, *, closed: Callable[[], Exception]) -> None:
        self._closed = closed
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()
        self.is_closed = False

    def run(self, function: Callable[..., _Result], *args: Any) -> asyncio.Future[_Result]:
        """What the function returns or raises; it runs to its end even if the caller gives up.

        Raises:
            Exception: the thread has ended.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()
        self.submit(loop, partial(_settle, future), function, *args)
        return future

    def submit(self, loop: asyncio.AbstractEventLoop, then: Then, function: Callable[..., Any], *args: Any) -> None:
        """`run` for who needs no future: `then` is called in the event loop.

        Raises:
            Exception: the thread has ended.
        """
        if self.is_closed:
            raise self._closed()
        self._queue.put((function, args, loop, then))

    def close(self) -> None:
        """Finish what waits and end."""
        self.is_closed = True
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            function, args, loop, then = work
            result, error = None, None
            try:
                result = function(*args)
            except Exception as caught:  # noqa: BLE001 - the caller must hear of it, whatever it is
                error = caught
            try:
                loop.call_soon_threadsafe(then, result, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                continue


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return  # the caller gave up
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
