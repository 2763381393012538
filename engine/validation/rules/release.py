"""Rules about release checks, hand-offs and traces. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .own_address import own_address
from .rule import SiteUnderValidation, duplicates


def check_release(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is None:
        return
    for index, route in enumerate(gateway.routes):
        if route.release is None:
            continue
        where = f"gateway.routes[{index}].release"
        lists = enumerate(route.release.forbidden)
        yield from duplicates("list of phrases", ((f"{where}.forbidden[{i}].name", each.name) for i, each in lists))
        if route.release.may_hand_off and gateway.handoff is None:
            yield Problem(
                "expected `gateway.handoff` because this route hands answers off, got none",
                where=where,
                hint="add `handoff: {}` to the gateway, or set `refuse` in every check of this route",
            )


def check_webhook(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is not None and gateway.handoff is not None and gateway.handoff.webhook is not None:
        yield from own_address(gateway.handoff.webhook.url, "gateway.handoff.webhook.url")


def check_tracing(site: SiteUnderValidation) -> Iterator[Problem]:
    gateway = site.spec.gateway
    if gateway is not None and gateway.tracing is not None:
        yield from own_address(gateway.tracing.endpoint, "gateway.tracing.endpoint")
