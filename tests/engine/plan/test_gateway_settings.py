"""What `apply` writes for the gateway is what the gateway reads, on every example site: the same words at both ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import yaml
from strategies import PRESETS, context

from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.spec.gateway import policy as spec_policy
from sovctl.engine.spec.gateway import request_fields as spec_fields
from sovctl.engine.spec.gateway.request_fields import RequestFieldsRow
from sovctl.gateway import settings
from sovctl.gateway.settings import FieldAction, SurfaceName, UpstreamKind, load_settings


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


def test_request_fields_and_media_hosts_reach_the_gateway(tmp_path: Path) -> None:
    site = context(PRESETS[0])
    assert site.spec.gateway is not None
    row = RequestFieldsRow(surfaces=["chat.completions"], allow=["priority"], unknown="refuse")
    first, *others = site.gateway.routes
    changed = {
        "request_fields": [row],
        "routes": [first.model_copy(update={"media_hosts": ["media.bank.example"]}), *others],
    }
    site = replace(site, spec=site.spec.model_copy(update={"gateway": site.gateway.model_copy(update=changed)}))
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site), sort_keys=False))
    read = load_settings(path)
    assert read.routes[0].media_hosts == ["media.bank.example"]
    assert read.request_fields == [
        settings.RequestFieldsRow(surfaces=[SurfaceName.CHAT], allow=["priority"], unknown=FieldAction.REFUSE)
    ]


def test_request_fields_have_the_same_words_at_both_ends() -> None:
    assert list(RequestFieldsRow.model_fields) == list(settings.RequestFieldsRow.model_fields)
    assert list(get_args(spec_fields.FieldAction)) == [each.value for each in FieldAction]
    surfaces = [name for group in get_args(spec_fields.FieldSurface) for name in get_args(group) or (group,)]
    assert sorted(surfaces) == sorted(each.value for each in SurfaceName)
