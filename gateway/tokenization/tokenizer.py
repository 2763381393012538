"""Builds the body for a cloud, and stores the values of its tokens in the vault before it is sent.

tokenizer = Tokenizer(settings, keys, vault, commit_s=metrics.vault_commit_s.at())
draft = await tokenizer.tokenize(inspected, conversations, upstream, permissions)    # raises NotTokenized: not sent
...                                                                                  # the vault commits concurrently
outgoing = await tokenizer.stored(inspected, upstream, draft, permissions)           # now it may be sent
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..domain.entities import EntityType
from ..exchange.inspected import Inspected
from ..policy.decision import Reason
from ..policy.permissions import Permissions
from ..settings import GatewaySettings
from ..telemetry import log
from ..telemetry.metrics.families import Series
from ..telemetry.tracing import NOTHING, span
from ..tokens.conversation import Conversation
from ..tokens.keys import TokenKeys
from ..tokens.surrogates import demanded
from ..tokens.token import TokenIssuer
from ..upstream import Upstream
from ..vault import Superseded, Vault
from .body import IdentifierLeak, TokenizedBody, tokenize_body

_PERSON = f"{EntityType.PERSON}_"


class NotTokenized(Exception):
    """The body could not be tokenized, so it must not be sent to a cloud.

    Args:
        reason: reason code for the audit record.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Draft:
    """A body for a cloud whose token values are being stored in the vault."""

    outgoing: TokenizedBody
    conversation: Conversation
    """The conversation, under the token key that it began with."""
    storing: asyncio.Future[None] | None = None
    """None if there is nothing to store."""
    timed: AbstractContextManager[Any] = NOTHING
    """The vault's span of the trace; it ends with its `with`."""
    began: float = 0.0

    def cancel(self) -> None:
        """Note that it will not be sent. Values that are being stored expire."""
        if self.storing is not None:
            with self.timed:
                self.storing.cancel()


class Tokenizer:
    """Tokenizes under one set of settings.

    Args:
        commit_s: histogram of the vault's commit time, in seconds.
    """

    def __init__(self, settings: GatewaySettings, keys: TokenKeys, vault: Vault, *, commit_s: Series) -> None:
        self._keys = keys
        self._vault = vault
        self._commit_s = commit_s
        self._surrogates = frozenset(EntityType(name) for name in settings.tokens.format_preserving)

    async def tokenize(
        self,
        inspected: Inspected,
        conversations: Sequence[Conversation],
        upstream: Upstream,
        permissions: Permissions,
        *,
        removed: frozenset[str] = frozenset(),
    ) -> Draft:
        """Return the body for a cloud; its token values are being stored in the vault.

        Args:
            conversations: the conversation under each token key; the vault is asked for the current one of several.
            permissions: policy for this tenant and this upstream.
            removed: top-level fields that this cloud does not receive, in addition to those of the API.

        Raises:
            NotTokenized: the body must not be sent.
        """
        try:
            conversation = conversations[0]
            if len(conversations) > 1:
                conversation = await self._vault.living(conversations) or conversation
            return await self._tokenize(inspected, conversation, upstream, permissions, removed)
        except Exception as error:  # noqa: BLE001 - after any failure, nothing may be sent
            raise _not_tokenized(inspected, error) from None

    async def stored(
        self,
        inspected: Inspected,
        upstream: Upstream,
        draft: Draft,
        permissions: Permissions,
        *,
        removed: frozenset[str] = frozenset(),
    ) -> TokenizedBody:
        """Return the body for a cloud, once its token values are durable in the vault.

        Raises:
            NotTokenized: the body must not be sent.
        """
        try:
            try:
                return await self._stored(draft)
            except Superseded:  # the conversation was erased since: once more, with new tokens
                again = await self._tokenize(inspected, draft.conversation, upstream, permissions, removed)
                return await self._stored(again)
        except Exception as error:  # noqa: BLE001 - after any failure, nothing may be sent
            raise _not_tokenized(inspected, error) from None

    async def _stored(self, draft: Draft) -> TokenizedBody:
        if draft.storing is not None:
            with draft.timed:
                await draft.storing
            self._commit_s.observe(time.perf_counter() - draft.began)
        return draft.outgoing

    async def _tokenize(
        self,
        inspected: Inspected,
        conversation: Conversation,
        upstream: Upstream,
        permissions: Permissions,
        removed: frozenset[str],
    ) -> Draft:
        admitted, inspector = inspected.admitted, inspected.inspector
        request = admitted.request
        surface, has_text = request.surface, request.surface.has_text
        known = await self._vault.load(conversation) if conversation.is_named and has_text else {}
        generation = self._vault.generation(conversation)
        issuer = TokenIssuer(
            self._keys.of(conversation.key_version).token,
            tenant=conversation.tenant,
            conversation=conversation.key,
            issued=known,
            key_version=conversation.key_version,
            generation=generation,
            surrogates=self._surrogates and self._surrogates & demanded(inspector.leaves.texts),
        )
        people = [value for token, value in known.items() if token.startswith(_PERSON)]

        def tokenize() -> TokenizedBody:
            if people:
                inspector.know(people)
            return tokenize_body(
                admitted.body,
                inspector,
                permissions,
                issuer,
                model=upstream.model,
                dropped=removed.union(surface.dropped) if removed else surface.dropped,
                told=surface.told,
            )

        outgoing = await asyncio.to_thread(tokenize) if request.is_large else tokenize()
        issued = {**known, **outgoing.issued} if known else outgoing.issued
        if not (outgoing.issued and has_text):
            return Draft(TokenizedBody(outgoing.data, issued), conversation)
        timed = span(request.trace, "vault", {"tokens": len(outgoing.issued)} if request.trace else None)
        storing = self._vault.store(conversation, outgoing.issued, subjects=issuer.about, generation=generation)
        return Draft(TokenizedBody(outgoing.data, issued), conversation, storing, timed, time.perf_counter())


def _not_tokenized(inspected: Inspected, error: Exception) -> NotTokenized:
    request_id = inspected.admitted.request.request_id
    if isinstance(error, IdentifierLeak):
        log.event("outgoing scan found an identifier", level=40, found=str(error), request_id=request_id)
        return NotTokenized(Reason.OUTGOING_SCAN.about(str(error)))
    log.event("could not tokenize", level=40, error=error, request_id=request_id)
    return NotTokenized(Reason.VAULT_FAILED.value)
