"""Routes that the API server of a vLLM pool answers: those that its gateway and the checks of its node use.

    served_routes(context, pool)     # ("/detokenize", "/health", "/metrics", "/tokenize", "/v1/chat/completions", ...)

vLLM 0.32.0 has further routes without a key, some of which scale the engine or generate text. `roles/pool/files/
sovctl_routes.py` answers 404 on each route that is not in the variable `SOVCTL_ROUTES`. The proxies of other engines
and of swap groups have tables of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...spec import Pool
from ..context import Context

PROGRAM = "/usr/local/lib/sovctl/sovctl_routes.py"
"""Middleware on the node; the variable PYTHONPATH of the server has its folder."""
MIDDLEWARE = "sovctl_routes.ServedRoutes"
VARIABLE = "SOVCTL_ROUTES"

OPERATION: Mapping[str, str] = {
    "/health": "state of the engine, for the gateway and the checks",
    "/metrics": "load of the server, for the gateway and Prometheus",
    "/version": "version that runs, for the checks",
    "/v1/models": "models and their settings, for the gateway and the checks",
}
"""Routes of every pool, with their users."""
BY_SURFACE: Mapping[str, tuple[str, ...]] = {
    "chat.completions": ("/v1/chat/completions",),
    "chat.completions.batch": ("/v1/chat/completions/batch",),
    "completions": ("/v1/completions",),
    "responses": ("/v1/responses",),
    "messages": ("/v1/messages", "/v1/messages/count_tokens"),
    "embeddings": ("/v1/embeddings",),
    "rerank": ("/v1/rerank",),
    "score": ("/v1/score",),
    "audio.transcriptions": ("/v1/audio/transcriptions",),
    "audio.translations": ("/v1/audio/translations",),
    "realtime": ("/v1/realtime",),
    "tokenize": ("/tokenize", "/detokenize"),
}
"""Routes that the gateway requests from a pool, by the name of the client API (gateway/surfaces)."""


def served_routes(context: Context, pool: Pool) -> tuple[str, ...]:
    """Return the routes of the servers of a pool, sorted."""
    role = context.models[context.model(pool.model).catalog].role
    roles = ("chat", "embedding", "reranker") if pool.pooling.runner == "pooling" else (role,)
    surfaces = [surface for each in roles for surface in context.engine.surfaces[each]]
    surfaces += ["realtime"] if pool.realtime else []
    return tuple(sorted({*OPERATION, *(route for surface in surfaces for route in BY_SURFACE[surface])}))
