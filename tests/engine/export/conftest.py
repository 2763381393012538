"""Fixtures of exported objects, and the choice of tests with an API server."""

from __future__ import annotations

from typing import Any

import pytest
from export_sites import FORMS, exported, objects, site_text

from sovctl.engine.export.source import Target


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "api_server" in config.option.markexpr.split():
        return
    skip = pytest.mark.skip(reason="runs with `make test-api-server` only")
    for item in items:
        if item.get_closest_marker("api_server"):
            item.add_marker(skip)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One object of each kind."""
    folder = tmp_path_factory.mktemp("good")
    found = {}
    for preset in ("superpod-b200", "bank-hybrid"):
        for target, serving in FORMS:
            made = objects(exported(folder, site_text(preset), Target(target), serving))
            found |= {each["kind"]: each for each in made if each["kind"] != "LLMInferenceService"}
            found |= {each["kind"]: each for each in made if "scaling" in each.get("spec", {})}
    return found
