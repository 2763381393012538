"""Makes the body for a cloud: tokens in the place of values, and those in the vault before anything leaves.

tokenizer = Tokenizer(settings, keys, vault, commit_s=metrics.vault_commit_s.at())
draft = await tokenizer.tokenize(exchange, upstream)       # None: it stays here, `exchange.reasons` say why
...                                                        # the vault commits meanwhile
outgoing = await tokenizer.kept(exchange, upstream, draft) # only now it may leave; None as above
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..domain.entities import EntityType
from ..exchange.sent import Exchange
from ..policy.decision import Reason
from ..settings import GatewaySettings
from ..telemetry import log
from ..telemetry.metrics.families import Series
from ..telemetry.tracing import NOTHING, span
from ..tokens.keys import TokenKeys
from ..tokens.surrogates import demanded
from ..tokens.token import TokenIssuer
from ..upstream import Upstream
from ..vault import Superseded, Vault
from .body import Leak, Outgoing, tokenize_body

_PERSON = f"{EntityType.PERSON}_"


@dataclass(slots=True)
class Draft:
    """A body for a cloud whose values are on their way into the vault."""

    outgoing: Outgoing
    keeping: asyncio.Future[None] | None = None
    """None when there is nothing to keep."""
    timed: AbstractContextManager[Any] = NOTHING
    """The vault's part of the trace; it ends with its `with`."""
    began: float = 0.0

    def give_up(self) -> None:
        """It will not be sent. What is on its way into the vault goes there, and expires."""
        if self.keeping is not None:
            with self.timed:
                self.keeping.cancel()


class Tokenizer:
    """Tokenizes under one set of settings.

    Args:
        commit_s: where the time that the vault takes is counted.
    """

    def __init__(self, settings: GatewaySettings, keys: TokenKeys, vault: Vault, *, commit_s: Series) -> None:
        self._keys = keys
        self._vault = vault
        self._commit_s = commit_s
        self._surrogates = frozenset(EntityType(name) for name in settings.tokens.format_preserving)

    async def tokenize(self, exchange: Exchange, upstream: Upstream) -> Draft | None:
        """The body for a cloud, its values on their way into the vault; None when it must not leave after all."""
        try:
            if exchange.older:
                called = (exchange.conversation, *exchange.older)
                exchange.conversation = await self._vault.living(called) or exchange.conversation
                exchange.older = ()
            return await self._tokenize(exchange, upstream)
        except Exception as error:  # noqa: BLE001 - whatever failed here, nothing may leave
            _stays(exchange, error)
            return None

    async def kept(self, exchange: Exchange, upstream: Upstream, draft: Draft) -> Outgoing | None:
        """The body for a cloud once its values are durable in the vault; None when it must not leave after all."""
        try:
            try:
                return await self._kept(draft)
            except Superseded:  # erased since its tokens were made: once more, with tokens that never were
                return await self._kept(await self._tokenize(exchange, upstream))
        except Exception as error:  # noqa: BLE001 - whatever failed here, nothing may leave
            _stays(exchange, error)
            return None

    async def _kept(self, draft: Draft) -> Outgoing:
        if draft.keeping is not None:
            with draft.timed:
                await draft.keeping
            self._commit_s.observe(time.perf_counter() - draft.began)
        return draft.outgoing

    async def _tokenize(self, exchange: Exchange, upstream: Upstream) -> Draft:
        conversation, has_text = exchange.conversation, exchange.request.surface.has_text
        known = await self._vault.load(conversation) if conversation.is_named and has_text else {}
        generation = self._vault.generation(conversation)
        issuer = TokenIssuer(
            self._keys.of(conversation.key_version).token,
            tenant=conversation.tenant,
            conversation=conversation.key,
            issued=known,
            key_version=conversation.key_version,
            generation=generation,
            surrogates=self._surrogates
            and self._surrogates & demanded(exchange.planned.inspected.inspector.leaves.texts),
        )
        people = [surface for token, surface in known.items() if token.startswith(_PERSON)]

        def tokenize() -> Outgoing:
            if people:
                exchange.planned.inspected.inspector.know(people)
            return tokenize_body(
                exchange.body,
                exchange.planned.inspected.inspector,
                exchange.request.permissions,
                issuer,
                model=upstream.model,
                dropped=exchange.request.surface.dropped,
                told=exchange.request.surface.told,
            )

        outgoing = await asyncio.to_thread(tokenize) if exchange.request.is_large else tokenize()
        if not (outgoing.issued and has_text):
            return Draft(Outgoing(outgoing.data, {**known, **outgoing.issued} if known else outgoing.issued))
        timed = span(
            exchange.request.trace, "vault", {"tokens": len(outgoing.issued)} if exchange.request.trace else None
        )
        keeping = self._vault.store(conversation, outgoing.issued, subjects=issuer.about, generation=generation)
        issued = {**known, **outgoing.issued} if known else outgoing.issued
        return Draft(Outgoing(outgoing.data, issued), keeping, timed, time.perf_counter())


def _stays(exchange: Exchange, error: Exception) -> None:
    if isinstance(error, Leak):
        reason = Reason.SECOND_LOOK.about(str(error))
        log.event("second look found an identifier", level=40, found=str(error), request_id=exchange.request.request_id)
    else:
        reason = Reason.VAULT_FAILED.value
        log.event("could not tokenize", level=40, error=error, request_id=exchange.request.request_id)
    exchange.reasons.append(reason)
