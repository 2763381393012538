"""Rules about authentication, limits and prices of the gateway. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sovctl.support.errors import Problem

from ...spec.gateway.access import CallerLimits, Grant, IdentityProvider
from ...spec.gateway.section import Gateway
from .own_address import own_address
from .rule import SiteUnderValidation, duplicates, unknown_name


def check_teams(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    yield from duplicates("team", ((f"gateway.teams[{i}].name", each.name) for i, each in enumerate(gateway.teams)))
    routes = [route.model for route in gateway.routes]
    for index, team in enumerate(gateway.teams):
        for number, model in enumerate(team.routes):
            yield from unknown_name("route", model, routes, f"gateway.teams[{index}].routes[{number}]")
    for index, client in enumerate(gateway.clients):
        yield from _team(gateway, client.team, client.tenant, f"gateway.clients[{index}].team")
    for where, _, grant in _grants(gateway):
        yield from _team(gateway, grant.team, grant.tenant, f"{where}.team")
        for number, model in enumerate(grant.routes):
            yield from unknown_name("route", model, routes, f"{where}.routes[{number}]")


def check_identity_providers(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    listed = [(f"gateway.identity_providers[{i}]", each) for i, each in enumerate(gateway.identity_providers)]
    yield from duplicates("identity provider", ((f"{where}.name", each.name) for where, each in listed))
    yield from duplicates("issuer", ((f"{where}.issuer", each.issuer) for where, each in listed))
    for where, each in listed:
        if (each.jwks_file is None) == (each.jwks_url is None):
            yield Problem(
                f"expected one of `jwks_file` and `jwks_url`, got {'both' if each.jwks_file else 'neither'}",
                where=where,
                hint="name either a file with its public keys, or the URL of its server inside the site",
            )
        yield from _inside(each, where)


def check_certificates(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None or gateway.client_ca_file is not None:
        return
    hint = "name the authority under gateway.client_ca_file"
    if gateway.requires_client_certificate:
        yield Problem(
            "expected `client_ca_file` where certificates are required, got none",
            where="gateway.requires_client_certificate",
            hint=hint,
        )
    if gateway.admin is not None and gateway.admin.requires_client_certificate:
        where = "gateway.admin.requires_client_certificate"
        yield Problem("expected `client_ca_file` where certificates are required, got none", where=where, hint=hint)
    for index, client in enumerate(gateway.clients):
        if client.certificates:
            where = f"gateway.clients[{index}].certificates"
            yield Problem("expected `client_ca_file` where clients have certificates, got none", where=where, hint=hint)


def check_key_expiry(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, client in enumerate(site.spec.gateway.clients if site.spec.gateway else []):
        if client.api_key_expires is None:
            continue
        where = f"gateway.clients[{index}].api_key_expires"
        try:
            last = date.fromisoformat(client.api_key_expires)
        except ValueError:
            yield Problem(
                f"expected a day that exists, got {client.api_key_expires}", where=where, hint="write YYYY-MM-DD"
            )
            continue
        if last < site.today:
            yield Problem(
                f"expected a day not before {site.today}, got {last}: the key of `{client.name}` has expired",
                where=where,
                hint="give the client another key and a later day, or remove the client",
            )


def check_prices(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    if gateway.prices is None:
        limited = [where for where, limits in _limits(gateway) if limits.has_cost]
        for index, route in enumerate(gateway.routes):
            if route.max_cost_per_request is not None:
                limited.append(f"gateway.routes[{index}].max_cost_per_request")
        for where in limited:
            yield Problem(
                "expected `gateway.prices` where cost is limited, got none",
                where=where,
                hint="name the currency and a price for every pool and cloud",
            )
        return
    where, prices = "gateway.prices.upstreams", gateway.prices.upstreams
    yield from duplicates("price", ((f"{where}[{i}].upstream", each.upstream) for i, each in enumerate(prices)))
    used = [
        name for route in gateway.routes for name in (route.pool, route.cloud, *route.fallbacks) if name is not None
    ]
    known = list(dict.fromkeys([*used, *(cloud.name for cloud in gateway.clouds)]))
    for index, price in enumerate(prices):
        yield from unknown_name("pool or cloud of a route", price.upstream, known, f"{where}[{index}].upstream")
    for name in known:
        if name not in {price.upstream for price in prices}:
            yield Problem(
                f"expected a price for every pool and cloud, got none for `{name}`",
                where=where,
                hint="write 0 if it is free",
            )


def check_principals(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    listed = [(f"gateway.send_principal[{i}]", name) for i, name in enumerate(gateway.send_principal)]
    yield from duplicates("pool", listed)
    named = [name for route in gateway.routes for name in (route.pool, *route.fallbacks)]
    pools = [name for name in site.spec.served() if name in named]
    for where, name in listed:
        yield from unknown_name("pool of a route", name, pools, where)


def check_request_fields(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    named = [name for route in gateway.routes for name in (route.pool, *route.fallbacks)]
    known = [name for name in site.spec.served() if name in named] + [cloud.name for cloud in gateway.clouds]
    for index, row in enumerate(gateway.request_fields):
        where = f"gateway.request_fields[{index}]"
        for number, name in enumerate(row.upstreams):
            yield from unknown_name("pool or cloud of a route", name, known, f"{where}.upstreams[{number}]")
        fields = [*row.allow, *row.strip, *row.refuse]
        yield from duplicates("field", [(where, name) for name in fields])
        if any("." in name for name in (*row.strip, *row.refuse)):
            message = "expected members of chat_template_kwargs under `allow` only, got some under `strip` or `refuse`"
            yield Problem(message, where=where, hint="members that are not allowed are refused")
        if not fields and row.unknown is None:
            message = "expected at least one of allow, strip, refuse and unknown, got none"
            yield Problem(message, where=where, hint="remove the row")


def _team(gateway: Gateway, name: str | None, tenant: str, where: str) -> Iterator[Problem]:
    if name is None:
        return
    yield from unknown_name("team", name, [team.name for team in gateway.teams], where)
    for team in gateway.teams:
        if team.name == name and team.tenant != tenant:
            yield Problem(
                f"expected a team of tenant `{tenant}`, got one of `{team.tenant}`",
                where=where,
                hint="a team belongs to one tenant, because tokens are valid within one tenant only",
            )


def _inside(provider: IdentityProvider, where: str) -> Iterator[Problem]:
    if provider.jwks_url is not None:
        otherwise = "for an external provider, save its keys and name the file as `jwks_file`"
        yield from own_address(provider.jwks_url, f"{where}.jwks_url", otherwise=otherwise)


def _grants(gateway: Gateway) -> Iterator[tuple[str, IdentityProvider, Grant]]:
    for index, provider in enumerate(gateway.identity_providers):
        for row, grant in enumerate(provider.grants):
            yield f"gateway.identity_providers[{index}].grants[{row}]", provider, grant


def _limits(gateway: Gateway) -> Iterator[tuple[str, CallerLimits]]:
    yield "gateway.quota.default_limits", gateway.quota.default_limits
    for index, client in enumerate(gateway.clients):
        yield f"gateway.clients[{index}].limits", client.limits
    for index, team in enumerate(gateway.teams):
        yield f"gateway.teams[{index}].limits", team.limits
    for where, _, grant in _grants(gateway):
        yield f"{where}.limits", grant.limits
