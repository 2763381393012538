"""Actions of an operator. Each is recorded in the ledger, with the operator's name, before it is carried out.

actions = Actions(sources, audit)
actions.names()                                   # the available ones
await actions.run("drain", {}, by=principal)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sovctl.support.errors import SovctlError

from ..access.principal import Principal
from ..audit.audit_log import AuditLog
from ..telemetry import log
from .scope import Scope
from .status import Sources

_MAX_TEXT = 20_000  # characters of an operator's answer


_Result = TypeVar("_Result")


class NotPermitted(Exception):
    """The action concerns all tenants, and the operator administers only some."""


class NotDone(Exception):
    """The action failed; the text is the reason, for the operator."""


@dataclass(frozen=True)
class Action:
    """One action.

    Args:
        done: message to the operator.
        recorded: fields for the ledger record; other fields may contain text.
    """

    run: Callable[[Sources, Mapping[str, str], str], Awaitable[None]]
    done: str
    fields: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    is_there: Callable[[Sources], bool] = lambda _: True
    concerns_all: bool = False
    """Whether it concerns every tenant; otherwise only the tenant of the hand-off `id`."""


async def _reload(sources: Sources, _fields: Mapping[str, str], _by: str) -> None:
    sources.reload()


async def _drain(sources: Sources, _fields: Mapping[str, str], _by: str) -> None:
    sources.board.drain()


async def _resume(sources: Sources, _fields: Mapping[str, str], _by: str) -> None:
    sources.board.drain(is_draining=False)


async def _take(sources: Sources, fields: Mapping[str, str], by: str) -> None:
    assert sources.handoffs is not None
    if not await _done(sources.handoffs.take(fields["id"], by=by)):
        raise NotDone("this hand-off does not exist, or another operator has taken it")


async def _resolve(sources: Sources, fields: Mapping[str, str], by: str) -> None:
    assert sources.handoffs is not None
    answer = fields["answer"].strip() or None
    if not await _done(sources.handoffs.resolve(fields["id"], by=by, answer=answer)):
        raise NotDone("this hand-off is not open, or another operator has taken it")


async def _done(doing: Awaitable[_Result]) -> _Result:
    try:
        return await doing
    except SovctlError as error:
        log.event("hand-off not changed", level=40, error=error)
        raise NotDone("the queue or the vault is not writable; nothing was changed") from error


def _has_handoffs(sources: Sources) -> bool:
    return sources.handoffs is not None


ACTIONS: Mapping[str, Action] = {
    "reload": Action(
        _reload, "Every worker reads its settings again; rejected settings are shown below.", concerns_all=True
    ),
    "drain": Action(
        _drain, "`/readyz` reports `draining` within a second; new requests are still served.", concerns_all=True
    ),
    "resume": Action(_resume, "`/readyz` reports the checked state again.", concerns_all=True),
    "take": Action(_take, "Taken; other operators see that it is assigned to you.", ("id",), ("id",), _has_handoffs),
    "resolve": Action(_resolve, "Resolved.", ("id", "answer"), ("id",), _has_handoffs),
}


class Actions:
    """The actions of one gateway."""

    def __init__(self, sources: Sources, audit: AuditLog) -> None:
        self._sources = sources
        self._audit = audit

    def scope(self, operator: Principal) -> Scope:
        """Return what the operator may see and change."""
        return Scope.of(operator, self._sources.authenticator().tenants)

    def names(self, operator: Principal) -> list[str]:
        """Return the actions that are available to the operator."""
        is_whole_site = self.scope(operator).is_whole_site
        return [
            name
            for name, action in ACTIONS.items()
            if action.is_there(self._sources) and (is_whole_site or not action.concerns_all)
        ]

    async def read(self, handoff_id: str, *, by: Principal) -> Mapping[str, Any] | None:
        """Return a hand-off with its conversation, in tokens; None if it does not exist or is of another tenant. The
        access is recorded first.

        Raises:
            Refused: it could not be recorded, so it is not shown.
            SovctlError: it is unreadable.
        """
        if self._sources.handoffs is None:
            return None
        if not self.scope(by).includes(await self._sources.handoffs.tenant(handoff_id)):
            return None
        case = await self._sources.handoffs.case(handoff_id)
        if case is not None:
            await self._audit.admin(action="read", by=by, fields={"id": handoff_id})
        return case

    async def run(self, name: str, given: Mapping[str, str], *, by: Principal) -> None:
        """Record and carry out an action.

        Raises:
            KeyError: unknown action.
            NotDone: with the reason.
            NotPermitted: it concerns tenants that `by` does not administer.
            Refused: it could not be recorded, so it was not carried out.
        """
        action = ACTIONS[name]
        if not action.is_there(self._sources):
            raise KeyError(name)
        fields = {field: str(given.get(field, "")) for field in action.fields}
        scope = self.scope(by)
        if not scope.is_whole_site:
            if action.concerns_all:
                raise NotPermitted
            if not scope.includes(await _done(self._tenant(fields["id"]))):
                raise NotDone("this hand-off does not exist, or another operator has taken it")
        if any(len(value) > _MAX_TEXT for value in fields.values()):
            raise NotDone(f"the text is longer than {_MAX_TEXT} characters")
        recorded = {field: fields[field][:200] for field in action.recorded}
        await self._audit.admin(action=name, by=by, fields=recorded)
        await action.run(self._sources, fields, by.name)

    async def _tenant(self, handoff_id: str) -> str | None:
        assert self._sources.handoffs is not None
        return await self._sources.handoffs.tenant(handoff_id)
