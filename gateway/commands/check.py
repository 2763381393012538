"""Checks all components of a gateway except its upstreams, and prints the results.

A check that could not run is UNKNOWN and counts as a failure.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from sovctl.compliance import signing as signing
from sovctl.compliance.ledger.store import Ledger
from sovctl.support.errors import Busy, SovctlError, SpecError
from sovctl.support.secret_files import read_key

from ..access.authenticator import Authenticator
from ..adapters import adapters_of
from ..detect import make_detector
from ..detect.build import recognizers_of
from ..detect.clean_text_cache import CachedFinder
from ..detect.edm import open_edm
from ..domain.entities import EntityType
from ..handoff.queue import open_queue
from ..http.tls import check_certificate
from ..inspection.inspector import Inspector
from ..model_finders import ModelFinderFailed, load_models, load_screens
from ..policy.decision import decide
from ..policy.permissions import Policy, check_rules
from ..release.judge import checks_of
from ..settings import Action, GatewaySettings
from ..settings.detection.screen import ScreenedText
from ..storage.permissions import require_private
from ..surfaces import SURFACES
from ..tokenization.body import tokenize_body
from ..tokens.conversation import Conversation
from ..tokens.keys import load_token_keys
from ..tokens.restore import restore
from ..tokens.token import TokenIssuer
from ..upstream import Upstream, proxy_of, tls_context
from ..vault import load_keks, open_vault
from .specimens import SPECIMENS


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check."""

    name: str
    verdict: Literal["PASS", "FAIL", "UNKNOWN"]
    detail: str


def run_checks(settings: GatewaySettings) -> list[CheckResult]:
    """Run every check, in the order in which a gateway opens its components."""
    checks: list[tuple[str, Callable[[GatewaySettings], str]]] = [
        ("certificate", _certificate),
        ("clients", _clients),
        ("keys", _keys),
        ("detector", _detector),
        ("models", _models),
        ("listed", _listed),
        ("vault", _vault),
        ("ledger", _ledger),
        ("upstreams", _upstreams),
        ("leaving", _leaving),
        ("limits", _limits),
        ("release", _release),
        ("hand-offs", _handoffs),
    ]
    return [_result(name, check, settings) for name, check in checks]


def _result(name: str, check: Callable[[GatewaySettings], str], settings: GatewaySettings) -> CheckResult:
    try:
        return CheckResult(name, "PASS", check(settings))
    except SpecError as error:
        return CheckResult(name, "FAIL", "; ".join(map(str, error.problems)))
    except SovctlError as error:
        return CheckResult(name, "FAIL", str(error))
    except Exception as error:  # noqa: BLE001 - only the type is reported; the message may contain any text
        return CheckResult(name, "UNKNOWN", f"the check itself failed: {type(error).__name__}")


def _certificate(settings: GatewaySettings) -> str:
    check_certificate(settings.listen)
    if settings.admin is not None:
        check_certificate(settings.admin, where="admin")
    return str(settings.listen.certificate_file or f"none: plain http on {settings.listen.host}")


def _clients(settings: GatewaySettings) -> str:
    count = len(Authenticator(settings).clients)
    return f"{count} client{'s' if count != 1 else ''}, keys as digests only"


def _keys(settings: GatewaySettings) -> str:
    load_token_keys(settings)
    load_keks(settings.vault)
    require_private(settings)
    return "token key and vault key are readable only by this user; vault and ledger have safe modes"


def _detector(settings: GatewaySettings) -> str:
    detector = make_detector(settings.detect)
    missed = [
        entity_type.value
        for entity_type, specimen in SPECIMENS.items()
        if entity_type not in {finding.entity_type for finding in detector.find(f"Please check {specimen} for us.")}
    ]
    if missed:
        raise SovctlError(f"no finding for {', '.join(missed)}")
    check_rules(settings.policy, detector, settings.detect.model_finder_rules)
    said = f"{len(detector.rule_names)} rules, the specimen of every entity type is found"
    if own := [each.settings.name for each in recognizers_of(settings.detect)]:
        said += f"; own recognizers, whose examples pass: {', '.join(own)}"
    return said


def _models(settings: GatewaySettings) -> str:
    """Let each model read a text; its findings are not checked."""
    models = load_models(settings.detect)
    for model in models:
        try:
            asyncio.run(model.find([f"Please check {SPECIMENS[EntityType.PERSON]} for us."]))
        except ModelFinderFailed as error:
            raise SovctlError(f"model {model.name} failed to read a text: {error}") from error
    named = [f"{each.name} ({each.kind}: {', '.join(each.languages)})" for each in settings.detect.models]
    said = f"loaded and tried: {', '.join(named)}" if named else "no models configured"
    for screen in load_screens(settings.detect):
        try:
            asyncio.run(screen.flags([(role, "Please check this for us.") for role in ScreenedText]))
        except ModelFinderFailed as error:
            raise SovctlError(f"screen {screen.name} failed to read a text: {error}") from error
    if settings.detect.screens:
        said += f"; screens loaded and tried: {', '.join(each.name for each in settings.detect.screens)}"
    if review := settings.detect.llm_review:
        said += f"; LLM review by {review.upstream}, when {review.when}, not called now"
    return said


def _listed(settings: GatewaySettings) -> str:
    chosen = settings.detect.exact_data_match
    if chosen is None:
        return "no index of people and companies"
    header = open_edm(chosen).header
    counts = f"{header['people']} people, {header['companies']} companies"
    return f"{chosen.index_file}: {counts}, built {header['built_at']}, sha256 {header['sha256'][:16]}"


def _leaving(settings: GatewaySettings) -> str:
    """Tokenize one request per entity type, with this site's policy and key, and check the resulting body; nothing is
    sent.

    Uses the first route with a cloud, and a tenant that no row of the policy names.
    """
    route = next((route.model for route in settings.routes if route.cloud), None)
    if route is None:
        return "no route has a cloud: nothing leaves"
    permissions = Policy.compile(settings.policy, settings.routes, settings.upstreams).of("", route)
    surface = SURFACES["/v1/chat/completions"]
    finder, key = CachedFinder(make_detector(settings.detect)), load_token_keys(settings).token
    said: dict[str, list[str]] = {"as tokens": [], "as masks": [], "unchanged, by policy": [], "never": []}
    for entity_type, specimen in SPECIMENS.items():
        text = f"Please check {specimen} for us."
        body: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        inspector = Inspector(finder, surface, max_depth=settings.limits.max_depth)
        permit = decide(inspector.inspect(body), permissions)
        if not permit.verdict.may_leave:
            said["never"].append(entity_type.value)
            continue
        issuer = TokenIssuer(key, tenant="check", conversation=secrets.token_hex(16))
        outgoing = tokenize_body(body, inspector, permissions, issuer, model="check", dropped=surface.dropped)
        sent = orjson.loads(outgoing.data)["messages"][0]["content"]
        actions = {permissions.action_for(finding.entity_type, finding.rule) for finding in finder.find(text)}
        if actions == {Action.ALLOW}:
            said["unchanged, by policy"].append(entity_type.value)
        elif Action.MASK in actions:
            if specimen in sent:
                raise SovctlError(f"expected a mask for {entity_type.value}, got the value")
            said["as masks"].append(entity_type.value)
        elif specimen in sent or restore(sent, outgoing.issued) != text:
            raise SovctlError(f"expected a token for {entity_type.value} that restores, got another result")
        else:
            said["as tokens"].append(entity_type.value)
    return "; ".join(f"{', '.join(entity_types)} leave {how}" for how, entity_types in said.items() if entity_types)


def _limits(settings: GatewaySettings) -> str:
    quota = settings.quota
    limits = [
        ("quota.default_limits", quota.default_limits),
        *((f"team {t.name}", t.limits) for t in settings.access.teams),
    ]
    limited = [(who, each) for who, each in limits if not each.is_unlimited]
    reserved = quota.completion_tokens or max(upstream.max_model_len for upstream in settings.upstreams)
    narrow = [
        who
        for who, each in limited
        for most in (each.tokens_per_minute, each.tokens_per_day, each.tokens_per_month)
        if most is not None and most < reserved
    ]
    said = ", ".join(who for who, _ in limited) or "only clients with limits of their own"
    if narrow:
        said += (
            f"; requests that name no `max_tokens` are refused by {', '.join(dict.fromkeys(narrow))}, as they may use "
            f"{reserved} tokens: `quota.completion_tokens` reserves fewer"
        )
    return said


def _release(settings: GatewaySettings) -> str:
    checks = checks_of(settings, make_detector(settings.detect))
    lists = sum(len(each.settings.forbidden) for each in checks.values())
    return f"{len(checks)} of {len(settings.routes)} routes check answers, with {lists} lists of phrases"


def _handoffs(settings: GatewaySettings) -> str:
    if settings.handoff is None:
        return "none: withheld answers are refused"

    async def look() -> str:
        queue = await open_queue(settings)
        try:
            return f"{queue.where}: {(await queue.counts()).open} open"
        finally:
            await queue.close()

    webhook = settings.handoff.webhook
    if webhook is not None:
        read_key(webhook.secret_file)
    told = f"webhook {webhook.url}, not called" if webhook is not None else "no webhook"
    return f"{asyncio.run(look())}; {told}"


def _vault(settings: GatewaySettings) -> str:
    async def round_trip() -> str:
        vault = await open_vault(settings.vault, load_keks(settings.vault))
        try:
            conversation = Conversation("check", secrets.token_hex(32), True)
            await vault.store(conversation, {"EMAIL_CHECK": "anna@example.com"})
            if await vault.load(conversation) != {"EMAIL_CHECK": "anna@example.com"}:
                raise SovctlError("the vault returned another value than the stored one")
            await vault.drop(conversation)
        finally:
            await vault.close()
        return vault.where

    return f"{asyncio.run(round_trip())}: stored, read and erased a value"


def _ledger(settings: GatewaySettings) -> str:
    key = signing.load_or_create(settings.ledger.key_file)
    try:
        with Ledger.open(settings.ledger.directory, origin=settings.ledger.origin, key=key) as ledger:
            return f"{settings.ledger.directory}: {ledger.size} records"
    except Busy:
        return f"{settings.ledger.directory}: a running gateway writes to it"


def _upstreams(settings: GatewaySettings) -> str:
    async def open_all() -> None:
        for upstream in settings.upstreams:
            tls_context(upstream)
            proxy_of(upstream)
            async with Upstream(upstream, settings.limits):
                pass

    asyncio.run(open_all())
    said = f"{len(settings.upstreams)} upstreams, TLS files and keys are usable; nothing was sent"
    adapters = adapters_of(settings.upstreams)
    adapted = [f"{name} ({adapters[name, surface].description})" for name, surface in adapters]
    return f"{said}; adapters: {', '.join(adapted)}" if adapted else said
