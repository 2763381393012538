"""One thread for one model, with a bounded queue and a timeout.

    thread = ModelThread("kk-names", timeout_s=5, max_queue=16)
    await thread.run(lambda until_s: read(texts, until_s))

Python cannot end a thread. A cancelled call therefore counts against `max_queue` until the model has finished the text,
or the part of it, that it is processing; so the queue is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from .model_finder import ModelFinderFailed

_Result = TypeVar("_Result")


class ModelThread:
    """Runs the calls of one model, one at a time.

    Args:
        name: of the model.
        timeout_s: of a call, queueing included.
        max_queue: queued and running calls.
    """

    def __init__(self, name: str, *, timeout_s: float, max_queue: int) -> None:
        self._timeout_s = timeout_s
        self._max_queue = max_queue
        # The thread begins with the first call, so after workers are forked, and ends with this object.
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"model {name}")
        self._jobs: set[Future[Any]] = set()

    async def run(self, call: Callable[[float], _Result]) -> _Result:
        """Return the result of a call.

        Args:
            call: gets the time until which it may take, as `time.monotonic` counts.

        Raises:
            ModelFinderFailed: too many wait, it took too long, or the model itself failed.
        """
        if len(self._jobs) >= self._max_queue:
            raise ModelFinderFailed("busy")
        job = self._executor.submit(_guarded, call, time.monotonic() + self._timeout_s)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(job), self._timeout_s)
        except TimeoutError:
            raise ModelFinderFailed("timeout") from None
        except ModelFinderFailed:
            raise
        except Exception as error:
            raise ModelFinderFailed(type(error).__name__) from error


def _guarded(call: Callable[[float], _Result], until_s: float) -> _Result:
    try:
        return call(until_s)
    except Exception:
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit would end the gateway; so do panics in Rust end a request
        raise ModelFinderFailed(type(error).__name__) from None
