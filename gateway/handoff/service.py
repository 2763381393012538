"""Submits, lists, takes, resolves and fetches hand-offs. Each change is durable before it is reported.

    replacement = await service.submit(attempt, reasons, ["It is DE89..."])    # for the client
    await service.take(replacement.handoff_id, by="ops")
    await service.resolve(replacement.handoff_id, by="ops", answer="Your account IBAN_... is in order.")
    await service.fetch(principal, replacement.handoff_id)                     # only for the client of the request

The operator reads and writes tokens. In the operator's answer, tokens of the request are restored if the client may see
values. Tokens that only the withheld answer contains are never restored.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson

from sovctl.support.errors import SovctlError

from ..access.principal import Principal
from ..audit.audit_log import AuditLog
from ..domain.errors import Code, Refused
from ..exchange.attempt import Attempt
from ..settings import HandoffSettings
from ..surfaces import SURFACES
from ..surfaces.answers.replacement_answer import ReplacementAnswer
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..tokens.conversation import Conversation
from ..tokens.keys import TokenKeys
from ..tokens.restore import restore
from ..tokens.token import TokenIssuer
from ..vault import Superseded, Vault
from .case import HandoffCase, State, is_id, new_id, owner_of
from .queue import Queue, QueueFull
from .transcript import HELD_BACK, Transcript, transcript_of

# Without it, the openai client sends the request three times (2.x, 2026-11), and each answer would be withheld.
_DO_NOT_RETRY = ((b"x-should-retry", b"false"),)
_MAX_SHOWN = 200  # rows on the operators' page
_SURFACES = {surface.name: surface for surface in SURFACES.values()}
_SAID, _ANSWER = "said", "answer"  # first word of their names in the vault; names of tokens contain no space


class HandoffService:
    """The hand-offs of one gateway.

    Args:
        ttl_s: lifetime of transcripts in the vault.
        wake: schedules the webhook.
    """

    def __init__(
        self,
        settings: HandoffSettings,
        *,
        queue: Queue,
        vault: Vault,
        keys: TokenKeys,
        audit: AuditLog,
        metrics: Metrics,
        ttl_s: int,
        max_depth: int,
        wake: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._queue = queue
        self._vault = vault
        self._keys = keys
        self._audit = audit
        self._metrics = metrics
        self._ttl_s = ttl_s
        self._max_depth = max_depth
        self._wake = wake

    async def submit(self, attempt: Attempt, reasons: Counter[str], answer: Sequence[str]) -> ReplacementAnswer:
        """Queue a withheld answer, and return its replacement.

        Args:
            reasons: how often each reason code was given by the release checks.
            answer: strings of the answer, as the client would have got them.

        Raises:
            Refused: the queue is full or unavailable.
        """
        request = attempt.request
        try:
            case, languages = await self._queued(attempt, reasons, answer)
        except QueueFull:
            self._metrics.handoffs.add("refused")
            raise Refused(Code.HANDOFF_QUEUE_FULL, headers=[*_DO_NOT_RETRY]) from None
        except Exception as error:  # noqa: BLE001 - after any failure, the answer is in no queue
            log.event("hand-off failed", level=40, error=error, request_id=request.request_id)
            self._metrics.handoffs.add("refused")
            raise Refused(Code.HANDOFF_UNAVAILABLE, headers=[*_DO_NOT_RETRY]) from None
        self._metrics.handoffs.add("made")
        log.event("hand-off submitted", handoff_id=case.id, request_id=case.request_id, reasons=list(case.reasons))
        self._wake()
        text = self._settings.text(languages, case.id)
        return ReplacementAnswer(case.id, text, request.route.model, request.request_id, case.made_at)

    async def _queued(
        self, attempt: Attempt, reasons: Counter[str], answer: Sequence[str]
    ) -> tuple[HandoffCase, frozenset[str]]:
        """Return the hand-off, durable, and the languages of its request."""
        if await self._queue.is_full(self._settings.max_open):
            raise QueueFull
        conversation = attempt.conversation
        if len(attempt.conversations) > 1:  # a pool answered, so the vault was not asked which key it began with
            conversation = await self._vault.living(attempt.conversations) or conversation
        keys = self._keys.of(conversation.key_version)
        request, inspection = attempt.request, attempt.planned.inspected.inspection
        principal, now, case_id = request.principal, int(time.time()), new_id()
        made = await self._transcript(attempt, conversation, answer)
        case = HandoffCase(
            case_id,
            request.request_id,
            owner_of(keys.conversation, tenant=principal.tenant, client=principal.name),
            principal.tenant,
            request.route.model,
            request.surface.name,
            conversation.key,
            conversation.key_version,
            tuple(sorted(reasons)),
            {"messages": len(made.messages), "tokens": made.tokens, "reasons": reasons.total()},
            now,
            now + self._ttl_s,
        )
        said = {f"{_SAID} {case_id}": orjson.dumps(made.messages).decode()}
        await self._seal(case, {**made.issued, **said}, made.about)
        await self._queue.add(case, most_open=self._settings.max_open, tell=self._settings.webhook is not None)
        return case, inspection.languages if inspection is not None else frozenset()

    async def _transcript(self, attempt: Attempt, conversation: Conversation, answer: Sequence[str]) -> Transcript:
        """Return the conversation in tokens; empty if it cannot be tokenized."""
        inspected = attempt.planned.inspected
        request = inspected.admitted.request
        before = await self._vault.load(conversation) if conversation.is_named else {}
        beside = await self._vault.load(conversation.related_location("hand-offs"))
        issued = {**_tokens(beside), **before, **attempt.issued}
        issuer = TokenIssuer(
            self._keys.of(conversation.key_version).token,
            tenant=conversation.tenant,
            conversation=conversation.key,
            issued=issued,
            key_version=conversation.key_version,
            generation=self._vault.generation(conversation),
        )
        try:
            if inspected.inspection is None:
                raise ValueError("the detector failed")
            return await asyncio.to_thread(
                transcript_of,
                request.surface,
                inspected.admitted.body,
                inspected.inspector,
                answer,
                issuer=issuer,
                issued=issued,
                max_depth=self._max_depth,
            )
        except Exception as error:  # noqa: BLE001 - text that cannot be tokenized is not kept
            log.event("hand-off without its conversation", level=40, error=error, request_id=request.request_id)
            return Transcript([], {}, {})

    async def _seal(
        self, case: HandoffCase, values: Mapping[str, str], about: Mapping[str, Collection[str]] = MappingProxyType({})
    ) -> None:
        place = case.sealed_in
        try:
            await self._vault.store(place, values, subjects=about, generation=self._vault.generation(place))
        except Superseded:  # the conversation was erased; these values are stored after it
            await self._vault.store(place, values, subjects=about, generation=self._vault.generation(place))

    async def waiting(self) -> list[dict[str, Any]]:
        """Return the open hand-offs without text, oldest first."""
        return [case.as_row() for case in await self._queue.open_cases(most=_MAX_SHOWN)]

    async def case(self, handoff_id: str) -> dict[str, Any] | None:
        """Return a hand-off with `said`, its transcript: `role` and `text` of each message. None if it does not exist.

        The transcript is empty if it expired, was erased, or could not be tokenized.
        """
        case = await self._queue.get(handoff_id) if is_id(handoff_id) else None
        if case is None:
            return None
        return {**case.as_row(), "said": _messages(case, await self._vault.load(case.sealed_in))}

    async def tenant(self, handoff_id: str) -> str | None:
        """Return the tenant of a hand-off; None if it does not exist."""
        case = await self._queue.get(handoff_id) if is_id(handoff_id) else None
        return case.tenant if case is not None else None

    async def take(self, handoff_id: str, *, by: str) -> bool:
        """Assign a waiting hand-off to an operator. Return False if it does not wait."""
        case = await self._queue.get(handoff_id) if is_id(handoff_id) else None
        if case is None or case.state is not State.WAITING:
            return False
        now = int(time.time())
        await self._seal(case, {})  # renews the lifetime of the transcript
        taken = await self._queue.take(handoff_id, by=by, now=now, expires_at=now + self._ttl_s)
        if taken:
            self._metrics.handoffs.add("taken")
        return taken

    async def resolve(self, handoff_id: str, *, by: str, answer: str | None) -> bool:
        """Resolve a hand-off. Return False if it is not open, or is assigned to another operator.

        Args:
            answer: text for the client, in which tokens are restored; None for no answer.

        Raises:
            Refused: the audit record is not durable; the hand-off is still open.
            SovctlError: the vault or the queue cannot be written; the hand-off is still open.
        """
        case = await self._queue.get(handoff_id) if is_id(handoff_id) else None
        if case is None or not case.state.is_open or case.taken_by not in (None, by):
            return False
        name = f"{_ANSWER} {case.id} {secrets.token_hex(4)}" if answer is not None else None
        if name is not None and answer is not None:
            # The operator's text may name any person of the transcript, so an erasure of one of them erases it.
            people = [*_tokens(await self._vault.load(case.sealed_in)).values()]
            await self._seal(case, {name: answer}, {name: people})
        else:
            await self._seal(case, {})
        await self._audit.handoff(
            case.request_id,
            event="resolved",
            handoff_id=case.id,
            digest=self._audit.digest(answer.encode()) if answer is not None else None,
        )
        now = int(time.time())
        done = await self._queue.resolve(case.id, by=by, answer=name, now=now, expires_at=now + self._ttl_s)
        if done:
            self._metrics.handoffs.add("resolved")
        return done

    async def fetch(self, principal: Principal, handoff_id: str) -> dict[str, Any] | None:
        """Return the state and the answer of a hand-off. None if it does not exist, or another client made the request.

        Raises:
            Refused: the audit record of a delivered answer is not durable, or the vault cannot be read.
        """
        try:
            case = await self._queue.get(handoff_id) if is_id(handoff_id) else None
            if case is None or not self._is_owner(principal, case):
                return None
            text = await self._answer(principal, case)
        except SovctlError as error:
            log.event("hand-off can't be read", level=40, error=error)
            raise Refused(Code.HANDOFF_UNAVAILABLE) from None
        told: dict[str, Any] = {
            "id": case.id,
            "object": "sovctl.handoff",
            "state": case.state.value,
            "created_at": case.made_at,
            "taken_at": case.taken_at,
            "resolved_at": case.resolved_at,
            "expires_at": case.expires_at,
            "answer": None,
        }
        if text is not None and (ending := _SURFACES[case.surface].ending({})) is not None:
            at = case.resolved_at or case.made_at
            told["answer"] = ending.whole(
                ReplacementAnswer(case.id, text, case.model, case.request_id, at, is_final=True)
            )
            digest = self._audit.digest(text.encode())
            await self._audit.handoff(case.request_id, event="delivered", handoff_id=case.id, digest=digest)
        return told

    def _is_owner(self, principal: Principal, case: HandoffCase) -> bool:
        try:
            secret = self._keys.of(case.key_version).conversation
        except KeyError:  # the settings no longer have this version, so the owner cannot be verified
            return False
        owner = owner_of(secret, tenant=principal.tenant, client=principal.name)
        return principal.tenant == case.tenant and secrets.compare_digest(owner, case.owner)

    async def _answer(self, principal: Principal, case: HandoffCase) -> str | None:
        """Return the operator's answer as this client may read it; None without one."""
        if case.state is not State.RESOLVED or case.answer is None:
            return None
        values = await self._vault.load(case.sealed_in)
        text = values.get(case.answer)
        if text is None or not principal.may_restore:
            return text
        asked = "\n".join(each["text"] for each in _messages(case, values) if each["role"] != HELD_BACK)
        return restore(text, {token: value for token, value in _tokens(values).items() if token in asked})


def _messages(case: HandoffCase, values: Mapping[str, str]) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = orjson.loads(values.get(f"{_SAID} {case.id}", "[]"))
    return messages


def _tokens(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of tokens among a hand-off's values."""
    return {name: value for name, value in values.items() if " " not in name}
