"""What an operator can do. Each is in the ledger before it is done, with who did it; one that can't be recorded is not.

actions = Actions(sources, audit)
actions.names()                                   # those whose provider is there
await actions.run("drain", {}, by=principal)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sovctl.support.errors import SovctlError

from ..access.principal import Principal
from ..audit.audit_log import AuditLog
from ..telemetry import log
from .status import Sources

_MOST_TEXT = 20_000  # characters of an operator's answer


class NotDone(Exception):
    """It could not be done; its text says why, to the operator."""


@dataclass(frozen=True)
class Action:
    """One thing an operator can do.

    Args:
        done: what to tell the operator.
        recorded: the fields that go into the ledger; others may hold text.
    """

    run: Callable[[Sources, Mapping[str, str], str], Awaitable[None]]
    done: str
    fields: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    is_there: Callable[[Sources], bool] = lambda _: True


async def _reload(sources: Sources, _fields: Mapping[str, str], _by: str) -> None:
    sources.reload()


async def _drain(sources: Sources, _fields: Mapping[str, str], _by: str) -> None:
    sources.board.drain()


async def _resume(sources: Sources, _fields: Mapping[str, str], _by: str) -> None:
    sources.board.drain(is_draining=False)


async def _take(sources: Sources, fields: Mapping[str, str], by: str) -> None:
    assert sources.handoffs is not None
    if not await _done(sources.handoffs.take(fields["id"], by=by)):
        raise NotDone("expected a hand-off that waits, got one that somebody has, or none")


async def _resolve(sources: Sources, fields: Mapping[str, str], by: str) -> None:
    assert sources.handoffs is not None
    answer = fields["answer"].strip() or None
    if not await _done(sources.handoffs.resolve(fields["id"], by=by, answer=answer)):
        raise NotDone("expected a hand-off that is open and nobody else's, got none")


async def _done(doing: Awaitable[bool]) -> bool:
    try:
        return await doing
    except SovctlError as error:
        log.event("hand-off not changed", level=40, error=error)
        raise NotDone("the queue or the vault can't be written, so nothing was changed") from error


def _has_handoffs(sources: Sources) -> bool:
    return sources.handoffs is not None


ACTIONS: Mapping[str, Action] = {
    "reload": Action(_reload, "Every worker reads its settings again; when they are refused, it says so below."),
    "drain": Action(_drain, "`/readyz` says `draining` within a second; requests that still come are served."),
    "resume": Action(_resume, "`/readyz` says again what it finds."),
    "take": Action(_take, "Taken; the others see that you have it.", ("id",), ("id",), _has_handoffs),
    "resolve": Action(_resolve, "Resolved.", ("id", "answer"), ("id",), _has_handoffs),
}


class Actions:
    """The actions of one gateway."""

    def __init__(self, sources: Sources, audit: AuditLog) -> None:
        self._sources = sources
        self._audit = audit

    def names(self) -> list[str]:
        """Those that can be done here."""
        return [name for name, action in ACTIONS.items() if action.is_there(self._sources)]

    async def read(self, handoff_id: str, *, by: Principal) -> Mapping[str, Any] | None:
        """A hand-off with its conversation, in tokens; None when there is none. Who read it is recorded first.

        Raises:
            Refused: it could not be recorded, so it is not shown.
            SovctlError: it can't be read.
        """
        if self._sources.handoffs is None:
            return None
        case = await self._sources.handoffs.case(handoff_id)
        if case is not None:
            await self._audit.admin(action="read", by=by, fields={"id": handoff_id})
        return case

    async def run(self, name: str, given: Mapping[str, str], *, by: Principal) -> None:
        """Do it.

        Raises:
            KeyError: there is no such action here.
            NotDone: with the reason.
            Refused: it could not be recorded, so it was not done.
        """
        action = ACTIONS[name]
        if not action.is_there(self._sources):
            raise KeyError(name)
        fields = {field: str(given.get(field, "")) for field in action.fields}
        if any(len(value) > _MOST_TEXT for value in fields.values()):
            raise NotDone(f"expected at most {_MOST_TEXT} characters, got more")
        recorded = {field: fields[field][:200] for field in action.recorded}
        await self._audit.admin(action=name, by=by, fields=recorded)
        await action.run(self._sources, fields, by.name)
