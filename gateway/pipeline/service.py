"""Runs the stages of one request in order.

    1  planning       principal, route and conversation     raises Refused
                      a recording is measured               raises Refused
    2  admission      quota                                 raises Refused
    3  planning       identifiers, policy, upstreams        raises Refused
    4  tokenization   tokens, scan of the outgoing body     raises NotTokenized: the request stays on-prem
    5  preparation    audit record and vault, both durable  raises Refused: nothing is sent
    6  sending        upstreams of the plan, in order
    7  delivery       restored answer, audit record         the client does not get the end without a durable record

A failure in 3 or 4 restricts the plan to pools. This module does not handle HTTP of the client's side: see `api.app`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sovctl.support.random_bytes import random_bytes

from ..access.assertion import PrincipalSigner
from ..access.principal import Principal
from ..adapters import adapters_of
from ..audit.audit_log import AuditLog
from ..detect.clean_text_cache import Finder
from ..detect.findings_memory import FindingsMemory
from ..domain.errors import Code, Refused
from ..exchange.planned import Planned
from ..exchange.request import Request
from ..handoff.service import HandoffService
from ..model_finders import ModelFinder, Screen
from ..policy.request_fields import request_field_tables
from ..quota.listed_hits import ListedHits, listed_hits
from ..quota.quota import Quota
from ..quota.reservation import UNLIMITED
from ..recordings.live import LiveRecording
from ..recordings.measurer import Measurer
from ..recordings.recording import Recording
from ..release.judge import ReleaseChecks
from ..routing.deprioritized import DeprioritizedUpstreams
from ..settings import GatewaySettings
from ..surfaces import Surface
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import Tracing, span
from ..tokenization.tokenizer import Tokenizer
from ..tokens.keys import TokenKeys
from ..tokens.restore import RestoreBounds
from ..upstream import PrefillDecode, Upstream
from ..upstream.retrieval_service import Hit
from ..vault import Vault
from .admission import Admission
from .delivery import Delivery
from .escalation import Escalation
from .planning import Planner, refusal_of
from .sending import Reply, UpstreamSender

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class RequestHandler:
    """Handles requests under one set of settings; created again when changed settings are applied.

    Args:
        background: tasks that write audit records for which no caller waits; they outlive the settings.
        handoffs: queue of withheld answers; None without hand-offs.
        deprioritized: upstreams that gave faulty answers, by conversation; shared by all workers.
        listed_hits: counts of listed names by client, which outlive the settings.
    """

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
        model_finders: Sequence[ModelFinder] = (),
        screens: Sequence[Screen] = (),
        background: set[asyncio.Task[None]] | None = None,
        handoffs: HandoffService | None = None,
        tracing: Tracing | None = None,
        deprioritized: DeprioritizedUpstreams | None = None,
        listed_hits: ListedHits | None = None,
    ) -> None:
        self.settings, limits = settings, settings.limits
        self.max_body_bytes, self.max_upload_bytes = limits.max_body_bytes, limits.max_upload_bytes
        self.max_tenant_bytes = limits.max_tenant_bytes_in_flight
        self.limits = limits
        self.request_timeout_s = limits.request_timeout_s
        self.tracing = tracing
        self.upstreams = upstreams
        self.metrics = metrics
        self._listed_hits = listed_hits or ListedHits()
        self._measurer = Measurer(max_duration_s=limits.max_recording_s)
        self._max_recording_bytes = limits.max_recording_bytes
        self._audit = audit
        self._admission = Admission(settings, quota)
        self._delivery = Delivery(audit, metrics, limits, RestoreBounds.of(settings), background, handoffs)
        escalation = Escalation(metrics, deprioritized or DeprioritizedUpstreams())
        self._planner = Planner(
            settings,
            keys=keys,
            finder=finder,
            checks=checks,
            model_finders=model_finders,
            screens=screens,
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
            field_tables=request_field_tables(settings),
            adapters=adapters_of(settings.upstreams),
            max_event_bytes=settings.limits.max_event_bytes,
            pairs={
                each.name: PrefillDecode(each, upstreams[prefill.upstream], prefill, metrics)
                for each in upstreams.values()
                if (prefill := each.settings.prefill) is not None
            },
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
        may_resend: bool = False,
        sources: Sequence[Hit] = (),
        live: LiveRecording | None = None,
    ) -> Reply:
        """Return the response to one request.

        Args:
            conversation_header: name that the client gave to the conversation; None if it gave none.
            headers: client headers listed in `surface.client_headers`.
            timeout_s: timeout for the first byte of the answer; None for none.
            traceparent: the client's W3C trace context; None without one.
            may_resend: the client permits that the request is processed twice.
            sources: chunks that `raw_body` contains, by their number from 1.
            live: audio that arrives while the answer is streamed, see `live_recording`; None without such audio.

        Raises:
            Refused: the request is not served; its reason code is for the client.
        """
        request = self._planner.accept(
            surface,
            principal,
            raw_body,
            conversation_header=conversation_header,
            request_id=request_id,
            headers=headers,
            deadline_s=asyncio.get_running_loop().time() + timeout_s if timeout_s is not None else None,
            trace=self.tracing.begin(traceparent) if self.tracing is not None else None,
            may_resend=may_resend,
            sources=sources,
            live=live,
        )
        reservation = UNLIMITED
        try:
            self._require_budget_of_listed_hits(request)
            request = await self._measured(request)
            admitted = await self._admission.reserve(request)
            reservation = admitted.reservation
            with span(request.trace, "detect"):
                inspected = await self._planner.inspect(admitted)
            planned = self._planner.plan(inspected)
            await self._count_listed_hits(planned)
            if not planned.upstreams:
                await self._audit.request(
                    planned, conversation=request.conversations[0], reasons=planned.reasons, upstream=None
                )
                raise refusal_of(planned)
        except BaseException as error:
            reservation.release()
            request.end_trace_of_error(error)
            raise
        return await self._sender.send(planned)

    def live_recording(self) -> LiveRecording:
        """Return an empty recording for audio that arrives while the answer is streamed."""
        return LiveRecording(self._audit.hasher())

    async def _measured(self, request: Request) -> Request:
        """Return the request with its measured recording; the same request without a recording.

        Raises:
            Refused: the recording exceeds a limit, is unreadable, or cannot be measured.
        """
        content = request.surface.recording(request.raw_body, request.headers)
        if content is None:
            return request
        if len(content) > self._max_recording_bytes:
            raise Refused(Code.RECORDING_TOO_LARGE, param="file")
        duration_ms = await self._measurer.duration_ms(content, deadline_s=request.deadline_s)
        digest = self._audit.digest(bytes(content))
        return replace(request, recording=Recording(duration_ms, len(content), digest))

    def _require_budget_of_listed_hits(self, request: Request) -> None:
        """Refuse a client whose budget of listed names is used up.

        A route without a cloud treats listed names like any others, so that nothing can be learned there.

        Raises:
            Refused: until the hour ends.
        """
        wait_s = self._listed_hits.retry_after_s(request.principal.subject, now_s=time.monotonic())
        if wait_s is not None and request.permissions.has_cloud:
            raise _over_budget(wait_s)

    async def _count_listed_hits(self, planned: Planned) -> None:
        """Count the listed names of a request.

        Raises:
            Refused: the client is over its budget; this is recorded.
        """
        request, inspection = planned.request, planned.inspected.inspection
        if inspection is None or not request.permissions.has_cloud:
            return
        if not (hits := listed_hits(inspection.found)):
            return
        principal, now_s = request.principal, time.monotonic()
        budget = principal.listed_hits_per_hour or self.settings.access.listed_hits_per_hour
        limit = max(1, budget // self.settings.workers)
        self.metrics.listed_hits.add("counted", by=hits)
        if not self._listed_hits.count(principal.subject, hits, limit=limit, now_s=now_s):
            return
        self.metrics.listed_hits.add("over-budget", by=hits)
        log.event("listed names over budget", level=40, client=principal.name, key_id=principal.key_id, hits=hits)
        code = Code.LISTED_HITS_EXCEEDED
        reasons = (*planned.reasons, code.value)
        await self._audit.request(planned, conversation=request.conversations[0], reasons=reasons, upstream=None)
        raise _over_budget(self._listed_hits.retry_after_s(principal.subject, now_s=now_s) or 1)

    @property
    def findings_memory(self) -> FindingsMemory | None:
        """Findings in earlier requests under these settings; None without a memory."""
        return self._planner.memory

    @property
    def failing(self) -> dict[str, str]:
        """Model finders whose last call failed, for `/readyz`. Their requests stay on-prem."""
        return {f"finder:{name}": f"failed when last asked: {cause}" for name, cause in self._planner.failing.items()}

    async def close(self) -> None:
        """Wait for the audit records that are being written."""
        await self._delivery.close()


def _over_budget(wait_s: float) -> Refused:
    headers = [(b"retry-after", b"%d" % math.ceil(wait_s)), (b"x-should-retry", b"false")]
    return Refused(Code.LISTED_HITS_EXCEEDED, headers=headers)


def new_request_id() -> str:
    """Return a random id for the response, the log and the audit records of one request."""
    return random_bytes(16).hex()
