"""ASGI middleware of `vllm serve`: answers 404 on each route that the variable SOVCTL_ROUTES does not name.

vllm serve MODEL --middleware sovctl_routes.ServedRoutes, with this folder in PYTHONPATH. The server does not start
without the variable. The whole path that the router uses must be equal to a route.
"""

from __future__ import annotations

import os
from typing import Any


class ServedRoutes:
    """Passes requests of served routes to the application."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.routes = frozenset(os.environ["SOVCTL_ROUTES"].split(","))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        kind = scope["type"]
        if kind == "lifespan" or (not scope.get("root_path") and scope["path"] in self.routes):
            await self.app(scope, receive, send)
        elif kind == "http":
            headers = [(b"content-type", b"application/json"), (b"content-length", b"22")]
            await send({"type": "http.response.start", "status": 404, "headers": headers})
            await send({"type": "http.response.body", "body": b'{"detail":"Not Found"}'})
        else:  # a WebSocket: the server answers 403
            await send({"type": "websocket.close", "code": 1008})
