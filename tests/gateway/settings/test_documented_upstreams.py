"""The examples of docs/upstream-apis.md are upstreams that a gateway takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from sovctl.gateway.adapters import adapters_of
from sovctl.gateway.settings import UpstreamApi, UpstreamSettings

PAGE = (Path(__file__).parents[3] / "docs/upstream-apis.md").read_text()
EXAMPLES = [yaml.safe_load(text)[0] for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["name"] for example in EXAMPLES])
def test_an_example_is_taken(example: dict[str, object]) -> None:
    upstream = UpstreamSettings.model_validate(example)
    assert adapters_of([upstream])


def test_every_api_has_an_example() -> None:
    assert {example.get("api", "openai") for example in EXAMPLES} == set(UpstreamApi)
