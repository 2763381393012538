"""Rules on weights and fallback routes of the gateway's routes."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation, duplicates, unknown_name

_STRICTNESS = ("allow", "stay", "block")  # actions of a screen


def check_groups(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    for index, route in enumerate(gateway.routes if gateway else []):
        known = [name for name in (route.pool, route.cloud, *route.fallbacks) if name is not None]
        named = [
            (f"gateway.routes[{index}].groups[{number}][{place}].name", each.name)
            for number, group in enumerate(route.groups)
            for place, each in enumerate(group)
        ]
        for where, name in named:
            yield from unknown_name("pool or cloud of a route", name, known, where)
        yield from duplicates("member of a group", named)


def check_fallback_routes(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    routes = {route.model: route for route in gateway.routes} if gateway else {}
    for index, route in enumerate(gateway.routes if gateway else []):
        others = [model for model in routes if model != route.model]
        named = [
            (f"gateway.routes[{index}].fallback_routes[{i}]", name) for i, name in enumerate(route.fallback_routes)
        ]
        yield from duplicates("fallback route", named)
        for where, model in named:
            yield from unknown_name("other route", model, others, where)
            if model not in others:
                continue
            if more := sorted(set(route.media_hosts) - set(routes[model].media_hosts)):
                message = f"expected a route that also allows the media hosts {', '.join(more)}, got `{model}`"
                yield Problem(message, where=where)
            for screen in gateway.detect.screens if gateway else ():
                own, theirs = (screen.routes.get(each, screen.action) for each in (route.model, model))
                if _STRICTNESS.index(theirs) > _STRICTNESS.index(own):
                    yield Problem(
                        f"expected an action of screen `{screen.name}` at least as strict as for `{model}`"
                        f" ({theirs}), got {own}",
                        where=where,
                        hint=f"set it for `{route.model}` under `routes` of the screen",
                    )
            for key in ("release", "tool_arguments"):
                if getattr(routes[model], key) and getattr(routes[model], key) != getattr(route, key):
                    yield Problem(
                        f"expected the same `{key}` as route `{model}`, got another",
                        where=f"gateway.routes[{index}].{key}",
                        hint="the settings of this route apply to answers of its fallback routes",
                    )
