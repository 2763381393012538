"""The examples of docs/gateway.md are settings that a gateway takes, once their digests are whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback_gateway import write_loopback_config

from sovctl.gateway.settings import check_settings, load_settings
from sovctl.support.errors import SpecError

PAGE = (Path(__file__).parents[3] / "docs/gateway.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def settings_with(example: str, folder: Path) -> dict[str, Any]:
    """A gateway's settings with those of the example in them."""
    path = write_loopback_config(folder, cloud_port=1)
    settings: dict[str, Any] = yaml.safe_load(path.read_text())
    (route,) = settings["routes"]
    settings["routes"].append({"model": "private", "pool": "chat", "prefer": "pool"})
    settings["handoff"] = {}
    shown = yaml.safe_load(example.replace("9f86...", "9f86" * 16))
    for key in ("release", "tool_arguments"):  # of a route
        if key in shown:
            route[key] = shown.pop(key)
    settings["upstreams"] += shown.pop("upstreams", [])
    known = {each["name"]: each for each in settings["upstreams"]}
    for each in shown.get("routes", ()):  # further pools and clouds are like those of the settings
        for name in [each["pool"], each["cloud"], *each.get("fallbacks", [])]:
            if name not in known:
                known[name] = {**known["cloud" if name.startswith("cloud") else "chat"], "name": name}
    settings["upstreams"] = [*known.values()]
    return settings | shown


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.split(":")[0] for example in EXAMPLES])
def test_an_example_is_taken(example: str, tmp_path: Path) -> None:
    check_settings(settings_with(example, tmp_path), tmp_path / "gateway.yaml")


def test_every_example_is_tried() -> None:
    assert len(EXAMPLES) == PAGE.count("```yaml") > 5


def test_a_digest_that_is_none_is_told_in_words(tmp_path: Path) -> None:
    settings = yaml.safe_load(write_loopback_config(tmp_path, cloud_port=1).read_text())
    settings["routes"][0]["release"] = {"forbidden": [{"name": "topics", "file": "/x", "sha256": "9F86"}]}
    (tmp_path / "gateway.yaml").write_text(yaml.safe_dump(settings))
    with pytest.raises(SpecError) as caught:
        load_settings(tmp_path / "gateway.yaml")
    assert [each.message for each in caught.value.problems] == ["expected a SHA-256 in 64 lower-case hex digits"]
