"""Explains the decision for a request of a client, without sending or storing anything.

It runs the same stages as a real request: `access`, `quota.admission` on a copy of the usage, `planning`. The load of
servers is not queried, so the order is that of idle servers. The answer contains no text of the request.

    explain(settings, Path("request.json"), client="branch", path="/v1/chat/completions")
    # {"verdict": "leave", "upstreams": ["cloud", "chat"], "candidates": [{"name": ..., "reasons": [...]}, ...], ...}
"""

from __future__ import annotations

import asyncio
import difflib
import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError
from sovctl.support.secret_files import KEY_BYTES

from ..access.authenticator import principal_of
from ..access.clients import check_clients, load_all_clients
from ..access.principal import Method, Principal
from ..adapters import adapters_of
from ..detect import make_detector
from ..domain.errors import Code, Refused
from ..exchange.inspected import Inspected
from ..exchange.planned import Planned
from ..model_finders import load_models, load_screens
from ..model_finders.llm_review import wants
from ..pipeline.admission import Admission
from ..pipeline.planning import Planner, refusal_of
from ..policy.decision import Verdict
from ..quota.need import NANO
from ..quota.open_store import open_store
from ..quota.quota import Quota
from ..settings import Action, GatewaySettings
from ..settings.answers.tool_arguments import action_for
from ..surfaces import SURFACES, Surface
from ..telemetry.metrics import Metrics
from ..tokens.keys import TokenKeys
from ..upstream.server_choice import FINE

_MAX_PATH = 16  # keys of an argument

UNKNOWN_CLIENT = Principal("anyone", "", Method.API_KEY, "")
"""Principal without a client: no tenant that a policy names, no limits of its own."""


def explain(settings: GatewaySettings, request: Path, *, client: str | None = None, path: str) -> dict[str, Any]:
    """Return the decision for the request in a file, as plain values.

    Args:
        request: `-` for standard input.
        client: name of the client in the clients file; None: `UNKNOWN_CLIENT`.
        path: path of the request.

    Raises:
        InputError: the file, client or path does not exist, or the file contains no valid request for one of the
            routes.
    """
    try:
        raw = sys.stdin.buffer.read() if str(request) == "-" else request.read_bytes()
    except OSError as error:
        raise InputError(f"unreadable: {error.strerror}", where=str(request)) from error
    surface = _surface(path)
    body = _read(surface, raw, request)
    if settings.route(body["model"]) is None:
        models = ", ".join(route.model for route in settings.routes)
        raise InputError(f"unknown `model`; the models are {models}", where=str(request))
    caller = UNKNOWN_CLIENT if client is None else _caller(settings, client)
    return asyncio.run(_explain(settings, surface, caller, raw))


async def _explain(settings: GatewaySettings, surface: Surface, caller: Principal, raw: bytes) -> dict[str, Any]:
    planner = Planner(
        settings,
        keys=TokenKeys.derive(secrets.token_bytes(KEY_BYTES)),  # no token is issued, so the site's keys are not needed
        finder=make_detector(settings.detect),
        metrics=Metrics(),
        state=lambda _: FINE,
        model_finders=load_models(settings.detect),
        screens=load_screens(settings.detect),
    )
    store = await open_store(settings, is_trial=True)
    admission = Admission(settings, Quota(settings.quota, settings.access.teams, store))
    planned: Planned | None = None
    refused = field = None
    try:
        if not caller.may_use_surface(surface.family):
            return {**_who(caller), "refused": "surface_not_allowed"}
        headers = _no_headers(surface)
        request = planner.accept(surface, caller, raw, conversation_header=None, request_id="", headers=headers)
        planned = planner.plan(await planner.inspect(await admission.reserve(request)))
        if not planned.upstreams:
            refused = refusal_of(planned).code.value
    except Refused as error:
        refused, field = error.code.value, error.param
    finally:
        if store is not None:
            await store.close()
    told: dict[str, Any] = {**_who(caller), "refused": refused}
    if field is not None:
        told["field"] = field
    if planned is not None and planned.inspected.inspection is not None:
        told |= _found(settings, planned) | _decided(settings, planned) | _tools(planned)
    return told


def _who(caller: Principal) -> dict[str, Any]:
    return {"client": caller.name, "tenant": caller.tenant or None, "team": caller.team}


def _found(settings: GatewaySettings, planned: Planned) -> dict[str, Any]:
    request = planned.request
    inspection, permissions = planned.inspected.inspection, request.permissions
    assert inspection is not None
    table = settings.policy.table(settings.routes)
    rules = []
    for entity_type, rule in sorted(inspection.found):
        action = permissions.action_for(entity_type, rule)
        row = table.deciding(f"{entity_type}/{rule}", tenant=request.principal.tenant, route=request.route.model)
        by = row.where if permissions.has_cloud or action is Action.BLOCK else "a route without a cloud"
        rules.append({"entity": f"{entity_type}/{rule}", "action": action.value, "by": by})
    return {
        "entity_types": {entity_type.value: count for entity_type, count in sorted(inspection.counts.items())},
        "rules": rules,
        "looked_by": list(inspection.looked_by),
        "not_asked": _not_asked(settings, planned.inspected),
        "screens": {name: list(labels) for name, labels in inspection.screened.items()},
        "languages": sorted(inspection.languages),
        "obstacles": sorted(obstacle.value for obstacle in inspection.obstacles),
    }


def _not_asked(settings: GatewaySettings, inspected: Inspected) -> list[str]:
    """Return the models that would search names before the request leaves; `explain` calls none of them."""
    look = settings.detect.llm_review
    if look is None or not inspected.permit.verdict.may_leave:
        return []
    is_wanted = any(wants(look, text, found) for text, found in inspected.inspector.prose.items())
    return ["llm-review"] if is_wanted else []


_NO_OBJECTIONS = frozenset({"preferred", "weighted", "fallback-route"})


def _fallback_route(settings: GatewaySettings, planned: Planned, upstream: str) -> str | None:
    """Return the fallback route that provides an upstream; None for those of the route itself."""
    own = planned.request.route
    if upstream in own.upstreams:
        return None
    routes = [route for model in own.fallback_routes if (route := settings.route(model)) is not None]
    return planned.fallback_route(upstream) or next(each.model for each in routes if upstream in each.upstreams)


def _decided(settings: GatewaySettings, planned: Planned) -> dict[str, Any]:
    permit, admitted, prices = planned.inspected.permit, planned.inspected.admitted, settings.quota.prices
    own = planned.reasons[len(permit.reasons) :]
    candidates, adapters = [], adapters_of(settings.upstreams)
    route = planned.request.route
    weights = {each.name: each.weight for group in route.groups for each in group}
    for name in settings.reachable(route):
        upstream, fallback = settings.upstream(name), _fallback_route(settings, planned, name)
        about = {name} if fallback is None else {name, fallback}
        reasons = [reason.rpartition(":")[0] for reason in own if reason.partition(":")[2] in about]
        adapter = adapters.get((name, planned.request.surface.name))
        if permit.verdict is Verdict.BLOCK or not (permit.verdict.may_leave or upstream.kind.may_see_raw_text):
            reasons.append("policy")
        candidates.append(
            {
                "name": name,
                "kind": upstream.kind.value,
                "place": planned.upstreams.index(name) + 1 if name in planned.upstreams else None,
                "reasons": [reason for reason in reasons if reason not in _NO_OBJECTIONS],
                "adapter": adapter.description if adapter is not None else None,
                **({"weight": weights[name]} if name in weights else {}),
                **({"fallback_route": fallback} if fallback is not None else {}),
                "cost_at_most": _money(admitted.cost_nano.get(name)) if admitted.cost_nano else None,
            }
        )
    return {
        "verdict": permit.verdict.value,
        "reasons": list(planned.reasons),
        "upstreams": list(planned.upstreams),
        "candidates": candidates,
        "needs": sorted(need.value for need in planned.demand.needs),
        "tokens": planned.demand.tokens,
        "currency": prices.currency if prices is not None else None,
        "max_cost": _money(admitted.max_cost_nano),
        "budget": _money(admitted.budget_nano) if admitted.cost_nano else None,
        "shadow": planned.shadow.plain() if planned.shadow is not None else None,
    }


def _tools(planned: Planned) -> dict[str, Any]:
    """Return the actions for arguments of the tools that the request offers; nothing without tools."""
    rules, found = planned.request.route.tool_arguments, []
    offered = planned.inspected.admitted.body.get("tools")
    for each in offered if isinstance(offered, list) else ():
        tool = each.get("function", each) if isinstance(each, dict) else None
        name = tool.get("name", tool.get("type")) if isinstance(tool, dict) else None
        if isinstance(name, str):
            assert isinstance(tool, dict)
            paths = list(_argument_paths(tool.get("parameters", tool.get("input_schema")), ()))
            actions = {".".join(path): action_for(rules, name, path).value for path in paths or [()]}
            found.append({"tool": name, "arguments": actions})
    return {"tools": found} if found else {}


def _argument_paths(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        schema = schema["items"]
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(properties, dict) and properties and len(path) < _MAX_PATH:
        for key, inner in properties.items():
            yield from _argument_paths(inner, (*path, key))
    elif path:
        yield path


def in_words(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an explanation for a person."""
    whose = [f"tenant {told['tenant']}"] if told["tenant"] else []
    whose += [f"team {told['team']}"] if told["team"] else []
    yield _line("client", f"{told['client']} ({', '.join(whose)})" if whose else told["client"])
    yield _line("refused", told["refused"] or "no")
    if "verdict" not in told:
        return
    yield _line("verdict", told["verdict"])
    for name in ("reasons", "looked_by", "not_asked", "languages", "obstacles", "needs"):
        yield _line(name, ", ".join(told[name]) or "none")
    yield _line(
        "entity_types",
        ", ".join(f"{entity_type} {count}" for entity_type, count in told["entity_types"].items()) or "none",
    )
    for rule in told["rules"]:
        yield _line("", f"{rule['entity']}: {rule['action']}, by {rule['by']}")
    for name, labels in told["screens"].items():
        yield _line("", f"screen {name}: {', '.join(labels) or 'no flag'}")
    for each in told.get("tools", ()):
        for path, action in each["arguments"].items():
            yield _line("", f"tool {each['tool']}, {path or 'any argument'}: {action}")
    yield _line("tokens", f"about {told['tokens']}, prompt and answer")
    unit = told["currency"]
    for name, about in (
        ("max_cost", "the route allows a request"),
        ("budget", "reserved from the principal's budgets"),
    ):
        if told[name] is not None:
            yield _line(name, f"{told[name]:.6f} {unit}, {about}")
    if (shadow := told["shadow"]) is not None:
        would = f"{shadow['complexity']} ({shadow['points']} points), would have used {shadow['upstream']} first"
        yield _line("shadow", would)
    for each in sorted(told["candidates"], key=lambda each: each["place"] or len(told["candidates"]) + 1):
        place = f"{each['place']}." if each["place"] else "not"
        cost = f"at most {each['cost_at_most']:.6f} {unit}" if each["cost_at_most"] is not None else ""
        why = ", ".join(each["reasons"])
        said = "; ".join(filter(None, (each["adapter"], cost, why)))
        yield f"  {place:<4}{each['name']:<24}{each['kind']:<7}{said}".rstrip()


def _line(name: str, value: str) -> str:
    return f"{name + ':' if name else '':<14}{value}"


def _money(nano: int | None) -> float | None:
    return None if nano is None else nano / NANO


def _surface(path: str) -> Surface:
    surface = SURFACES.get(path)
    if surface is None or surface.is_upload or surface.is_socket:
        known = [each for each, one in SURFACES.items() if not (one.is_upload or one.is_socket)]
        near = difflib.get_close_matches(path, known, n=1)
        message = f"expected one of {', '.join(known)}, got {path}"
        raise InputError(message, where="--path", hint=f"did you mean {near[0]}?" if near else "")
    return surface


def _read(surface: Surface, raw: bytes, request: Path) -> dict[str, Any]:
    try:
        body = surface.read(raw, _no_headers(surface))
        if isinstance(body, dict):
            surface.check(body)
            return body
        got = "no object"
    except Refused as refused:
        wrong = f": `{refused.param}` is absent or invalid" if refused.param is not None else ""
        got = f"{refused.code.value}{wrong}"
        try:
            json.loads(raw)
        except ValueError as error:  # the position of the error, without the text
            place = f": line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            got = f"no JSON{place}" if refused.code is Code.INVALID_JSON else got
    raise InputError(f"not a request of this API: {got}", where=str(request))


def _no_headers(surface: Surface) -> dict[str, str]:
    return dict.fromkeys(surface.client_headers, "")


def _caller(settings: GatewaySettings, name: str) -> Principal:
    clients = load_all_clients(settings)
    check_clients(clients, settings, where=str(settings.clients_file))
    for client in clients:
        if client.name == name:
            return principal_of(client, settings.access.teams, method=Method.API_KEY, key_id="")
    names = [client.name for client in clients]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    raise InputError(f"no client {name} in this gateway", where="--client", hint=hint)
