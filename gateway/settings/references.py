"""Checks across the sections of a gateway.yaml: references by name, and a policy table without contradictions.

problems(settings)     # each with its path; [] for valid settings
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sovctl.support.errors import Problem
from sovctl.support.suggestions import nearest

from ..domain.entities import EntityType
from .base.surface import SurfaceName
from .detection.screen import ScreenAction
from .gateway import GatewaySettings
from .traffic.routing import FallbackCause
from .traffic.upstream import UpstreamKind


def problems(settings: GatewaySettings) -> list[Problem]:
    """Return the problems across sections, in the order of the settings."""
    found = [
        *_duplicates("upstreams", "name", (upstream.name for upstream in settings.upstreams)),
        *_duplicates("routes", "model", (route.model for route in settings.routes)),
        *_upstreams_of_routes(settings),
        *_groups_of_routes(settings),
        *_fallback_routes(settings),
        *_hand_offs_of_routes(settings),
        *_realtime_routes(settings),
        *_upstreams_of_request_fields(settings),
        *_jurisdictions(settings),
        *_routes_of_rules_and_callers(settings),
        *_principals(settings),
        *_limits(settings),
        *_prices(settings),
        *_llm_review(settings),
        *_routes_of_screens(settings),
        *_prefill(settings),
        *_name_languages(settings),
    ]
    # The policy table refers to routes, so it is checked only if these are valid.
    return found or settings.policy.table(settings.routes).problems(entity_types=[kind.value for kind in EntityType])


def _principals(settings: GatewaySettings) -> Iterator[Problem]:
    if settings.access.principal_key_files:
        return
    if settings.retrieval is not None:
        message = "expected access.principal_key_files because the retrieval service receives the principal, got none"
        yield Problem(message, where="retrieval")
    for index, upstream in enumerate(settings.upstreams):
        if upstream.send_principal:
            message = "expected access.principal_key_files because this upstream receives the principal, got none"
            yield Problem(message, where=f"upstreams[{index}].send_principal")


def _limits(settings: GatewaySettings) -> Iterator[Problem]:
    access = settings.access
    named = [(f"access.teams[{index}].limits", team.limits) for index, team in enumerate(access.teams)]
    for index, issuer in enumerate(access.identity_providers):
        named += [
            (f"access.identity_providers[{index}].grants[{row}].limits", each.limits)
            for row, each in enumerate(issuer.grants)
        ]
    named.append(("quota.default_limits", settings.quota.default_limits))
    for where, limits in named:
        if problem := settings.quota.problem_with(limits, has_database=settings.vault.postgresql is not None):
            yield Problem(problem, where=where)


def _prices(settings: GatewaySettings) -> Iterator[Problem]:
    if settings.quota.prices is None:
        for index, route in enumerate(settings.routes):
            if route.max_cost_per_request is not None:
                message = "expected quota.prices because cost is limited, got none"
                yield Problem(message, where=f"routes[{index}].max_cost_per_request")
        return
    prefilling = {each.prefill.upstream for each in settings.upstreams if each.prefill is not None}
    named = {upstream.name for upstream in settings.upstreams} - prefilling  # the decoding pool counts the request
    priced = set(settings.quota.prices.upstreams)
    for name in sorted(priced ^ named):
        got = f"none for {name}" if name in named else f"one for {name}, which is not an upstream"
        yield Problem(f"expected a price for every upstream, got {got}", where="quota.prices.upstreams")


def _llm_review(settings: GatewaySettings) -> Iterator[Problem]:
    review = settings.detect.llm_review
    if review is None:
        return
    pool = next((each for each in settings.upstreams if each.name == review.upstream), None)
    if pool is None or pool.kind is not UpstreamKind.POOL:
        got = "no such upstream" if pool is None else f"{pool.kind.value}, which must not receive raw text"
        yield Problem(f"expected a pool named {review.upstream}, got {got}", where="detect.llm_review.upstream")
    elif SurfaceName.CHAT not in pool.surfaces:
        message = f"expected a pool that serves {SurfaceName.CHAT.value}, got {review.upstream}, which does not"
        yield Problem(message, where="detect.llm_review.upstream")


def _prefill(settings: GatewaySettings) -> Iterator[Problem]:
    by_name = {upstream.name: upstream for upstream in settings.upstreams}
    routed = {name: route.model for route in settings.routes for name in route.upstreams}
    for index, upstream in enumerate(settings.upstreams):
        if upstream.prefill is None:
            continue
        name, where = upstream.prefill.upstream, f"upstreams[{index}].prefill.upstream"
        other = by_name.get(name)
        if other is None or other is upstream or other.kind is not UpstreamKind.POOL:
            pools = [
                each.name for each in settings.upstreams if each.kind is UpstreamKind.POOL and each is not upstream
            ]
            yield _unknown_name(name, pools, where=where, expected="another pool")
        elif other.prefill is not None:
            yield Problem(f"expected a pool without `prefill`, got {name}, which has one", where=where)
        elif name in routed:
            message = f"expected a pool that no route names, got {name}, which route {routed[name]} names"
            yield Problem(message, where=where)


def _routes_of_screens(settings: GatewaySettings) -> Iterator[Problem]:
    models = [route.model for route in settings.routes]
    for index, screen in enumerate(settings.detect.screens):
        yield from _unknown_names(screen.routes, models, where=f"detect.screens[{index}].routes")


def _name_languages(settings: GatewaySettings) -> Iterator[Problem]:
    covered = settings.detect.name_languages
    if unknown := sorted(set(settings.policy.name_languages) - covered):
        yield Problem(
            f"expected languages in which names can be found ({', '.join(sorted(covered))}), got {', '.join(unknown)};"
            " requests in other languages stay on-prem",
            where="policy.name_languages",
        )


def _unknown_names(names: Iterable[str], known: Sequence[str], *, where: str) -> Iterator[Problem]:
    for name in names:
        if name not in known:
            yield _unknown_name(name, known, where=where, expected=f"one of {', '.join(known)}")


def _unknown_name(name: str, known: Sequence[str], *, where: str, expected: str) -> Problem:
    """Return the problem of a name that does not exist; its hint is the most similar known name."""
    near = nearest(name, known)
    return Problem(f"expected {expected}, got {name}", where=where, hint=f"did you mean {near}?" if near else "")


def _duplicates(where: str, field: str, names: Iterable[str]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(f"every {field} must be unique, got {name} {count} times", where=where)


def _upstreams_of_routes(settings: GatewaySettings) -> Iterator[Problem]:
    kinds = {upstream.name: upstream.kind for upstream in settings.upstreams}
    for index, route in enumerate(settings.routes):
        if not route.upstreams:
            yield Problem("expected a pool, a cloud or both, got neither", where=f"routes[{index}]")
        for field, name, kind in (("pool", route.pool, UpstreamKind.POOL), ("cloud", route.cloud, UpstreamKind.CLOUD)):
            if name is not None and kinds.get(name) is not kind:
                got = kinds[name].value if name in kinds else "no such upstream"
                yield Problem(f"expected a {kind.value} named {name}, got {got}", where=f"routes[{index}].{field}")
        if route.prefer == "cloud" and route.cloud is None:
            message = "expected pool, got cloud, but the route names no cloud"
            yield Problem(message, where=f"routes[{index}].prefer")
        named = {UpstreamKind.POOL: route.pool, UpstreamKind.CLOUD: route.cloud}
        for number, name in enumerate(route.fallbacks):
            where = f"routes[{index}].fallbacks[{number}]"
            if name not in kinds:
                yield Problem(f"unknown upstream {name}", where=where)
            elif named[kinds[name]] is None:
                yield Problem(
                    f"expected the first {kinds[name]} under `{kinds[name]}`, got {name} under `fallbacks`", where=where
                )
        yield from _duplicates(f"routes[{index}]", "pool and cloud", route.upstreams)
        others = settings.reachable(route) if FallbackCause.BAD_ANSWER in route.fallback_on else route.upstreams
        if route.escalate_on and len(others) < 2:
            message = "expected a second pool or cloud to ask after a bad answer, got none"
            yield Problem(message, where=f"routes[{index}].escalate_on")
        for field in ("simple", "complex") if route.shadow is not None else ():
            if (name := getattr(route.shadow, field)) not in route.upstreams:
                message = f"expected one of {', '.join(route.upstreams)}, got {name}"
                yield Problem(message, where=f"routes[{index}].shadow.{field}")


def _groups_of_routes(settings: GatewaySettings) -> Iterator[Problem]:
    for index, route in enumerate(settings.routes):
        grouped = [each.name for group in route.groups for each in group]
        for number, group in enumerate(route.groups):
            for place, each in enumerate(group):
                if each.name not in route.upstreams:
                    yield Problem(
                        f"expected one of {', '.join(route.upstreams)}, got {each.name}",
                        where=f"routes[{index}].groups[{number}][{place}].name",
                    )
        yield from _duplicates(f"routes[{index}].groups", "name", grouped)


_STRICTNESS = tuple(ScreenAction)  # allow, stay, block


def _fallback_routes(settings: GatewaySettings) -> Iterator[Problem]:
    for index, route in enumerate(settings.routes):
        for number, model in enumerate(route.fallback_routes):
            where, fallback = f"routes[{index}].fallback_routes[{number}]", settings.route(model)
            if fallback is None or fallback is route:
                others = [each.model for each in settings.routes if each is not route]
                yield _unknown_name(model, others, where=where, expected="the model of another route")
                continue
            if more := sorted(set(route.media_hosts) - set(fallback.media_hosts)):
                message = f"expected a route that also allows the media hosts {', '.join(more)}, got {model}"
                yield Problem(message, where=where)
            for field in ("release", "tool_arguments"):
                if getattr(fallback, field) and getattr(fallback, field) != getattr(route, field):
                    yield Problem(
                        f"expected the same `{field}` as {model}, because the settings of this route apply to its"
                        " answers, got others",
                        where=f"routes[{index}].{field}",
                    )
            for screen in settings.detect.screens:
                own, theirs = screen.action_on(route.model), screen.action_on(model)
                if _STRICTNESS.index(theirs) > _STRICTNESS.index(own):
                    yield Problem(
                        f"expected an action of screen {screen.name} at least as strict as for {model}"
                        f" ({theirs.value}), got {own.value}",
                        where=where,
                        hint=f"set detect.screens[].routes.{route.model}",
                    )
        yield from _duplicates(f"routes[{index}]", "fallback route", route.fallback_routes)


def _upstreams_of_request_fields(settings: GatewaySettings) -> Iterator[Problem]:
    known = [upstream.name for upstream in settings.upstreams]
    for index, row in enumerate(settings.request_fields):
        yield from _unknown_names(row.upstreams, known, where=f"request_fields[{index}].upstreams")


def _jurisdictions(settings: GatewaySettings) -> Iterator[Problem]:
    policy = settings.policy
    for tenant, countries in policy.tenant_jurisdictions.items():
        if policy.jurisdictions and not set(countries) <= set(policy.jurisdictions):
            more = ", ".join(sorted(set(countries) - set(policy.jurisdictions)))
            message = f"expected a subset of policy.jurisdictions, got also {more}"
            yield Problem(message, where=f"policy.tenant_jurisdictions.{tenant}")
    used = {name for route in settings.routes for name in route.upstreams}
    for index, upstream in enumerate(settings.upstreams):
        is_cloud = upstream.kind is UpstreamKind.CLOUD
        if is_cloud and upstream.name in used and not policy.allows_jurisdiction(upstream.jurisdiction, ""):
            message = (
                f"expected one of {', '.join(policy.jurisdictions)} (policy.jurisdictions), got {upstream.jurisdiction}"
            )
            yield Problem(message, where=f"upstreams[{index}].jurisdiction", hint="remove the upstream from all routes")


def _hand_offs_of_routes(settings: GatewaySettings) -> Iterator[Problem]:
    for index, route in enumerate(settings.routes):
        if route.release is not None and route.release.may_hand_off and settings.handoff is None:
            yield Problem(
                "expected `handoff` because this route hands answers off, got none",
                where=f"routes[{index}].release",
                hint="add `handoff: {}`, or set `refuse` in every check of this route",
            )


def _realtime_routes(settings: GatewaySettings) -> Iterator[Problem]:
    realtime = {each.name for each in settings.upstreams if SurfaceName.REALTIME in each.surfaces}
    for index, route in enumerate(settings.routes):
        if realtime.isdisjoint(settings.reachable(route)):
            continue
        if route.release is None or route.release.identifiers is None:
            yield Problem(
                "expected `identifiers` because this route serves realtime transcription, whose text is scanned before"
                " it is sent, got none",
                where=f"routes[{index}].release",
                hint="add `release: {identifiers: {default: mask}}`",
            )


def _routes_of_rules_and_callers(settings: GatewaySettings) -> Iterator[Problem]:
    models = [route.model for route in settings.routes]
    named = [(f"policy.rules[{number}]", rule.routes) for number, rule in enumerate(settings.policy.rules)]
    named += [(f"access.teams[{number}]", team.routes) for number, team in enumerate(settings.access.teams)]
    for index, issuer in enumerate(settings.access.identity_providers):
        named += [
            (f"access.identity_providers[{index}].grants[{number}]", each.routes)
            for number, each in enumerate(issuer.grants)
        ]
    for where, names in named:
        yield from _unknown_names(names, models, where=f"{where}.routes")
