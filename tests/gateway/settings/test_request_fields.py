"""Rows of `request_fields` in gateway.yaml: errors name the row, and every API has a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback_gateway import write_loopback_config

from sovctl.gateway.settings import SurfaceName, check_settings
from sovctl.gateway.settings.traffic.request_fields import PASSED, REFUSED, REMOVED
from sovctl.support.errors import SpecError


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"upstreams": ["chta"], "allow": ["priority"]}, "expected one of chat, cloud, got chta"),
        (
            {"allow": ["priority"], "refuse": ["priority"]},
            "expected one action for each field, got several for priority",
        ),
        ({"strip": ["chat_template_kwargs.style"]}, "expected chat_template_kwargs members under `allow` only"),
        ({"surfaces": ["completions"]}, "expected at least one of allow, strip, refuse and unknown, got none"),
        ({"allow": ['a"; name="model']}, "string should match pattern"),
        ({"unknown": "drop"}, "input should be 'pass', 'strip' or 'refuse'"),
    ],
)
def test_an_invalid_row_is_named(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    settings = yaml.safe_load(write_loopback_config(tmp_path, cloud_port=1).read_text())
    settings["request_fields"] = [row]
    with pytest.raises(SpecError) as caught:
        check_settings(settings, tmp_path / "gateway.yaml")
    (problem,) = caught.value.problems
    assert problem.message.lower().startswith(message)
    assert problem.where.split(": ")[-1].startswith("request_fields[0]")


def test_every_api_has_a_table_without_refused_fields() -> None:
    assert PASSED.keys() == set(SurfaceName)
    for fields in PASSED.values():
        assert "model" in fields
        assert not fields & (REFUSED | REMOVED)
