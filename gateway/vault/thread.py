"""One thread that owns one database connection; coroutines hand it work and wait.

Like an executor with one thread, at a third of its cost for each piece of work: a queue, and one call back into the
event loop.

    thread = Thread("vault writer")
    await thread.run(file.write, batch)
    thread.close()
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from sovctl.gateway.vault.errors import VaultFailed

_Result = TypeVar("_Result")
_Work = tuple[Callable[..., Any], tuple[Any, ...], "asyncio.Future[Any]"]


class Thread:
    """Runs what it is given, one after another."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()
        self.is_closed = False

    async def run(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """What the function returns or raises; it runs to its end even if the caller gives up.

        Raises:
            VaultFailed: the thread has ended.
        """
        if self.is_closed:
            raise VaultFailed("expected an open vault, got a closed one")
        future: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._queue.put((function, args, future))
        return await future

    def close(self) -> None:
        """Finish what waits and end."""
        self.is_closed = True
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            function, args, future = work
            result, error = None, None
            try:
                result = function(*args)
            except Exception as caught:  # noqa: BLE001 - the caller must hear of it, whatever it is
                error = caught
            try:
                future.get_loop().call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                continue


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return  # the caller gave up
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
