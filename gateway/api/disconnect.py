"""Cancels the task of a request when its client disconnects."""

from __future__ import annotations

import asyncio

from starlette.types import Scope

from ..http.connections import LEFT


class ClientDisconnect:
    """Cancels the current task if the client disconnects before `stop`."""

    __slots__ = ("_request", "_state", "has_left")

    def __init__(self, scope: Scope) -> None:
        self.has_left = False
        self._request = asyncio.current_task()
        self._state = scope["state"]
        self._state[LEFT] = self._end

    def stop(self) -> None:
        """Stop watching."""
        self._state.pop(LEFT, None)

    def _end(self) -> None:
        self.has_left = True
        if self._request is not None:
            self._request.cancel()
