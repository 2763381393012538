"""From a request's bytes to a plan: who asks and for what, what is in it, where it may go. Nothing leaves here.

Serving and `explain` are the same up to here, so what is explained is what would be done.

    planner = Planner(settings, keys=keys, finder=detector, metrics=metrics, state=lambda name: upstreams[name].state())
    exchange = planner.accept(surface, client, raw, header=None, request_id="...", headers={})
    await planner.inspect(exchange)
    planner.plan(exchange).upstreams     # () when nobody may serve it: `why_not`
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import orjson

from ..access.principal import Principal
from ..body.json_texts import TooDeep
from ..detect.clean_text_cache import CleanTexts, Finder
from ..domain.errors import Code, Refused
from ..exchange.request import Exchange
from ..inspection.inspector import Inspection, Inspector
from ..model_finders import OF_THE_REQUEST, SlowFinder, look_closer
from ..policy.decision import Permit, Reason, Verdict, decide
from ..policy.permissions import Policy
from ..release.judge import Checks
from ..routing.complexity import complexity_of, shadow_of
from ..routing.demand import demand_of
from ..routing.plan import FREE, Bill, Plan, candidates_of, plan_route
from ..settings import GatewaySettings, RouteSettings
from ..surfaces import Surface
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..tokens.conversation import conversation_of
from ..tokens.hmac_key import HmacKey
from ..tokens.keys import TokenKeys
from ..upstream.server_choice import State
from .escalation import Escalation


class Planner:
    """Plans requests under one set of settings.

    Args:
        state: how an upstream is now, by its name.
        slow_finders: asked after `finder`, where it matters.
        escalation: knows who has given bad answers; nobody has when absent.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        keys: TokenKeys,
        finder: Finder,
        metrics: Metrics,
        state: Callable[[str], State],
        checks: Mapping[str, Checks] = MappingProxyType({}),
        slow_finders: Sequence[SlowFinder] = (),
        escalation: Escalation | None = None,
    ) -> None:
        self._max_depth = settings.limits.max_depth
        self._secrets = [(HmacKey(each.conversation), each.version) for each in (keys, *keys.older)]
        self._finder = CleanTexts(finder)
        self._metrics = metrics
        self._state = state
        self._checks = checks
        self._slow_finders = slow_finders
        self.failing: dict[str, str] = {}
        """Slow finders that failed when they were last asked, and how."""
        self._escalation = escalation
        self._policy = Policy.compile(settings.policy, settings.routes, settings.upstreams)
        self._candidates = candidates_of(settings)
        self._routes = {route.model: route for route in settings.routes}

    def accept(
        self,
        surface: Surface,
        client: Principal,
        raw: bytes,
        *,
        header: str | None,
        request_id: str,
        headers: Mapping[str, str],
    ) -> Exchange:
        """A request that this client may make.

        Args:
            header: the conversation's name, if the client gave it one.
            headers: of the client, those in `surface.client_headers`.

        Raises:
            Refused: it is no request, or none of this client's.
        """
        started = time.perf_counter()
        body = surface.read(raw, headers)
        if not isinstance(body, dict):
            raise Refused(Code.INVALID_JSON)
        surface.check(body)
        model = body["model"]
        route = self._routes.get(model)
        if route is None:
            raise Refused(Code.MODEL_NOT_FOUND)
        if not client.may_use(model):
            raise Refused(Code.ROUTE_NOT_ALLOWED)
        try:
            beginning = () if header is not None else surface.beginning(body)
            conversation, *older = [
                conversation_of(
                    beginning,
                    header=header,
                    tenant=client.tenant,
                    client=client.name,
                    secret=secret,
                    key_version=version,
                )
                for secret, version in self._secrets
            ]
        except orjson.JSONEncodeError:  # it nests deeper than orjson writes, which is deeper than any limit here
            raise Refused(Code.TOO_DEEP) from None
        except ValueError:
            raise Refused(Code.INVALID_CONVERSATION) from None
        inspector = Inspector(self._finder, surface, max_depth=self._max_depth)
        permissions = self._policy.of(client.tenant, model)
        return Exchange(
            surface,
            client,
            route,
            model,
            permissions,
            body,
            raw,
            conversation,
            request_id,
            started,
            surface.is_stream(body),
            inspector,
            headers,
            older,
            checks=self._checks.get(model),
        )

    async def inspect(self, exchange: Exchange) -> None:
        """Find out what is in it, and what policy makes of that.

        Raises:
            Refused: it nests deeper than is looked.
        """
        inspect = exchange.inspector.inspect
        try:
            if exchange.is_large:
                exchange.inspection = await asyncio.to_thread(inspect, exchange.body)
            else:
                exchange.inspection = inspect(exchange.body)
        except TooDeep:
            raise Refused(Code.TOO_DEEP) from None
        except Exception as error:  # noqa: BLE001 - a detector that fails in any way has found nothing out
            log.event("detector failed", level=40, error=error, request_id=exchange.request_id)
            exchange.permit = Permit(Verdict.STAY, (Reason.DETECTOR_FAILED.value,))
            return
        exchange.permit = decide(exchange.inspection, exchange.permissions)
        if self._slow_finders:
            await self._look_closer(exchange, exchange.inspection, exchange.permit)
        for (entity_type, _), count in exchange.inspection.found.items():
            self._metrics.findings.add(str(entity_type), by=count)

    async def _look_closer(self, exchange: Exchange, inspection: Inspection, permit: Permit) -> None:
        looked = await look_closer(
            self._slow_finders,
            exchange.inspector,
            inspection,
            exchange.permissions,
            permit,
            tenant=exchange.client.tenant,
            is_large=exchange.is_large,
            deadline_s=exchange.deadline_s,
        )
        exchange.inspection, exchange.permit = looked.inspection, looked.permit
        for name in looked.inspection.looked_by:
            self.failing.pop(name, None)
        for name, failure in looked.failures:
            if str(failure) not in OF_THE_REQUEST:
                self.failing[name] = str(failure)
            self._metrics.finder_failures.add(name, str(failure))
            log.event("finder failed", level=40, finder=name, cause=str(failure), request_id=exchange.request_id)

    def plan(self, exchange: Exchange) -> Plan:
        """The upstreams to try, after `inspect`."""
        assert exchange.permit is not None
        exchange.demand = demand_of(
            exchange.body,
            family=exchange.surface.family,
            body_bytes=len(exchange.raw),
            max_answer_tokens=exchange.surface.max_answer_tokens(exchange.body),
            obstacles=exchange.inspection.obstacles if exchange.inspection is not None else (),
        )
        latched = self._escalation.latched(exchange) if self._escalation and exchange.route.escalate_on else ()
        plan = plan_route(
            exchange.permit,
            self._candidates[exchange.model],
            exchange.demand,
            clouds=exchange.permissions.clouds,
            state=self._state,
            bill=Bill(exchange.costs, exchange.max_cost, exchange.budget) if exchange.costs else FREE,
            latched=latched,
        )
        if exchange.route.shadow is not None and plan.upstreams:
            complexity = complexity_of(exchange.raw, exchange.body, exchange.demand)
            exchange.shadow = shadow_of(complexity, exchange.route.shadow, plan.upstreams)
        return plan


def why_not(plan: Plan, permit: Permit | None, route: RouteSettings) -> Refused:
    """The refusal of a request that no upstream may serve."""
    if permit is not None and permit.verdict is Verdict.BLOCK:
        return Refused(Code.POLICY_BLOCKED, reasons=permit.reasons)
    if plan.is_too_dear:
        return Refused(Code.REQUEST_EXCEEDS_LIMIT, headers=[(b"x-should-retry", b"false")])
    if route.pool is None and (permit is None or not permit.verdict.may_leave):
        return Refused(Code.STAYS_ON_PREM, reasons=() if permit is None else permit.reasons)
    return Refused(Code.SURFACE_NOT_SERVED)
