"""Rules about names, references, the perimeter, the gateway and policy. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from ipaddress import AddressValueError, IPv4Address
from pathlib import PurePath
from typing import get_args

from pydantic import AnyHttpUrl

from sovctl.compliance.egress_policy import table_of
from sovctl.support.errors import Problem
from sovctl.support.suggestions import nearest_few

from ...catalog import ModelEntry
from ...catalog.advisories import Status, load_advisories, release, status_of
from ...catalog.engines import ENGINES
from ...catalog.engines.vllm import VLLM
from ...spec.gateway.policy import NAME_LANGUAGES, Action, EntityKind
from ...spec.gateway.routing import Route
from ...spec.gateway.section import CloudProxy, Gateway
from ...spec.types import Secret
from .rule import SiteUnderValidation, duplicates, unknown_name

LAST_YEAR = 2261
"""Last full year that fits in signed 64-bit nanoseconds since 1970, the firewall's format of expiry times."""


ENTITY_TYPES = tuple(get_args(EntityKind))
"""Entity types that the detector finds."""


def check_node_names(site: SiteUnderValidation) -> Iterator[Problem]:
    groups = list(enumerate(site.spec.node_groups))
    yield from duplicates("node group", ((f"node_groups[{i}].name", group.name) for i, group in groups))
    nodes = [(f"node_groups[{i}].nodes[{j}]", node) for i, group in groups for j, node in enumerate(group.nodes)]
    yield from duplicates("node name", ((f"{where}.name", node.name) for where, node in nodes))
    yield from duplicates("node address", ((f"{where}.address", node.address) for where, node in nodes))


def check_model_names(site: SiteUnderValidation) -> Iterator[Problem]:
    yield from duplicates("model name", ((f"models[{i}].name", each.name) for i, each in enumerate(site.spec.models)))


def check_pool_names(site: SiteUnderValidation) -> Iterator[Problem]:
    yield from duplicates("pool name", ((f"pools[{i}].name", each.name) for i, each in enumerate(site.spec.pools)))
    for index, pool in enumerate(site.spec.pools):
        where = f"pools[{index}]"
        if pool.name == "gateway":
            yield Problem(
                "expected a name other than gateway, which names the gateways in plans",
                where=f"{where}.name",
                hint="choose another name",
            )
        yield from duplicates("node of a pool", ((f"{where}.nodes[{i}]", each) for i, each in enumerate(pool.nodes)))
        yield from duplicates("GPU of a pool", ((f"{where}.gpus[{i}]", each) for i, each in enumerate(pool.gpus)))


def check_exception_names(site: SiteUnderValidation) -> Iterator[Problem]:
    exceptions = list(enumerate(site.spec.perimeter.exceptions))
    yield from duplicates("exception", ((f"perimeter.exceptions[{i}].name", each.name) for i, each in exceptions))


def check_workload_names(site: SiteUnderValidation) -> Iterator[Problem]:
    classes = list(enumerate(site.spec.workload))
    yield from duplicates("workload class", ((f"workload[{i}].name", each.name) for i, each in classes))


def check_gateway_names(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    yield from duplicates("node", ((f"gateway.nodes[{i}]", each) for i, each in enumerate(gateway.nodes)))
    yield from duplicates("route", ((f"gateway.routes[{i}].model", r.model) for i, r in enumerate(gateway.routes)))
    yield from duplicates("cloud", ((f"gateway.clouds[{i}].name", c.name) for i, c in enumerate(gateway.clouds)))
    yield from duplicates("client", ((f"gateway.clients[{i}].name", c.name) for i, c in enumerate(gateway.clients)))


def check_platforms(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, group in enumerate(site.spec.node_groups):
        where = f"node_groups[{index}].platform"
        yield from unknown_name("platform", group.platform, site.catalog.platforms, where)


def check_catalog_models(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, model in enumerate(site.spec.models):
        if model.catalog not in site.catalog.models:
            near = [f"`{each}`" for each in _near_models(model.catalog, site.catalog.models)]
            yield Problem(
                f"expected a known model of the catalogue, got `{model.catalog}`",
                where=f"models[{index}].catalog",
                hint=(f"did you mean {' or '.join(near)}? " if near else "")
                + f"`sovctl catalog list models` lists all {len(site.catalog.models)}; catalog_file adds entries",
            )


def _near_models(name: str, models: Mapping[str, ModelEntry]) -> list[str]:
    """Return entries of the Hugging Face repository with this name, with or without owner; else the most similar
    names."""
    own = name.rpartition("/")[2].lower()
    of_repo = [each.id for each in models.values() if (each.hf_repo or "").rpartition("/")[2].lower() == own]
    return of_repo or nearest_few(own, list(models))


def check_software(site: SiteUnderValidation) -> Iterator[Problem]:
    chosen = site.spec.software
    yield from unknown_name("driver lock", chosen.lock, site.catalog.driver_locks, "software.lock")
    if reason := ENGINES[chosen.engine].not_run:
        yield Problem(
            f"expected an engine that was run, got `{chosen.engine}`: {reason}",
            where="software.engine",
            hint="use vllm; docs/engines.md",
        )
        return
    known = {each.removeprefix(f"{chosen.engine}-") for each in site.catalog.engines}
    versions = sorted(each for each in known if each[0].isdecimal())
    yield from unknown_name(f"version of {chosen.engine}", chosen.engine_version, versions, "software.engine_version")
    if ENGINES[chosen.engine].environment == VLLM.environment:
        yield from check_floor(chosen.engine_version)


def check_floor(version: str) -> Iterator[Problem]:
    """Refuse a release of vLLM with a vulnerability that neither settings nor measures close."""
    found = [
        each
        for each in load_advisories().values()
        if each.package == "vllm"
        and not each.settings
        and not each.measures
        and each.fixed is not None
        and status_of(each, version) is Status.AFFECTED
    ]
    if found:
        floor = max((each.fixed or "" for each in found), key=lambda text: release(text) or ())
        yield Problem(
            f"expected vLLM {floor} or later, got {version}: {', '.join(each.id for each in found)}",
            where="software.engine_version",
            hint=f"set it to a release from {floor} on; no setting closes these vulnerabilities",
        )


def check_packs(site: SiteUnderValidation) -> Iterator[Problem]:
    compliance = site.spec.compliance
    own = [PurePath(each).stem for each in compliance.pack_files]
    for index, name in enumerate(own):
        if name in site.catalog.packs:
            where = f"compliance.pack_files[{index}]"
            yield Problem(f"control set `{name}` is part of sovctl", where=where, hint="rename the file")
    listed = list(enumerate(compliance.packs))
    known = sorted({*site.catalog.packs, *own})
    for index, name in listed:
        yield from unknown_name("control set", name, known, f"compliance.packs[{index}]")
    yield from duplicates("control set", ((f"compliance.packs[{index}]", name) for index, name in listed))
    yield from duplicates("control set", ((f"compliance.pack_files[{index}]", name) for index, name in enumerate(own)))


def check_workload_pools(site: SiteUnderValidation) -> Iterator[Problem]:
    names = [pool.name for pool in site.spec.pools]
    for index, each in enumerate(site.spec.workload):
        yield from unknown_name("pool", each.pool, names, f"workload[{index}].pool")


def check_gateway_references(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    nodes = [node.name for _, node in site.spec.nodes()]
    for index, node in enumerate(gateway.nodes):
        yield from unknown_name("node", node, nodes, f"gateway.nodes[{index}]")
    pools = list(site.spec.served())
    clouds = [cloud.name for cloud in gateway.clouds]
    for index, route in enumerate(gateway.routes):
        where = f"gateway.routes[{index}]"
        yield from unknown_name("pool", route.pool, pools, f"{where}.pool")
        if route.cloud is not None:
            yield from unknown_name("cloud", route.cloud, clouds, f"{where}.cloud")
        elif route.prefer == "cloud":
            yield Problem(
                "expected `pool`, got `cloud` on a route that names no cloud",
                where=f"{where}.prefer",
                hint="name the cloud of this route, or prefer the pool",
            )
        yield from _fallbacks(route, pools, clouds, where)
        yield from _choices(route, where)
    routes = [route.model for route in gateway.routes]
    for index, client in enumerate(gateway.clients):
        for number, model in enumerate(client.routes):
            yield from unknown_name("route", model, routes, f"gateway.clients[{index}].routes[{number}]")


def check_addresses(site: SiteUnderValidation) -> Iterator[Problem]:
    named: list[tuple[str, str]] = [
        (f"clock.servers[{index}]", server) for index, server in enumerate(site.spec.clock.servers)
    ]
    artifacts = site.spec.artifacts
    urls = [("apt_url", artifacts.apt_url), ("wheels_url", artifacts.wheels_url), ("models_url", artifacts.models_url)]
    named += [(f"artifacts.{key}", url.host or "") for key, url in urls]
    for where, host in named:
        yield from _no_address(host, where)


def _no_address(host: str, where: str) -> Iterator[Problem]:
    try:
        IPv4Address(host)
    except AddressValueError:
        yield Problem(
            f"expected an IPv4 address as host, got `{host}`",
            where=where,
            hint="write the address: the firewall needs addresses, and nodes use no name server",
        )


def check_management(site: SiteUnderValidation) -> Iterator[Problem]:
    for key in ("management", "clients"):
        for index, network in enumerate(getattr(site.spec.perimeter, key)):
            if network.prefixlen == 0:
                yield Problem(
                    f"expected the networks of the {key}, got all addresses ({network})",
                    where=f"perimeter.{key}[{index}]",
                    hint="name the networks that may connect",
                )


def check_reachable(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.gateway is not None and not site.spec.perimeter.clients:
        yield Problem(
            "expected networks from which clients connect to the gateway, got none",
            where="perimeter.clients",
            hint="name the networks of the applications, such as 10.20.0.0/16",
        )


def check_stays_on_prem(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.site.placement.may_leave:
        return
    hint = "remove it, or set site.placement to `hybrid`"
    for index, exception in enumerate(site.spec.perimeter.exceptions):
        yield Problem(
            f"expected no exception on an on-prem site, got `{exception.name}`",
            where=f"perimeter.exceptions[{index}]",
            hint=hint,
        )
    if site.spec.gateway is None:
        return
    for index, cloud in enumerate(site.spec.gateway.clouds):
        yield Problem(
            f"expected no cloud on an on-prem site, got `{cloud.name}`", where=f"gateway.clouds[{index}]", hint=hint
        )


def check_clouds(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check the addresses of clouds, of their proxies, and of their token endpoints."""
    for index, cloud in enumerate(site.spec.gateway.clouds if site.spec.gateway else []):
        where, url = f"gateway.clouds[{index}].base_url", cloud.base_url
        if url.scheme != "https":
            yield Problem(f"expected https, got {url.scheme}", where=where, hint="use TLS, for tokenized text too")
        if url.query is not None or url.fragment is not None:
            message = "expected an address that ends in a path, got one with `?` or `#`"
            yield Problem(message, where=where, hint="remove the part after the path")
        token_url = cloud.vertex.token_url if cloud.vertex is not None else None
        where_token = f"gateway.clouds[{index}].vertex.token_url"
        if token_url is not None and token_url.scheme != "https":
            message = f"expected https, got {token_url.scheme}"
            yield Problem(message, where=where_token, hint="use TLS, because tokens are secrets")
        if cloud.proxy is not None:  # the gateway reaches the token endpoint through it too
            yield from _proxy(cloud.proxy, f"gateway.clouds[{index}].proxy")
            yield from _reachable(site, cloud.proxy.url, f"gateway.clouds[{index}].proxy.url")
            continue
        yield from _reachable(site, url, where)
        if token_url is not None:
            yield from _reachable(site, token_url, where_token)
    yield from _bypasses(site)


def _reachable(site: SiteUnderValidation, url: AnyHttpUrl, where: str) -> Iterator[Problem]:
    """Yield a problem unless the host is an address with a perimeter exception."""
    unusual = list(_no_address(url.host or "", where))
    yield from unusual
    exceptions = {(str(each.address), each.port) for each in site.spec.perimeter.exceptions}
    if not unusual and (url.host, url.port) not in exceptions:
        yield Problem(
            f"expected a perimeter exception for {_host_port(url)}, got none",
            where=where,
            hint="add it under perimeter.exceptions with reason, approver and expiry date",
        )


def _proxy(proxy: CloudProxy, where: str) -> Iterator[Problem]:
    url = proxy.url
    if url.path not in (None, "", "/") or url.query is not None or url.fragment is not None:
        yield Problem("expected scheme, address and port, got a URL with more", where=f"{where}.url")
    if url.username is not None or url.password is not None:
        message = "expected a URL without user name and password, got one with them"
        yield Problem(message, where=f"{where}.url", hint="use `user` and `password`")
    if (proxy.user is None) != (proxy.password is None):
        yield Problem("expected `user` and `password` together, got only one of them", where=where)
    if url.scheme == "http" and proxy.ca_file is not None:
        yield Problem("expected an https URL with `ca_file`, got http", where=f"{where}.url")
    if url.scheme == "http" and proxy.password is not None and not proxy.allow_password_in_clear:
        yield Problem(
            "expected https, because the network could read the password, got http",
            where=f"{where}.url",
            hint="use a proxy with TLS, or set `allow_password_in_clear: true`",
        )


def _bypasses(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield exceptions with which the gateway could reach a cloud without its proxy."""
    clouds = site.spec.gateway.clouds if site.spec.gateway else []
    direct = {(each.base_url.host, each.base_url.port) for each in clouds if each.proxy is None}
    direct |= {(each.proxy.url.host, each.proxy.url.port) for each in clouds if each.proxy is not None}
    proxied = {(each.base_url.host, each.base_url.port): each.name for each in clouds if each.proxy is not None}
    for index, each in enumerate(site.spec.perimeter.exceptions):
        place = (str(each.address), each.port)
        if place in proxied and place not in direct:
            yield Problem(
                f"expected no exception for cloud `{proxied[place]}`, which has a proxy, got `{each.name}`",
                where=f"perimeter.exceptions[{index}]",
                hint="name the address of the proxy instead",
            )


def _host_port(url: AnyHttpUrl) -> str:
    return f"{url.host}:{url.port}"


def check_expiry(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, exception in enumerate(site.spec.perimeter.exceptions):
        where = f"perimeter.exceptions[{index}].expires"
        try:
            last = date.fromisoformat(exception.expires)
        except ValueError:
            yield Problem(f"expected a day that exists, got {exception.expires}", where=where, hint="YYYY-MM-DD")
            continue
        if last < site.today:
            yield Problem(
                f"expected a day not before {site.today}, got {last}: `{exception.name}` has expired",
                where=where,
                hint="have it approved again with a later day, or remove it so that the next plan closes it",
            )
        if last.year > LAST_YEAR:
            yield Problem(f"expected a day up to the year {LAST_YEAR}, got {last}", where=where, hint="choose a year")


def check_gateway_apart(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None or not gateway.clouds:
        return
    for index, name in enumerate(gateway.nodes):
        for group, node in site.spec.nodes():
            platform = site.catalog.platforms.get(group.platform)
            if node.name == name and platform is not None and platform.has_gpus:
                yield Problem(
                    f"expected a node without GPUs, got {name} of platform {platform.id}",
                    where=f"gateway.nodes[{index}]",
                    hint="on a site with clouds only nodes without raw text may have a firewall exception: use a node "
                    "of platform `service`",
                )


def check_secrets(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    held: list[tuple[str, Secret]] = [
        (f"gateway.clouds[{i}].api_key", cloud.api_key) for i, cloud in enumerate(gateway.clouds) if cloud.api_key
    ]
    held += [
        (f"gateway.clouds[{i}].{cloud.credentials_place}", cloud.credentials)
        for i, cloud in enumerate(gateway.clouds)
        if cloud.credentials
    ]
    held += [
        (f"gateway.clouds[{i}].proxy.password", cloud.proxy.password)
        for i, cloud in enumerate(gateway.clouds)
        if cloud.proxy and cloud.proxy.password
    ]
    held += [
        (f"gateway.vault.kek[{i}].pkcs11.pin", kek.pkcs11.pin) for i, kek in enumerate(gateway.vault.kek) if kek.pkcs11
    ]
    if gateway.vault.postgresql:
        held.append(("gateway.vault.postgresql.password", gateway.vault.postgresql.password))
    clients = [(f"gateway.clients[{i}].api_key", client.api_key) for i, client in enumerate(gateway.clients)]
    for where, secret in held + clients:
        if (secret.file is None) == (secret.env is None):
            yield Problem(
                f"expected one of `file` and `env`, got {'both' if secret.file else 'neither'}",
                where=where,
                hint="write {file: secrets/NAME} or {env: NAME}",
            )
    first: dict[tuple[str | None, str | None], str] = {}
    for where, secret in clients:
        reference = (secret.file, secret.env)
        if reference in first and reference != (None, None):
            yield Problem(
                "expected a different key for each client, got the key of another client",
                where=where,
                hint=f"{first[reference]} names the same key; a key of its own lets the audit log identify each client",
            )
        first.setdefault(reference, where)


def check_policy(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    languages = enumerate(gateway.policy.name_languages)
    yield from duplicates("language", ((f"gateway.policy.name_languages[{i}]", each) for i, each in languages))
    table = table_of(
        gateway.policy, {route.model: route.cloud is not None for route in gateway.routes}, where="gateway.policy"
    )
    yield from _jurisdictions(gateway)
    yield from [*_policy_references(gateway)] or table.problems(
        entity_types=ENTITY_TYPES
    )  # an unknown name is not reported twice
    covered = sorted({*NAME_LANGUAGES, *gateway.detect.name_languages})
    for index, language in enumerate(gateway.policy.name_languages):
        if language not in covered:
            yield Problem(
                f"expected a language in which the gateway finds names, got {language}",
                where=f"gateway.policy.name_languages[{index}]",
                hint=f"one of {', '.join(covered)}; requests in other languages are processed on-prem",
            )
    if gateway.policy.default is Action.ALLOW:
        yield Problem(
            "expected mask, tokenize, on-prem or block for entity types that are not listed, got `allow`",
            where="gateway.policy.default",
            hint="allow single entity types under `entity_types`, so that a new entity type is not allowed by default",
        )


def _policy_references(gateway: Gateway) -> Iterator[Problem]:
    tenants = sorted({client.tenant for client in gateway.clients})
    routes = [route.model for route in gateway.routes]
    for number, rule in enumerate(gateway.policy.rules):
        where = f"gateway.policy.rules[{number}]"
        for index, entity in enumerate(rule.entity_types):
            entity_type = entity.partition("/")[0]
            yield from unknown_name("entity type", entity_type, ENTITY_TYPES, f"{where}.entity_types[{index}]")
        for index, tenant in enumerate(rule.tenants):
            yield from unknown_name("tenant of a client", tenant, tenants, f"{where}.tenants[{index}]")
        for index, model in enumerate(rule.routes):
            yield from unknown_name("route", model, routes, f"{where}.routes[{index}]")


def _fallbacks(route: Route, pools: list[str], clouds: list[str], where: str) -> Iterator[Problem]:
    first = [(f"{where}.pool", route.pool), *([(f"{where}.cloud", route.cloud)] if route.cloud is not None else [])]
    further = [(f"{where}.fallbacks[{index}]", name) for index, name in enumerate(route.fallbacks)]
    yield from duplicates("pool and cloud of a route", [*first, *further])
    for place, name in further:
        yield from unknown_name("pool or cloud", name, [*pools, *clouds], place)
        if route.cloud is None and name in clouds:
            yield Problem(
                f"expected the first cloud of a route under `cloud`, got `{name}` under `fallbacks`",
                where=place,
                hint=f"write `cloud: {name}`",
            )


def _choices(route: Route, where: str) -> Iterator[Problem]:
    names = [name for name in (route.pool, route.cloud, *route.fallbacks) if name is not None]
    has_more = bool(route.fallback_routes) and "bad-answer" in route.fallback_on
    if route.escalate_on and len(names) < 2 and not has_more:
        yield Problem(
            "expected a second pool or cloud to ask after a bad answer, got none",
            where=f"{where}.escalate_on",
            hint="name one under `cloud` or `fallbacks`",
        )
    if route.shadow is not None:
        for field in ("simple", "complex"):
            yield from unknown_name(
                "pool or cloud of a route", getattr(route.shadow, field), names, f"{where}.shadow.{field}"
            )


def _jurisdictions(gateway: Gateway) -> Iterator[Problem]:
    where, allowed = "gateway.policy.tenant_jurisdictions", gateway.policy.jurisdictions
    tenants = sorted({client.tenant for client in gateway.clients})
    for tenant, countries in gateway.policy.tenant_jurisdictions.items():
        yield from unknown_name("tenant of a client", tenant, tenants, f"{where}.{tenant}")
        for index, country in enumerate(countries):
            if allowed:
                yield from unknown_name(
                    "country of gateway.policy.jurisdictions", country, allowed, f"{where}.{tenant}[{index}]"
                )
    named = {name for route in gateway.routes for name in (route.cloud, *route.fallbacks)}
    for index, cloud in enumerate(gateway.clouds):
        if allowed and cloud.name in named and cloud.jurisdiction not in allowed:
            yield Problem(
                f"expected one of {', '.join(allowed)} (gateway.policy.jurisdictions), got {cloud.jurisdiction}",
                where=f"gateway.clouds[{index}].jurisdiction",
                hint="remove this cloud from all routes, or allow its country under gateway.policy.jurisdictions",
            )
