"""Prepares the next attempt of a request: its body, its quota and its audit record.

A cloud gets the body with tokens; a pool gets the original text. Before the attempt is returned, its audit record and
its token values are durable.

    recorder = await preparer.prepare(progress, upstream)      # None if no quota is left
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from ..audit.audit_log import AuditLog, DurableWrite
from ..domain.errors import Refused
from ..exchange.attempt import Attempt
from ..policy.request_fields import FieldTables
from ..settings.traffic.request_fields import REMOVED
from ..telemetry.tracing import span
from ..tokenization.tokenizer import Tokenizer
from ..tokens.restore import RestoreCounts
from ..upstream import Upstream
from .admission import Admission
from .answer_record import AnswerRecorder
from .delivery import Delivery
from .progress import Progress

_FIELDS_REMOVED = "fields-removed"
_SALTS = 1024  # cached salts, one per tenant; one costs 2 us


class AttemptPreparer:
    """Prepares attempts under one set of settings.

    Args:
        salt_key: key of the tenants' cache salts.
        field_tables: fields that an upstream may receive, by its name and the API.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        delivery: Delivery,
        admission: Admission,
        audit: AuditLog,
        salt_key: bytes,
        field_tables: FieldTables,
    ) -> None:
        self._tokenizer = tokenizer
        self._delivery = delivery
        self._admission = admission
        self._audit = audit
        self._field_tables = field_tables
        self._salt = lru_cache(maxsize=_SALTS)(partial(cache_salt, salt_key))

    async def prepare(self, progress: Progress, upstream: Upstream) -> AnswerRecorder | None:
        """Return the recorder of the next attempt, whose audit record and token values are durable.

        Returns:
            None if no quota is left for another upstream.

        Raises:
            NotTokenized: the request must not be sent to this upstream.
            Refused: the audit record is not durable.
        """
        planned, draft = progress.planned, None
        admitted = planned.inspected.admitted
        request, body = admitted.request, admitted.body
        surface = request.surface
        removed = self._field_tables[upstream.name, surface.family].removed(body)
        if removed and not removed <= REMOVED:
            progress.reasons.append(f"{_FIELDS_REMOVED}:{upstream.name}")
        issued: Mapping[str, str] = {}
        repeated: Mapping[str, Any] = {}
        if upstream.may_see_raw_text:
            data = surface.write(
                {name: value for name, value in body.items() if name not in removed} if removed else body,
                request.raw_body,
                request.headers,
                model=upstream.model,
                cache_salt=self._salt(request.principal.tenant) if upstream.settings.cache_salt else None,
            )
        else:
            permissions = planned.permissions_for(upstream.name)
            draft = await self._tokenizer.tokenize(
                planned.inspected, progress.conversations, upstream, permissions, removed=removed
            )
            progress.conversations = (draft.conversation,)
            data, issued = draft.outgoing
            repeated = {key: body[key] for key in surface.repeated if key in body}
        try:
            if progress.charge.usage is None and not await self._is_admitted_again(progress, upstream.name):
                if draft is not None:
                    draft.cancel()
                return None
            attempt = Attempt(
                planned,
                request,
                upstream.name,
                data,
                progress.conversations,
                issued,
                repeated,
                progress.tries,
                RestoreCounts(),
            )
            recorder = progress.recorder = self._delivery.recorder(attempt, progress.recorder)
            with span(request.trace, "audit"):
                await self._record(progress, attempt)
        except BaseException:
            if draft is not None:
                draft.cancel()
            raise
        if draft is not None:  # the vault has stored values while the record was written
            outgoing = await self._tokenizer.stored(
                planned.inspected, upstream, draft, planned.permissions_for(upstream.name), removed=removed
            )
            if outgoing is not draft.outgoing:
                data, issued = outgoing
                recorder.attempt = replace(attempt, body=data, issued=issued)
        return recorder

    async def _is_admitted_again(self, progress: Progress, upstream: str) -> bool:
        """Reserve quota for another upstream, because the one before may have used what was reserved."""
        charge = progress.charge
        charge.commit()
        try:
            charge.renew(await self._admission.reserve_again(progress.planned.inspected.admitted, upstream))
        except Refused as refused:
            progress.reasons.append(f"{refused.code.value}:{upstream}")
            return False
        return True

    def _record(self, progress: Progress, attempt: Attempt) -> DurableWrite:
        """Record that a request is about to be sent.

        Raises:
            Refused: the record is not durable.
        """
        planned, upstream, tokens, reasons = attempt.planned, attempt.upstream, len(attempt.issued), progress.reasons
        if not progress.is_recorded:
            progress.is_recorded = True
            return self._audit.request(
                planned, conversation=attempt.conversation, upstream=upstream, reasons=reasons, tokens=tokens
            )
        return self._audit.fallback(planned, upstream=upstream, tokens=tokens, reasons=reasons)


def cache_salt(secret: bytes, tenant: str) -> str:
    """Return a tenant's salt for the prefix caches of pools: 43 characters that cannot be guessed, as vLLM advises."""
    return base64.urlsafe_b64encode(hmac.digest(secret, tenant.encode(), "sha256")).decode().rstrip("=")
