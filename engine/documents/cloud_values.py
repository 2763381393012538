"""Values of each cloud in site.yaml, for the register of information and the residency statement. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.compliance.documents.document import Collected, NotCollected, Value

from ..spec import SiteSpec
from ..spec.gateway.routing import Route
from ..spec.gateway.section import Cloud
from ..spec.perimeter import PerimeterException


def cloud_values(spec: SiteSpec) -> dict[str, dict[str, Collected]]:
    """Return the values of every cloud by its name."""
    clouds = spec.gateway.clouds if spec.gateway else []
    return {cloud.name: _values(cloud, spec) for cloud in clouds}


def _values(cloud: Cloud, spec: SiteSpec) -> dict[str, Collected]:
    place = f"site.yaml: gateway.clouds[{cloud.name}]"
    routes = [route for route in (spec.gateway.routes if spec.gateway else []) if cloud.name in _clouds_of(route)]
    names = ", ".join(route.model for route in routes) or "no route"
    return {
        "jurisdiction": Value(cloud.jurisdiction, f"{place}.jurisdiction"),
        "service": Value("a language model over an API (cloud service)", f"{place}.api"),
        "api": Value(f"{cloud.api}, {', '.join(cloud.surfaces)}, model {cloud.model}", f"{place}.api"),
        "data": Value(
            f"requests of routes {names}, in which tokens replace identifiers by gateway.policy",
            f"{place}; site.yaml: gateway.policy",
        ),
        "fallback": Value(
            ", ".join(dict.fromkeys(route.pool for route in routes)) or "none", "site.yaml: gateway.routes"
        ),
        "exception": _exception(cloud, spec),
    }


def _clouds_of(route: Route) -> Iterator[str]:
    yield from filter(None, (route.cloud, *route.fallbacks))
    yield from (each.name for group in route.groups for each in group)


def _exception(cloud: Cloud, spec: SiteSpec) -> Collected:
    url = cloud.proxy.url if cloud.proxy else cloud.base_url
    found = [each for each in spec.perimeter.exceptions if str(each.address) == url.host and each.port == url.port]
    if not found:
        return NotCollected(f"no exception of site.yaml has the address and port of {cloud.name}")
    return Value("\n".join(map(_approved, found)), "site.yaml: perimeter.exceptions")


def _approved(each: PerimeterException) -> str:
    return f"{each.name}: approved by {each.approved_by} until {each.expires}"
