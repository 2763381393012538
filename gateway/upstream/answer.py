"""An answer that has begun with status 200, and the account of the attempts that led to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from ..domain.errors import UpstreamFailed
from .connection import Connection
from .server import Server

_SHORT_BYTES = 64 << 10  # reading on costs less than a new TLS connection (about 2 ms of CPU at both ends; guess)


class Attempts:
    """Where a request was sent, in order, and what came of each: for its audit record.

    attempts = Attempts()
    number = attempts.begin("chat/0")      # server 0 of the upstream `chat`
    attempts.end(number, "status-503")
    attempts.words()                       # ["chat/0:status-503"]
    """

    __slots__ = ("_places", "_words", "hedges")

    def __init__(self) -> None:
        self.hedges = 0
        """Servers that were asked beside another one, of the upstream asked last: each may have used as much as it."""
        self._places: list[str] = []
        self._words: list[str] = []

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self._places)

    def begin(self, place: str) -> int:
        """A request is about to be sent; the number of this attempt."""
        self._places.append(place)
        self._words.append(f"{place}:sent")
        return len(self._places) - 1

    def end(self, number: int, outcome: str) -> None:
        """What came of it so far: a status, or a cause of `UpstreamFailed`."""
        self._words[number] = f"{self._places[number]}:{outcome}"

    def end_last(self, outcome: str) -> None:
        """What came of the last one after all."""
        self.end(-1, outcome)

    def words(self) -> list[str]:
        """All of them; no text of anybody's."""
        return [*self._words]


class Answer:
    """The answer of an upstream that has begun. Call `release` when done with it.

    Args:
        attempts: where a later failure is noted, as what came of attempt `number`.
    """

    __slots__ = ("_attempts", "_connection", "_is_blamed", "_is_finished", "_is_released", "_number", "_server")

    def __init__(
        self, connection: Connection, server: Server, attempts: Attempts | None = None, number: int = 0
    ) -> None:
        self._connection = connection
        self._server = server
        self._attempts = attempts
        self._number = number
        self._is_blamed = False
        self._is_finished = False
        self._is_released = False
        self.note(str(connection.status))

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._connection.status

    def header(self, name: bytes) -> bytes | None:
        """A header of the answer; `name` in lower case."""
        return self._connection.header(name)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Pieces as they come.

        Raises:
            UpstreamFailed: it stopped in the middle, or paused longer than allowed.
        """
        while piece := await self.piece():
            yield piece

    async def piece(self) -> bytes:
        """What came since last time; empty at the end.

        Raises:
            UpstreamFailed: as for `chunks`.
        """
        try:
            piece = await self._connection.piece()
        except UpstreamFailed as error:
            self.failed(error.cause)
            raise
        if not piece and self.status == 200 and not self._is_blamed:
            self._server.breaker.succeeded()
        return piece

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Give pieces to `take` the moment they come, until that returns False; True at the end.

        Raises:
            UpstreamFailed: as for `chunks`.
        """
        try:
            is_whole = await self._connection.pour(take)
        except UpstreamFailed as error:
            self.failed(error.cause)
            raise
        if is_whole and self.status == 200 and not self._is_blamed:
            self._server.breaker.succeeded()
        return is_whole

    async def read(self, *, at_most: int) -> bytes:
        """The whole body.

        Raises:
            UpstreamFailed: it is longer than `at_most` bytes, or as for `chunks`.
        """
        pieces, left = [], at_most

        def take(piece: bytes) -> bool:
            nonlocal left
            pieces.append(piece)
            left -= len(piece)
            return left >= 0

        if not await self.pour(take):
            raise UpstreamFailed("too-large")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def discard(self) -> None:
        """Read a short rest, so that the connection can be used again; then release."""
        try:
            await self.read(at_most=_SHORT_BYTES)
        except UpstreamFailed:
            pass
        finally:
            self.release()

    def finished(self) -> None:
        """It has said that it is whole; what may still come is no news."""
        self._is_finished = True
        self._server.breaker.succeeded()

    def failed(self, cause: str) -> None:
        """It is no answer after all; this counts against its server, once."""
        if not self._is_blamed:
            self._is_blamed = True
            self._server.failed()
            self.note(cause)

    def note(self, outcome: str) -> None:
        """What came of the attempt, for its audit record."""
        if self._attempts is not None:
            self._attempts.end(self._number, outcome)

    def release(self) -> None:
        """Give the connection back, or close it when the answer was not read to its end."""
        if not self._is_released:
            self._is_released = True
            self._server.give_back(self._connection, is_ending=self._is_finished)
