"""Says where a request would go and why, without sending or storing anything.

    explain(settings, Path("request.json"))
    # {"verdict": "leave", "reasons": ["tokenized:IBAN", ...], "upstreams": ["sovereign-cloud", "chat"], ...}

No text of the request is in the answer.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson

from sovctl.compliance.errors import InputError
from sovctl.gateway.detect import make_detector
from sovctl.gateway.inspection import Inspector
from sovctl.gateway.leaves import TooDeep
from sovctl.gateway.permissions import Policy
from sovctl.gateway.policy import decide
from sovctl.gateway.routing.demand import demand_of
from sovctl.gateway.routing.plan import candidates_of, plan_route
from sovctl.gateway.routing.servers import State
from sovctl.gateway.settings import GatewaySettings
from sovctl.gateway.slow_finders import load_models, look_closer
from sovctl.gateway.slow_finders.second_look import wants
from sovctl.gateway.surfaces import SURFACES


def explain(settings: GatewaySettings, request: Path) -> dict[str, Any]:
    """The decision for the request in a file, as plain values.

    Raises:
        InputError: the file holds no request for one of the routes.
    """
    try:
        raw = request.read_bytes()
    except OSError as error:
        raise InputError(f"expected a readable file, got: {error.strerror}", where=str(request)) from error
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError("expected JSON, got a syntax error", where=str(request)) from error
    route = settings.route(body["model"]) if isinstance(body, dict) and isinstance(body.get("model"), str) else None
    if route is None:
        models = ", ".join(route.model for route in settings.routes)
        raise InputError(f"expected `model` to be one of {models}, got another or none", where=str(request))
    surface = SURFACES["/v1/chat/completions"]
    try:
        inspector = Inspector(make_detector(settings.detect), surface, max_depth=settings.limits.max_depth)
        inspection = inspector.inspect(body)
    except TooDeep:
        raise InputError(
            f"expected at most {settings.limits.max_depth} levels of nesting, got more", where=str(request)
        ) from None
    permissions = Policy.compile(settings.policy, settings.routes, settings.upstreams).of("", route.model)
    permit = decide(inspection, permissions)
    if own := load_models(settings.detect):
        looked = asyncio.run(look_closer(own, inspector, inspection, permissions, permit, tenant=""))
        inspection, permit = looked.inspection, looked.permit
    not_asked = []
    if (look := settings.detect.second_look) is not None and permit.verdict.may_leave:
        not_asked = ["second-look"] * any(wants(look, text, found) for text, found in inspector.prose.items())
    demand = demand_of(
        body,
        family=surface.family,
        body_bytes=len(raw),
        max_answer_tokens=surface.max_answer_tokens(body),
        obstacles=inspection.obstacles,
    )
    plan = plan_route(
        permit,
        candidates_of(settings)[route.model],
        demand,
        clouds=permissions.clouds,
        state=lambda _: State(),
    )
    return {
        "verdict": permit.verdict.value,
        "upstreams": list(plan.upstreams),
        "reasons": list(plan.reasons),
        "kinds": {kind.value: count for kind, count in sorted(inspection.counts.items())},
        "languages": sorted(inspection.languages),
        "obstacles": sorted(obstacle.value for obstacle in inspection.obstacles),
        **({"looked_by": list(inspection.looked_by)} if own else {}),
        **({"not_asked": not_asked} if not_asked else {}),
    }
