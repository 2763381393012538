"""Serves one request: joins the nouns and the verbs of this folder, in the order that keeps the promises.

    1  who asks, and for which route                     Refused
    2  what is in it, and where may it go                Refused, or a plan
    3  tokens, second look                               or it doesn't leave
    4  vault and audit record, both durable              or it doesn't leave, and no answer
    5  upstream; the next one of the plan if it fails
    6  answer, values put back; audit record, durable    or not its end

1 and 2 are in `planning`, 3 in `tokenizer`, 4 and 5 in `sending`, 6 in `delivery` and `answer_stream`. Whatever goes
wrong in 2 and 3 narrows the plan to the pool. Nothing here knows HTTP of the client's side: see `app`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sovctl.support.random_bytes import random_bytes

from ..access.assertion import PrincipalSigner
from ..access.principal import Principal
from ..audit.audit_log import AuditLog
from ..detect.clean_text_cache import Finder
from ..handoff.service import HandoffService
from ..model_finders import SlowFinder
from ..quota.need import NOTHING
from ..quota.quota import Quota
from ..quota.reservation import UNLIMITED
from ..release.judge import ReleaseChecks
from ..routing.deprioritized import DeprioritizedUpstreams
from ..settings import GatewaySettings
from ..surfaces import Surface
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import Tracing, span
from ..tokenization.tokenizer import Tokenizer
from ..tokens.keys import TokenKeys
from ..tokens.restore import RestoreBounds
from ..upstream import Upstream
from ..vault import Vault
from .admission import Admission
from .delivery import Delivery
from .escalation import Escalation
from .planning import Planner, refusal_of
from .sending import Reply, UpstreamSender

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class RequestHandler:
    """Everything a request needs. Made at start, and again when changed settings come into force."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        keys: TokenKeys,
        finder: Finder,
        vault: Vault,
        audit: AuditLog,
        upstreams: Mapping[str, Upstream],
        metrics: Metrics,
        quota: Quota,
        signer: PrincipalSigner | None = None,
        checks: Mapping[str, ReleaseChecks] = MappingProxyType({}),
        slow_finders: Sequence[SlowFinder] = (),
        endings: set[asyncio.Task[None]] | None = None,
        desk: HandoffService | None = None,
        tracing: Tracing | None = None,
        latch: DeprioritizedUpstreams | None = None,
    ) -> None:
        self.settings, limits = settings, settings.limits
        self.max_body_bytes, self.max_upload_bytes = limits.max_body_bytes, limits.max_upload_bytes
        self.request_timeout_s = limits.request_timeout_s
        self.tracing = tracing
        self.upstreams = upstreams
        self.metrics = metrics
        self._audit = audit
        self._admission = Admission(settings, quota)
        self._delivery = Delivery(audit, metrics, limits, RestoreBounds.of(settings), endings, desk)
        escalation = Escalation(metrics, latch or DeprioritizedUpstreams())
        self._planner = Planner(
            settings,
            keys=keys,
            finder=finder,
            checks=checks,
            slow_finders=slow_finders,
            escalation=escalation,
            metrics=metrics,
            state=lambda name: upstreams[name].state(),
        )
        self._sender = UpstreamSender(
            upstreams,
            tokenizer=Tokenizer(settings, keys, vault, commit_s=metrics.vault_commit_s.at()),
            delivery=self._delivery,
            admission=self._admission,
            escalation=escalation,
            audit=audit,
            metrics=metrics,
            salt_key=keys.salt,
            signer=signer,
        )

    async def serve(
        self,
        surface: Surface,
        principal: Principal,
        raw_body: bytes,
        *,
        conversation_header: str | None,
        request_id: str,
        headers: Mapping[str, str] = NO_HEADERS,
        timeout_s: float | None = None,
        traceparent: str | None = None,
    ) -> Reply:
        """Serve one request.

        Args:
            headers: of the client, those in `surface.client_headers`.
            timeout_s: until an answer must have begun.
            traceparent: of the client, for its trace.

        Raises:
            Refused: with the reason code for the client.
        """
        request = self._planner.accept(
            surface,
            principal,
            raw_body,
            conversation_header=conversation_header,
            request_id=request_id,
            headers=headers,
            deadline_s=asyncio.get_running_loop().time() + timeout_s if timeout_s is not None else None,
        )
        if self.tracing is not None:
            request = request._replace(trace=self.tracing.begin(traceparent))
        reservation = UNLIMITED
        try:
            admitted = await self._admission.reserve(request)
            reservation = admitted.reservation
            with span(request.trace, "detect"):
                inspected = await self._planner.inspect(admitted)
            planned = self._planner.plan(inspected)
            if not planned.upstreams:
                await self._audit.request(
                    planned, conversation=request.conversations[0], reasons=planned.reasons, upstream=None
                )
                raise refusal_of(planned)
        except BaseException as error:
            reservation.commit(NOTHING, None)
            request.end_trace_of_error(error)
            raise
        return await self._sender.send(planned)

    @property
    def failing(self) -> dict[str, str]:
        """Models and the second look that failed when they were last asked, for `/readyz`: their requests stay."""
        return {f"finder:{name}": f"failed when last asked: {cause}" for name, cause in self._planner.failing.items()}

    async def close(self) -> None:
        """Wait for what is still being recorded."""
        await self._delivery.close()


def new_request_id() -> str:
    """A random id, for the client, the log and the audit records of one request."""
    return random_bytes(16).hex()
