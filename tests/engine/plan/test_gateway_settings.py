"""What `apply` writes for the gateway is what the gateway reads, on every example site."""

from __future__ import annotations

import pytest
from strategies import PRESETS, context

from sovctl.engine.plan.kinds.gateway import configuration
from sovctl.gateway.settings import GatewaySettings, UpstreamKind


@pytest.mark.parametrize("preset", PRESETS)
def test_the_gateway_accepts_what_is_rendered_for_it(preset: str) -> None:
    site = context(preset)
    if site.spec.gateway is None:
        return
    settings = GatewaySettings.model_validate(configuration(site))
    for route in settings.routes:
        pool = settings.upstream(route.pool)
        assert pool.kind is UpstreamKind.POOL
        assert pool.surfaces
