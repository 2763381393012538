"""An answer that has begun with status 200, and the list of attempts for the audit record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from ..body.sse import EventTooLarge
from ..domain.errors import UpstreamFailed
from .connection import Connection
from .server import Server

_SHORT_BYTES = 64 << 10  # reading it costs less than a new TLS connection (about 2 ms of CPU at both ends; guess)


class Decoder(Protocol):
    """Translates the body of an answer."""

    def feed(self, data: bytes) -> bytes:
        """Return the translation of a part of a stream; empty if more of it is needed.

        Raises:
            UpstreamFailed, EventTooLarge: it is invalid.
        """

    def whole(self, data: bytes) -> bytes:
        """Return the translation of a body that is not streamed.

        Raises:
            UpstreamFailed: it is invalid.
        """


class StreamedAnswer(Protocol):
    """The methods of an answer that a stream to the client uses; see `Answer`."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield chunks of the body."""

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Pass each chunk to `take` on arrival, until that returns False. Return True at the end of the body."""

    def note(self, outcome: str) -> None:
        """Set the outcome of the attempt in the audit record."""

    def finished(self) -> None:
        """Mark the answer as complete."""

    def failed(self, cause: str) -> None:
        """Mark the answer as invalid."""

    def release(self) -> None:
        """Return or close the connection."""


class Attempts:
    """The attempts of a request, in order, with their outcomes: for its audit record.

    attempts = Attempts()
    number = attempts.begin("chat/0")      # server 0 of the upstream `chat`
    attempts.end(number, "status-503")
    attempts.words()                       # ["chat/0:status-503"]
    """

    __slots__ = ("_places", "_words", "hedges")

    def __init__(self) -> None:
        self.hedges = 0
        """Number of hedged requests at the last upstream; each may have used as much as the answered one."""
        self._places: list[str] = []
        self._words: list[str] = []

    @property
    def count(self) -> int:
        """Number of attempts."""
        return len(self._places)

    def begin(self, place: str) -> int:
        """Add an attempt before it is sent, and return its number."""
        self._places.append(place)
        self._words.append(f"{place}:sent")
        return len(self._places) - 1

    def end(self, number: int, outcome: str) -> None:
        """Set the outcome of an attempt: a status, or a cause of `UpstreamFailed`."""
        self._words[number] = f"{self._places[number]}:{outcome}"

    def end_last(self, outcome: str) -> None:
        """Replace the outcome of the last attempt."""
        self.end(-1, outcome)

    def words(self) -> list[str]:
        """Return all attempts; contains no text of a request."""
        return [*self._words]


class Answer:
    """The answer of an upstream that has begun. The caller must call `release`.

    Args:
        attempts: receives the outcome of attempt `number` if the answer fails later.
        blames_server: an invalid answer counts as a failure of the server.
    """

    __slots__ = (
        *("_attempts", "_blames_server", "_connection", "_is_blamed", "_is_finished", "_is_released", "_number"),
        *("_server", "decoder"),
    )

    def __init__(
        self,
        connection: Connection,
        server: Server,
        attempts: Attempts | None = None,
        number: int = 0,
        *,
        blames_server: bool = True,
    ) -> None:
        self._connection = connection
        self._server = server
        self._attempts = attempts
        self._number = number
        self.decoder: Decoder | None = None
        """Translates the body; set by the caller before the body is read. None: the body is returned as received."""
        self._blames_server = blames_server
        self._is_blamed = False
        self._is_finished = False
        self._is_released = False
        self.note(str(connection.status))

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._connection.status

    def header(self, name: bytes) -> bytes | None:
        """Return a header of the answer; `name` in lower case."""
        return self._connection.header(name)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield chunks of the body.

        Raises:
            UpstreamFailed: it broke off, or paused longer than the read timeout.
        """
        while piece := await self.piece():
            if (decoded := self._decoded(piece)) is not None:
                yield decoded

    async def piece(self) -> bytes:
        """Return the unread part of the body, as received; empty at the end.

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
        """Pass each chunk to `take` on arrival, until that returns False. Return True at the end of the body.

        Raises:
            UpstreamFailed: as for `chunks`.
        """
        if self.decoder is None:
            return await self._pour(take)
        failure: Exception | None = None

        def decode(piece: bytes) -> bool:
            nonlocal failure
            try:
                decoded = self._decoded(piece)
            except Exception as error:  # noqa: BLE001 - raised below, in the task of the request
                failure = error
                return False
            return decoded is None or take(decoded)

        is_whole = await self._pour(decode)
        if failure is not None:
            raise failure
        return is_whole

    def _decoded(self, piece: bytes) -> bytes | None:
        """Return the translation of a part of a stream; None if it is empty.

        Raises:
            UpstreamFailed: it is invalid.
        """
        if self.decoder is None:
            return piece
        try:
            return self.decoder.feed(piece) or None
        except (UpstreamFailed, EventTooLarge) as error:
            failure = error if isinstance(error, UpstreamFailed) else UpstreamFailed("too-large")
            self.failed(failure.cause)
            raise failure from None

    async def _pour(self, take: Callable[[bytes], bool]) -> bool:
        try:
            is_whole = await self._connection.pour(take)
        except UpstreamFailed as error:
            self.failed(error.cause)
            raise
        if is_whole and self.status == 200 and not self._is_blamed:
            self._server.breaker.succeeded()
        return is_whole

    async def read(self, *, at_most: int) -> bytes:
        """Return the whole body.

        Raises:
            UpstreamFailed: it is longer than `at_most` bytes, or as for `chunks`.
        """
        pieces, left = [], at_most

        def take(piece: bytes) -> bool:
            nonlocal left
            pieces.append(piece)
            left -= len(piece)
            return left >= 0

        if not await self._pour(take):
            raise UpstreamFailed("too-large")
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return data if self.decoder is None else self.decoder.whole(data)

    async def discard(self) -> None:
        """Read the rest if it is short, so that the connection can be reused; then release."""
        try:
            await self.read(at_most=_SHORT_BYTES)
        except UpstreamFailed:
            pass
        finally:
            self.release()

    def finished(self) -> None:
        """Mark the answer as complete; the rest of the body contains nothing relevant."""
        self._is_finished = True
        self._server.breaker.succeeded()

    def failed(self, cause: str) -> None:
        """Mark the answer as invalid; it counts as one failure of its server."""
        if not self._is_blamed:
            self._is_blamed = True
            if self._blames_server:
                self._server.failed()
            self.note(cause)

    def note(self, outcome: str) -> None:
        """Set the outcome of the attempt in the audit record."""
        if self._attempts is not None:
            self._attempts.end(self._number, outcome)

    def release(self) -> None:
        """Return the connection to the pool, or close it if the answer was not read to its end."""
        if not self._is_released:
            self._is_released = True
            self._server.give_back(self._connection, is_ending=self._is_finished)
