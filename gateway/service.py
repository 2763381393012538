"""Serves one request: joins the nouns and the verbs of this folder, in the order that keeps the promises.

    1  who asks, and for which route                     Refused
    2  what is in it, and where may it go                Refused, or a plan
    3  tokens, second look, vault                        or it doesn't leave
    4  audit record, durable                             or no answer
    5  upstream; the next one of the plan if it fails
    6  answer, values put back; audit record, durable    or not its end

1 and 2 are here, 3 in `tokenizer`, 4 and 5 in `sending`, 6 in `delivery`. Whatever goes wrong in 2 and 3 narrows the
plan to the pool. Nothing here knows HTTP of the client's side: see `app`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from types import MappingProxyType

import orjson

from sovctl.gateway import log
from sovctl.gateway.access.assertion import PrincipalSigner
from sovctl.gateway.access.principal import Principal
from sovctl.gateway.audit import AuditLog
from sovctl.gateway.clean_texts import CleanTexts
from sovctl.gateway.conversation import conversation_of
from sovctl.gateway.delivery import Delivery
from sovctl.gateway.errors import Code, Refused
from sovctl.gateway.exchange import Exchange
from sovctl.gateway.inspection import Finder, Inspector
from sovctl.gateway.leaves import TooDeep
from sovctl.gateway.metrics import Metrics
from sovctl.gateway.permissions import Policy
from sovctl.gateway.policy import Permit, Reason, Verdict, decide
from sovctl.gateway.quota.admission import Admission
from sovctl.gateway.quota.quota import Quota
from sovctl.gateway.release.judge import Checks
from sovctl.gateway.restore import RestoreBounds
from sovctl.gateway.routing.demand import demand_of
from sovctl.gateway.routing.plan import Plan, candidates_of, plan_route
from sovctl.gateway.sending import Reply, Sender
from sovctl.gateway.settings import GatewaySettings, RouteSettings
from sovctl.gateway.surfaces import Surface
from sovctl.gateway.token_keys import TokenKeys
from sovctl.gateway.tokenizer import Tokenizer
from sovctl.gateway.upstream import Upstream
from sovctl.gateway.vault import Vault

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Service:
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
        checks: Mapping[str, Checks] = MappingProxyType({}),
        endings: set[asyncio.Task[None]] | None = None,
    ) -> None:
        self.settings = settings
        self.upstreams = upstreams
        self.metrics = metrics
        self._keys = keys
        self._finder = CleanTexts(finder)
        self._checks = checks
        self._audit = audit
        self._admission = Admission(settings, quota)
        self._delivery = Delivery(audit, metrics, settings.limits, RestoreBounds.of(settings), endings)
        self._policy = Policy.compile(settings.policy, settings.routes, settings.upstreams)
        self._candidates = candidates_of(settings)
        self._routes = {route.model: route for route in settings.routes}
        self._sender = Sender(
            upstreams,
            tokenizer=Tokenizer(settings, keys, vault, commit_s=metrics.vault_commit_s.at()),
            delivery=self._delivery,
            admission=self._admission,
            audit=audit,
            metrics=metrics,
            salt_key=keys.salt,
            signer=signer,
        )

    async def serve(
        self,
        surface: Surface,
        client: Principal,
        raw: bytes,
        *,
        conversation_header: str | None,
        request_id: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        timeout_s: float | None = None,
    ) -> Reply:
        """Serve one request.

        Args:
            headers: of the client, those in `surface.client_headers`.
            timeout_s: until an answer must have begun.

        Raises:
            Refused: with the reason code for the client.
        """
        exchange = self._accept(surface, client, raw, conversation_header, request_id, headers)
        if timeout_s is not None:
            exchange.deadline_s = asyncio.get_running_loop().time() + timeout_s
        await self._admission.reserve(exchange)
        try:
            await self._inspect(exchange)
            plan = self._plan(exchange)
            if not plan.upstreams:
                await self._audit.request(exchange, plan.reasons, upstream=None)
                raise Refused(_why_not(exchange.permit, exchange.route))
            return await self._sender.send(exchange, plan)
        except BaseException:
            exchange.settle()
            raise

    async def close(self) -> None:
        """Wait for what is still being recorded."""
        await self._delivery.close()

    def _accept(
        self,
        surface: Surface,
        client: Principal,
        raw: bytes,
        header: str | None,
        request_id: str,
        headers: Mapping[str, str],
    ) -> Exchange:
        started = time.perf_counter()
        body = surface.read(raw, headers)
        if not isinstance(body, dict):
            raise Refused(Code.INVALID_JSON)
        surface.check(body)
        route = self._routes.get(body["model"])
        if route is None:
            raise Refused(Code.MODEL_NOT_FOUND)
        if not client.may_use(route.model):
            raise Refused(Code.ROUTE_NOT_ALLOWED)
        try:
            beginning = () if header is not None else surface.beginning(body)
            conversation, *older = (
                conversation_of(
                    beginning,
                    header=header,
                    tenant=client.tenant,
                    client=client.name,
                    secret=keys.conversation,
                    key_version=keys.version,
                )
                for keys in (self._keys, *self._keys.older)
            )
        except orjson.JSONEncodeError:  # it nests deeper than orjson writes, which is deeper than any limit here
            raise Refused(Code.TOO_DEEP) from None
        except ValueError:
            raise Refused(Code.INVALID_CONVERSATION) from None
        inspector = Inspector(self._finder, surface, max_depth=self.settings.limits.max_depth)
        permissions = self._policy.of(client.tenant, route.model)
        return Exchange(
            surface,
            client,
            route,
            permissions,
            body,
            raw,
            conversation,
            request_id,
            started,
            inspector,
            headers,
            older,
            checks=self._checks.get(route.model),
        )

    async def _inspect(self, exchange: Exchange) -> None:
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
        for kind, count in exchange.inspection.counts.items():
            self.metrics.findings.add(kind.value, by=count)
        exchange.permit = decide(exchange.inspection, exchange.permissions)

    def _plan(self, exchange: Exchange) -> Plan:
        assert exchange.permit is not None
        exchange.demand = demand_of(
            exchange.body,
            family=exchange.surface.family,
            body_bytes=len(exchange.raw),
            max_answer_tokens=exchange.surface.max_answer_tokens(exchange.body),
            obstacles=exchange.inspection.obstacles if exchange.inspection is not None else (),
        )
        return plan_route(
            exchange.permit,
            self._candidates[exchange.route.model],
            exchange.demand,
            clouds=exchange.permissions.clouds,
            state=lambda name: self.upstreams[name].state(),
        )


def _why_not(permit: Permit | None, route: RouteSettings) -> Code:
    """Why no upstream may serve a request."""
    if permit is not None and permit.verdict is Verdict.BLOCK:
        return Code.POLICY_BLOCKED
    if route.pool is None and (permit is None or not permit.verdict.may_leave):
        return Code.STAYS_ON_PREM
    return Code.SURFACE_NOT_SERVED


def new_request_id() -> str:
    """A random id, for the client, the log and the audit records of one request."""
    return secrets.token_hex(16)
