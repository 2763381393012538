"""Routes of a pool: those that the gateway requests, and the middleware that closes the others."""

from __future__ import annotations

import importlib.util
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import pytest
from strategies import context

from sovctl.engine.resources.context import ROLES
from sovctl.engine.resources.serving.routes import BY_SURFACE, OPERATION, VARIABLE, served_routes
from sovctl.gateway.surfaces import SURFACES

Message = MutableMapping[str, Any]


def test_the_table_has_the_paths_that_the_gateway_requests_from_a_pool() -> None:
    paths = {each.path for each in SURFACES.values()} - {"models"}
    requested = {f"/{path[3:]}" if path.startswith("../") else f"/v1/{path}" for path in paths}
    assert {route for routes in BY_SURFACE.values() for route in routes} == requested


def test_a_pool_answers_the_routes_of_its_role_only() -> None:
    made = context("lab")
    routes = served_routes(made, made.spec.pools[0])
    assert set(OPERATION) < set(routes)
    assert "/v1/chat/completions" in routes
    assert not {"/invocations", "/v1/embeddings", "/v1/audio/transcriptions", "/scale_elastic_ep"} & set(routes)


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("sovctl_routes", ROLES / "pool" / "files" / "sovctl_routes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _middleware(
    monkeypatch: pytest.MonkeyPatch, routes: str = "/health,/v1/models"
) -> Callable[[Message], list[Message]]:
    monkeypatch.setenv(VARIABLE, routes)
    module = _module()

    async def application(_scope: Message, _receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        await send({"type": "served"})

    served = module.ServedRoutes(application)

    def ask(scope: Message) -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def run() -> None:
            await served(scope, None, send)

        anyio.run(run)
        return sent

    return ask


@pytest.mark.parametrize("path", ["/health", "/v1/models"])
def test_a_served_route_reaches_the_application(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _middleware(monkeypatch)({"type": "http", "path": path}) == [{"type": "served"}]


@pytest.mark.parametrize(
    "path", ["/invocations", "/health/", "/Health", "//health", "/v1", "/v1/models/x", "/health/../pause", "", "*"]
)
def test_another_path_is_answered_404(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, body = _middleware(monkeypatch)({"type": "http", "path": path})
    assert start["status"] == 404
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()


def test_a_root_path_and_a_websocket_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = _middleware(monkeypatch)
    assert ask({"type": "http", "path": "/health", "root_path": "/x"})[0]["status"] == 404
    assert ask({"type": "websocket", "path": "/v1/realtime"}) == [{"type": "websocket.close", "code": 1008}]
    assert ask({"type": "lifespan"}) == [{"type": "served"}]


def test_a_websocket_of_a_served_route_reaches_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = _middleware(monkeypatch, "/health,/v1/realtime")
    assert ask({"type": "websocket", "path": "/v1/realtime"}) == [{"type": "served"}]
    assert ask({"type": "websocket", "path": "/v1/realtime/"}) == [{"type": "websocket.close", "code": 1008}]


def test_without_its_variable_the_server_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    module = _module()
    with pytest.raises(KeyError, match=VARIABLE):
        module.ServedRoutes(None)
