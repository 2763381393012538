"""What `apply` writes for the gateway is what the gateway reads, on every example site: the same words at both ends."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from strategies import PRESETS, context

from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.spec import policy as spec_policy
from sovctl.gateway import settings
from sovctl.gateway.settings import UpstreamKind, load_settings


@pytest.mark.parametrize("preset", PRESETS)
def test_the_gateway_accepts_what_is_rendered_for_it(preset: str, tmp_path: Path) -> None:
    site = context(preset)
    assert site.spec.gateway is not None
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site), sort_keys=False))
    read = load_settings(path)
    for route in read.routes:
        pool = read.upstream(route.pool)
        assert pool.kind is UpstreamKind.POOL
        assert pool.surfaces
    assert read.policy.model_dump(mode="json") == site.gateway.policy.model_dump(mode="json")


def test_policy_has_the_same_words_at_both_ends() -> None:
    assert [each.value for each in spec_policy.Action] == [each.value for each in settings.Action]
    assert list(spec_policy.Policy.model_fields) == list(settings.PolicySettings.model_fields)
    assert list(spec_policy.PolicyRule.model_fields) == list(settings.PolicyRule.model_fields)
