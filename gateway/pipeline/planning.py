"""Plans a request: accepts it, finds its identifiers, and chooses the upstreams that may serve it. Sends nothing.

Serving and `explain` share these stages, so `explain` shows what serving would do.

    planner = Planner(settings, keys=keys, finder=detector, metrics=metrics, state=lambda name: upstreams[name].state())
    request = planner.accept(surface, principal, raw_body, conversation_header=None, request_id="...", headers={})
    inspected = await planner.inspect(await admission.reserve(request))
    planner.plan(inspected).upstreams     # () if no upstream may serve it: `refusal_of`
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson

from ..access.principal import Principal
from ..adapters import Inexpressible, adapters_of
from ..body.json_texts import TooDeep
from ..body.media_references import find_media_problem, media_urls_of
from ..detect.clean_text_cache import CachedFinder, Finder
from ..detect.findings_memory import FindingsMemory
from ..domain.errors import Code, Refused
from ..domain.work import Work, WorkStopped, budget_of
from ..exchange.admitted import Admitted
from ..exchange.inspected import Inspected
from ..exchange.planned import Fallback, Planned
from ..exchange.request import Request
from ..inspection.inspector import Inspection, Inspector
from ..inspection.screened_texts import screened_texts
from ..model_finders import (
    OF_THE_REQUEST,
    InspectionUpdate,
    ModelFinder,
    Screen,
    blocks_if_unread,
    run_model_finders,
    run_screens,
)
from ..policy.decision import Permit, Reason, Verdict, decide, stricter
from ..policy.permissions import Policy
from ..policy.request_amounts import excessive_field
from ..policy.request_fields import request_field_tables
from ..quota.tariff import nano_of
from ..recordings.live import LiveRecording
from ..release.judge import ReleaseChecks
from ..routing.complexity import complexity_of, shadow_of
from ..routing.demand import Demand, demand_of
from ..routing.plan import NO_COST_LIMITS, CostLimits, candidates_of, plan_route
from ..settings import GatewaySettings, SurfaceName
from ..surfaces import SURFACES, Surface
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.tracing import Trace
from ..tokens.conversation import conversation_of
from ..tokens.hmac_key import HmacKey
from ..tokens.keys import TokenKeys
from ..upstream.retrieval_service import Hit
from ..upstream.server_choice import WITH_BEGINNING, State
from .escalation import Escalation

_INLINE_UNITS = 50_000
"""Work that is done in the event loop, where it delays other requests: about 50 ms. More is done in a thread."""


class Planner:
    """Plans requests under one set of settings.

    Args:
        state: returns the current state of an upstream, by name.
        model_finders: asked after `finder`, where it matters.
        screens: classify the texts of every request that policy does not reject.
        escalation: counts faulty answers by upstream; None without counts.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        keys: TokenKeys,
        finder: Finder,
        metrics: Metrics,
        state: Callable[[str], State],
        checks: Mapping[str, ReleaseChecks] = MappingProxyType({}),
        model_finders: Sequence[ModelFinder] = (),
        screens: Sequence[Screen] = (),
        escalation: Escalation | None = None,
    ) -> None:
        self._max_depth = settings.limits.max_depth
        self._work_per_mib = settings.limits.max_work_per_mib
        self._max_answers, self._max_logprobs = settings.limits.max_answers, settings.limits.max_logprobs
        self._secrets = [(HmacKey(each.conversation), each.version) for each in (keys, *keys.older)]
        self.memory = _findings_memory(settings)
        """Findings in earlier requests under these settings; None without a memory."""
        self._finder = CachedFinder(finder, self.memory)
        self._metrics = metrics
        self._state = state
        self._checks = checks
        self._model_finders = model_finders
        self._screens = screens
        self.failing: dict[str, str] = {}
        """Causes by name of slow finders whose last call failed."""
        self._escalation = escalation
        self._policy = Policy.compile(settings.policy, settings.routes, settings.upstreams)
        self._candidates = candidates_of(settings)
        self._routes = {route.model: route for route in settings.routes}
        self._media_urls = {route.model: media_urls_of(route.media_hosts) for route in settings.routes}
        tables = request_field_tables(settings)
        adapters = adapters_of(settings.upstreams)
        self._adapters = {
            (route.model, surface.name): tuple(
                (adapters[name, surface.name], tables[name, surface.family])
                for name in settings.reachable(route)
                if (name, surface.name) in adapters
            )
            for route in settings.routes
            for surface in SURFACES.values()
        }
        self._field_tables = {
            (route.model, surface): tuple(
                {tables[name, surface] for name in settings.reachable(route) if (name, surface) in tables}
            )
            for route in settings.routes
            for surface in SurfaceName
        }

    def accept(
        self,
        surface: Surface,
        principal: Principal,
        raw_body: bytes,
        *,
        conversation_header: str | None,
        request_id: str,
        headers: Mapping[str, str],
        deadline_s: float | None = None,
        trace: Trace | None = None,
        may_resend: bool = False,
        sources: Sequence[Hit] = (),
        live: LiveRecording | None = None,
    ) -> Request:
        """Return the request of this principal.

        Args:
            conversation_header: name that the client gave to the conversation; None if it gave none.
            headers: client headers listed in `surface.client_headers`.
            deadline_s: deadline for the first byte of the answer, in seconds of the event loop's clock.
            trace: its trace; None if it is not sampled.
            may_resend: the client permits that the request is processed twice.
            sources: chunks that `raw_body` contains, by their number from 1.
            live: audio that arrives while the answer is streamed; None without such audio.

        Raises:
            Refused: the request is invalid, or not allowed for this principal.
        """
        received_at_s = time.perf_counter()
        body = surface.read(raw_body, headers)
        if not isinstance(body, dict):
            raise Refused(Code.INVALID_JSON)
        surface.check(body)
        route = self._routes.get(body["model"])
        if route is None or not route.exists_for(principal.tenant):
            raise Refused(Code.MODEL_NOT_FOUND)
        if not principal.may_use(route.model):
            raise Refused(Code.ROUTE_NOT_ALLOWED)
        self._check_fields(surface, route.model, body)
        try:
            beginning = () if conversation_header is not None else surface.beginning(body)
            conversations = [
                conversation_of(
                    beginning,
                    header=conversation_header,
                    tenant=principal.tenant,
                    client=principal.name,
                    secret=secret,
                    key_version=version,
                )
                for secret, version in self._secrets
            ]
        except orjson.JSONEncodeError:  # orjson writes up to 254 levels, which is more than any limit here
            raise Refused(Code.TOO_DEEP) from None
        except ValueError:
            raise Refused(Code.INVALID_CONVERSATION) from None
        return Request(
            request_id,
            received_at_s,
            deadline_s,
            surface,
            principal,
            route,
            self._policy.of(principal.tenant, route.model),
            headers,
            body,
            raw_body,
            surface.is_stream(body),
            tuple(conversations),
            self._checks.get(route.model),
            trace,
            may_resend,
            sources,
            live=live,
        )

    def _check_fields(self, surface: Surface, model: str, body: Mapping[str, Any]) -> None:
        """Check fields and media for all upstreams of the route, so that the answer does not depend on the rest of the
        request.

        Raises:
            Refused: the request contains a field or a URL that an upstream must not receive.
        """
        excess = excessive_field(body, max_answers=self._max_answers, max_logprobs=self._max_logprobs)
        if excess is not None:
            raise Refused(Code.FIELD_NOT_ALLOWED, param=excess)
        for table in self._field_tables[model, surface.family]:
            if (field := table.refused_field(body)) is not None:
                raise Refused(Code.FIELD_NOT_ALLOWED, param=field or None)
        for name in surface.media:
            problem = find_media_problem(body.get(name), self._media_urls[model])
            if problem is not None:
                code = Code.MEDIA_URL_NOT_ALLOWED if problem.is_url else Code.FIELD_NOT_ALLOWED
                raise Refused(code, param=problem.field)
        for adapter, table in self._adapters[model, surface.name]:
            removed = table.removed(body)
            try:
                adapter.check({name: value for name, value in body.items() if name not in removed})
            except Inexpressible as error:
                raise Refused(Code.FIELD_NOT_ALLOWED, param=error.field or None) from None

    async def inspect(self, admitted: Admitted) -> Inspected:
        """Return the request with its findings and the decision of policy.

        Raises:
            Refused: its body is nested deeper than `limits.max_depth`, or its deadline passed.
        """
        request = admitted.request
        finder = self._finder.of(request.principal.tenant, request.conversations[0].key)
        inspector = Inspector(finder, request.surface, max_depth=self._max_depth)
        try:
            inspector, inspection = await self._inspection_of(admitted, inspector)
        except TooDeep:
            raise Refused(Code.TOO_DEEP) from None
        except WorkStopped:
            return Inspected(admitted, None, Permit(Verdict.BLOCK, (Reason.WORK_EXCEEDED.value,)), inspector)
        except Exception as error:  # noqa: BLE001 - after any failure of the detector, the request stays on-prem
            log.event("detector failed", level=40, error=error, request_id=request.request_id)
            is_blocked = blocks_if_unread(self._screens, route=request.route.model)
            verdict = Verdict.BLOCK if is_blocked else Verdict.STAY
            return Inspected(admitted, None, Permit(verdict, (Reason.DETECTOR_FAILED.value,)), inspector)
        inspected = Inspected(admitted, inspection, decide(inspection, request.permissions), inspector)
        if self._model_finders:
            inspected = await self._run_model_finders(inspected, inspection)
            assert inspected.inspection is not None
            inspection = inspected.inspection
        if self._screens:
            inspected = await self._run_screens(inspected, inspection)
        for (entity_type, _), count in inspection.found.items():
            self._metrics.findings.add(str(entity_type), by=count)
        return inspected

    async def _inspection_of(self, admitted: Admitted, inspector: Inspector) -> tuple[Inspector, Inspection]:
        """Inspect a body: a small one here, a large one or one that takes long in a thread.

        Raises:
            WorkStopped: the inspection exceeds the budget of this body.
            Refused: the deadline passed.
        """
        request = admitted.request
        budget = budget_of(len(request.raw_body), units_per_mib=self._work_per_mib)
        if not request.is_large:
            work = Work(limit=min(budget, _INLINE_UNITS))
            try:
                with work.current():
                    return inspector, inspector.inspect(admitted.body)
            except WorkStopped:
                if work.limit == budget:
                    raise
            inspector = Inspector(inspector.finder, request.surface, max_depth=self._max_depth)
        work = Work(limit=budget)

        def inspect() -> Inspection:
            with work.current():
                return inspector.inspect(admitted.body)

        try:
            async with asyncio.timeout_at(request.deadline_s):
                return inspector, await asyncio.to_thread(inspect)
        except TimeoutError:
            raise Refused(Code.DEADLINE_EXCEEDED) from None
        finally:
            work.cancel()  # the thread continues after a timeout or a client that left

    async def _run_model_finders(self, inspected: Inspected, inspection: Inspection) -> Inspected:
        request = inspected.admitted.request
        looked = await run_model_finders(
            self._model_finders,
            inspected.inspector,
            inspection,
            request.permissions,
            inspected.permit,
            also=self._policy.of_fallbacks(request.principal.tenant, request.model).values(),
            tenant=request.principal.tenant,
            is_large=request.is_large,
            deadline_s=request.deadline_s,
        )
        return self._updated(inspected, looked, looked.inspection.looked_by)

    async def _run_screens(self, inspected: Inspected, inspection: Inspection) -> Inspected:
        request, inspector = inspected.admitted.request, inspected.inspector
        texts = screened_texts(inspector.leaves.texts, inspected.admitted.body, request.surface)
        looked = await run_screens(
            self._screens, texts, inspection, inspected.permit, route=request.route.model, deadline_s=request.deadline_s
        )
        for name, labels in looked.inspection.screened.items():
            for label in labels or ("none",):
                self._metrics.screened.add(name, label)
        return self._updated(inspected, looked, looked.inspection.screened)

    def _updated(self, inspected: Inspected, looked: InspectionUpdate, working: Iterable[str]) -> Inspected:
        """Return the request after models read it; count failures and report them to `/readyz`.

        Args:
            working: names of the models that did not fail.
        """
        request_id = inspected.admitted.request.request_id
        for name in working:
            self.failing.pop(name, None)
        for name, failure in looked.failures:
            if str(failure) not in OF_THE_REQUEST:
                self.failing[name] = str(failure)
            self._metrics.finder_failures.add(name, str(failure))
            log.event("finder failed", level=40, finder=name, cause=str(failure), request_id=request_id)
        return Inspected(inspected.admitted, looked.inspection, looked.permit, inspected.inspector)

    def plan(self, inspected: Inspected) -> Planned:
        """Return the request with the upstreams that may serve it."""
        admitted, inspection, permit = inspected.admitted, inspected.inspection, inspected.permit
        request, body = admitted.request, admitted.body
        surface, route = request.surface, request.route
        demand = demand_of(
            body,
            family=surface.family,
            surface=surface.name,
            body_bytes=len(request.raw_body),
            max_answer_tokens=surface.max_answer_tokens(body),
            obstacles=inspection.obstacles if inspection is not None else (),
        )
        costs = admitted.cost_nano
        candidates = self._candidates[route.model]
        upstreams, reasons, is_too_expensive = plan_route(
            permit,
            candidates,
            demand,
            clouds=request.permissions.clouds,
            state=self._state,
            bill=CostLimits(costs, admitted.max_cost_nano, admitted.budget_nano) if costs else NO_COST_LIMITS,
            deprioritized=self._deprioritized(request, route.upstreams),
            key=_weight_key(request) if candidates.groups else "",
        )
        shadow = None
        if route.shadow is not None and upstreams:
            shadow = shadow_of(complexity_of(request.raw_body, body, demand), route.shadow, upstreams)
        fallbacks: Mapping[str, Fallback] = _NO_FALLBACKS
        if route.fallback_routes and permit.verdict is not Verdict.BLOCK:
            fallbacks, more = self._fallbacks(inspected, demand)
            upstreams, reasons = (*upstreams, *fallbacks), (*reasons, *more)
        return Planned(
            inspected, request, demand, upstreams, reasons, is_too_expensive and not upstreams, shadow, fallbacks
        )

    def _deprioritized(self, request: Request, upstreams: Sequence[str]) -> Collection[str]:
        if self._escalation is None or not request.route.escalate_on:
            return ()
        return self._escalation.deprioritized(request, upstreams)

    def _fallbacks(self, inspected: Inspected, demand: Demand) -> tuple[dict[str, Fallback], list[str]]:
        """Return the upstreams of fallback routes that may serve a request, in order, and the reasons."""
        admitted = inspected.admitted
        request, costs = admitted.request, admitted.cost_nano
        principal, own = request.principal, request.route
        found: dict[str, Fallback] = {}
        reasons: list[str] = []
        for model, permissions in self._policy.of_fallbacks(principal.tenant, own.model).items():
            route = self._routes[model]
            if not route.exists_for(principal.tenant):
                continue
            if not principal.may_use(model):
                reasons.append(f"fallback-not-allowed:{model}")
                continue
            permit = inspected.permit
            if inspected.inspection is not None:
                alone = self._policy.of(principal.tenant, model)  # it may block obstacles where this route has no cloud
                for each in (permissions, alone):
                    permit = stricter(permit, decide(inspected.inspection, each))
            if permit.verdict is Verdict.BLOCK:
                reasons.append(f"fallback-blocked:{model}")
                continue
            if permit.verdict is not inspected.permit.verdict and permissions.has_cloud:
                reasons.append(f"fallback-on-prem:{model}")
            caps = [cap for cap in (admitted.max_cost_nano, nano_of(route.max_cost_per_request)) if cap is not None]
            bill = CostLimits(costs, min(caps, default=None), admitted.budget_nano) if costs else NO_COST_LIMITS
            candidates = self._candidates[model].without({*own.upstreams, *found})
            plan = plan_route(
                permit,
                candidates,
                demand,
                clouds=permissions.clouds,
                state=self._state,
                bill=bill,
                deprioritized=self._deprioritized(request, route.upstreams),
                key=_weight_key(request) if candidates.groups else "",
            )
            reasons += plan.reasons[len(permit.reasons) :]
            if plan.upstreams:
                reasons.append(f"fallback-route:{model}")
            found.update({name: Fallback(model, permissions) for name in plan.upstreams})
        return found, reasons


_NO_FALLBACKS: Mapping[str, Fallback] = MappingProxyType({})


def _weight_key(request: Request) -> str:
    """Return the key that decides by weight: the conversation, or the request where no conversation is continued."""
    return request.conversations[0].key if request.surface.family in WITH_BEGINNING else request.request_id


def _findings_memory(settings: GatewaySettings) -> FindingsMemory | None:
    """Return an empty memory; it is valid for these settings, and for as long as the vault keeps a conversation."""
    max_bytes = settings.limits.max_remembered_bytes
    return FindingsMemory(max_bytes=max_bytes, max_age_s=settings.vault.ttl_s) if max_bytes else None


def refusal_of(planned: Planned) -> Refused:
    """The refusal of a request that no upstream may serve."""
    permit = planned.inspected.permit
    if Reason.WORK_EXCEEDED.value in permit.reasons:
        return Refused(Code.TOO_MUCH_WORK)
    if permit.verdict is Verdict.BLOCK:
        return Refused(Code.POLICY_BLOCKED, reasons=permit.reasons)
    if planned.is_too_expensive:
        return Refused(Code.REQUEST_EXCEEDS_LIMIT, headers=[(b"x-should-retry", b"false")])
    if planned.request.route.pool is None and not permit.verdict.may_leave:
        return Refused(Code.STAYS_ON_PREM, reasons=permit.reasons)
    return Refused(Code.SURFACE_NOT_SERVED)
