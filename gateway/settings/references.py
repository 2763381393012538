"""What must hold between the parts of a gateway.yaml: names that meet, and a policy that can be read in one way.

problems(settings)     # every one with its place; [] when all is well
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sovctl.support.errors import Problem
from sovctl.support.suggestions import nearest

from ..domain.entities import EntityType
from .gateway import GatewaySettings
from .surface import SurfaceName
from .upstream import UpstreamKind


def problems(settings: GatewaySettings) -> list[Problem]:
    """Every problem between parts, in the order of the settings."""
    found = [
        *_twice("upstreams", "name", (upstream.name for upstream in settings.upstreams)),
        *_twice("routes", "model", (route.model for route in settings.routes)),
        *_upstreams_of_routes(settings),
        *_hand_offs_of_routes(settings),
        *_jurisdictions(settings),
        *_routes_of_rules_and_callers(settings),
        *_principals(settings),
        *_limits(settings),
        *_prices(settings),
        *_second_look(settings),
        *_name_languages(settings),
    ]
    # A policy is read in terms of the routes, so theirs come first.
    return found or settings.policy.table(settings.routes).problems(kinds=[kind.value for kind in EntityType])


def _principals(settings: GatewaySettings) -> Iterator[Problem]:
    if settings.access.principal_key_files:
        return
    for index, upstream in enumerate(settings.upstreams):
        if upstream.send_principal:
            message = "expected access.principal_key_files where an upstream is told who is calling, got none"
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
                message = "expected quota.prices where cost is limited, got none"
                yield Problem(message, where=f"routes[{index}].max_cost_per_request")
        return
    priced, named = set(settings.quota.prices.upstreams), {upstream.name for upstream in settings.upstreams}
    for name in sorted(priced ^ named):
        got = f"none for {name}" if name in named else f"one for {name}, which is no upstream"
        yield Problem(f"expected a price for every upstream, got {got}", where="quota.prices.upstreams")


def _second_look(settings: GatewaySettings) -> Iterator[Problem]:
    look = settings.detect.llm_review
    if look is None:
        return
    pool = next((each for each in settings.upstreams if each.name == look.upstream), None)
    if pool is None or pool.kind is not UpstreamKind.POOL:
        got = "nothing of that name" if pool is None else f"{pool.kind.value}, which must not see text as it is"
        yield Problem(f"expected a pool named {look.upstream}, got {got}", where="detect.llm_review.upstream")
    elif SurfaceName.CHAT not in pool.surfaces:
        message = f"expected a pool that serves {SurfaceName.CHAT.value}, got {look.upstream}, which does not"
        yield Problem(message, where="detect.llm_review.upstream")


def _name_languages(settings: GatewaySettings) -> Iterator[Problem]:
    covered = settings.detect.name_languages
    if unknown := sorted(set(settings.policy.name_languages) - covered):
        yield Problem(
            f"expected languages in which names can be found ({', '.join(sorted(covered))}), got {', '.join(unknown)};"
            " requests in other languages stay on-prem",
            where="policy.name_languages",
        )


def _twice(where: str, field: str, names: Iterable[str]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(f"expected every {field} once, got {name} {count} times", where=where)


def _upstreams_of_routes(settings: GatewaySettings) -> Iterator[Problem]:
    kinds = {upstream.name: upstream.kind for upstream in settings.upstreams}
    for index, route in enumerate(settings.routes):
        if not route.upstreams:
            yield Problem("expected a pool, a cloud or both, got neither", where=f"routes[{index}]")
        for field, name, kind in (("pool", route.pool, UpstreamKind.POOL), ("cloud", route.cloud, UpstreamKind.CLOUD)):
            if name is not None and kinds.get(name) is not kind:
                got = kinds[name].value if name in kinds else "nothing of that name"
                yield Problem(f"expected a {kind.value} named {name}, got {got}", where=f"routes[{index}].{field}")
        if route.prefer == "cloud" and route.cloud is None:
            message = "expected pool, got cloud, but the route names no cloud"
            yield Problem(message, where=f"routes[{index}].prefer")
        named = {UpstreamKind.POOL: route.pool, UpstreamKind.CLOUD: route.cloud}
        for number, name in enumerate(route.fallbacks):
            where = f"routes[{index}].fallbacks[{number}]"
            if name not in kinds:
                yield Problem(f"expected a pool or a cloud, got nothing named {name}", where=where)
            elif named[kinds[name]] is None:
                yield Problem(f"expected the first {kinds[name]} under `{kinds[name]}`, got {name} here", where=where)
        yield from _twice(f"routes[{index}]", "pool and cloud", route.upstreams)
        if route.escalate_on and len(route.upstreams) < 2:
            message = "expected a second pool or cloud to ask after a bad answer, got none"
            yield Problem(message, where=f"routes[{index}].escalate_on")
        for field in ("simple", "complex") if route.shadow is not None else ():
            if (name := getattr(route.shadow, field)) not in route.upstreams:
                message = f"expected one of {', '.join(route.upstreams)}, got {name}"
                yield Problem(message, where=f"routes[{index}].shadow.{field}")


def _jurisdictions(settings: GatewaySettings) -> Iterator[Problem]:
    policy = settings.policy
    for tenant, countries in policy.tenant_jurisdictions.items():
        if policy.jurisdictions and not set(countries) <= set(policy.jurisdictions):
            more = ", ".join(sorted(set(countries) - set(policy.jurisdictions)))
            message = f"expected some of policy.jurisdictions, got {more} as well"
            yield Problem(message, where=f"policy.tenant_jurisdictions.{tenant}")
    used = {name for route in settings.routes for name in route.upstreams}
    for index, upstream in enumerate(settings.upstreams):
        is_cloud = upstream.kind is UpstreamKind.CLOUD
        if is_cloud and upstream.name in used and not policy.allows_law_of(upstream.jurisdiction, ""):
            message = f"expected one of {', '.join(policy.jurisdictions)}, as policy says, got {upstream.jurisdiction}"
            yield Problem(message, where=f"upstreams[{index}].jurisdiction", hint="no route may name it")


def _hand_offs_of_routes(settings: GatewaySettings) -> Iterator[Problem]:
    for index, route in enumerate(settings.routes):
        if route.release is not None and route.release.may_hand_off and settings.handoff is None:
            yield Problem(
                "expected `handoff`, as this route hands answers over, got none",
                where=f"routes[{index}].release",
                hint="add `handoff: {}`, or say `refuse` in every check of this route",
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
        for name in names:
            if name not in models:
                near = nearest(name, models)
                yield Problem(
                    f"expected one of {', '.join(models)}, got {name}",
                    where=f"{where}.routes",
                    hint=f"did you mean {near}?" if near else "",
                )
