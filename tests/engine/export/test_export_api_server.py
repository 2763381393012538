"""Objects of custom kinds at a real API server, which evaluates rules in CEL too: `make test-api-server`.

Not part of `make test`: the server is built from packages of Debian unstable, in minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_server import Absent, ApiServer, running
from custom_schemas import DEFINITIONS
from export_sites import FORMS, PRESETS, exported, objects, site_text
from test_export_core_kinds import is_core
from wrong_objects import ACCEPTED, REFUSED, changed

from sovctl.engine.export.source import Target

pytestmark = [
    pytest.mark.shared,
    pytest.mark.api_server,
    pytest.mark.skipif(not DEFINITIONS.exists(), reason="the definitions are not here"),
]
_IN_CEL = ACCEPTED[:3]
_NOT_SEEN = ACCEPTED[3:]


@pytest.fixture(scope="module")
def definitions() -> list[dict[str, Any]]:
    """Definitions of all custom kinds."""
    return [json.loads(path.read_text()) for path in sorted(DEFINITIONS.glob("*.json"))]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, definitions: list[dict[str, Any]]) -> Iterator[ApiServer]:
    """Return a server with all custom kinds."""
    try:
        with running(tmp_path_factory.mktemp("api-server")) as started:
            for each in definitions:
                started.define(each)
            yield started
    except Absent:
        pytest.skip("NOT RUN: Debian unstable has no packages of the API server now")


@pytest.fixture(scope="module")
def plurals(definitions: list[dict[str, Any]]) -> dict[str, str]:
    """Name of a kind in paths, by kind."""
    return {each["spec"]["names"]["kind"]: each["spec"]["names"]["plural"] for each in definitions}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("target", "serving"), FORMS)
def test_the_api_server_accepts_every_object(
    preset: str, target: str, serving: str, server: ApiServer, plurals: dict[str, str], tmp_path: Path
) -> None:
    files = exported(tmp_path, site_text(preset), Target(target), serving)
    custom = [each for each in objects(files) if not is_core(each)]
    assert custom
    answers = {
        f"{each['kind']} {each['metadata']['name']}": server.problem(each, plurals[each["kind"]]) for each in custom
    }
    assert {name: answer for name, answer in answers.items() if answer} == {}


@pytest.mark.parametrize(("kind", "path", "value"), [*REFUSED, *_IN_CEL])
def test_the_api_server_refuses_a_wrong_object(
    kind: str, path: str, value: object, good: dict[str, dict[str, Any]], server: ApiServer, plurals: dict[str, str]
) -> None:
    assert server.problem(good[kind], plurals[kind]) == ""
    assert server.problem(changed(good[kind], path, value), plurals[kind])


@pytest.mark.parametrize(("kind", "path", "value"), _NOT_SEEN)
def test_only_webhooks_and_controllers_can_refuse_these(
    kind: str, path: str, value: object, good: dict[str, dict[str, Any]], server: ApiServer, plurals: dict[str, str]
) -> None:
    assert server.problem(changed(good[kind], path, value), plurals[kind]) == ""
