"""pool.development-routes-closed: the port of a pool answers 404 on routes that control its server.

`VLLM_SERVER_DEV_MODE=1`, which sleep mode requires, opens routes that call any method of a worker and replace weights.
vLLM 0.32.0 has more of such routes without it, and pages. The proxy of a swap group passes none of them, and the
middleware of other vLLM pools (`roles/pool/files/sovctl_routes.py`) answers 404 before the router. Pools of other
engines are asked for the routes of the development mode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ....resources.credential import TLS
from ....resources.serving.names import instance
from ....resources.serving.routes import served_routes
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ...probes.mutual_tls import CONTROL_PATH
from ._replicas import Expected as Replica
from ._replicas import heads_on
from ._vllm_process import is_vllm

DEVELOPMENT = (
    "/abort_requests",
    "/collective_rpc",
    "/finish_weight_update",
    "/get_world_size",
    "/init_weight_transfer_engine",
    "/is_paused",
    "/is_sleeping",
    "/pause",
    "/release_kv_cache_memory",
    "/reset_encoder_cache",
    "/reset_mm_cache",
    "/reset_prefix_cache",
    "/resume",
    "/server_info",
    "/sleep",
    "/start_weight_update",
    "/update_weights",
    "/wake_up",
    "/weight_checker",
    "/weight_info",
)
"""Routes of the development mode. Source: vLLM 0.32.0, entrypoints/serve/dev and entrypoints/rl."""
ALWAYS_ROUTED = (
    "/detokenize",
    "/generative_scoring",
    "/inference/v1/generate",
    "/invocations",
    "/is_scaling_elastic_ep",
    "/kv_event_sources",
    "/load",
    "/scale_elastic_ep",
    "/start_profile",
    "/stop_profile",
    "/tokenizer_info",
    "/v1/load_lora_adapter",
    "/v1/unload_lora_adapter",
)
"""Further routes that the proxy does not pass; vLLM 0.32.0 has some of them without the development mode."""
OTHERS = (
    "/classify",
    "/docs",
    "/openapi.json",
    "/ping",
    "/pooling",
    "/redoc",
    "/rerank",
    "/score",
    "/v1/chat/completions/render",
    "/v1/completions/render",
    "/v2/embed",
)
"""Pages, and second names of routes. Source: vLLM 0.32.0, docs/usage/security.md and its router."""
ABSENT = "http 404"


@dataclass(frozen=True, kw_only=True)
class Expected(Replica):
    """One replica, and the routes that its port must not have."""

    routes: tuple[str, ...] = ()


class DevelopmentRoutesClosed(Check[Expected]):
    id, version, method = "pool.development-routes-closed", 2, Method.TEST
    title = "the port of a pool answers 404 on routes that control its server"
    controls = ("ac-3", "ac-6", "cm-7")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`; stop the server if a route stays open"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica whose first rank is on the node."""
        context = site.context
        pools = {instance(each): context.pool(each.pool) for each in context.replicas}
        for each in heads_on(site, node):
            pool = pools[each.subject]
            routes: tuple[str, ...] = DEVELOPMENT
            if pool.swap_group is not None:
                routes = (*DEVELOPMENT, *ALWAYS_ROUTED)
            elif is_vllm(each):
                served = served_routes(context, pool)
                routes = tuple(each for each in (*DEVELOPMENT, *ALWAYS_ROUTED, *OTHERS) if each not in served)
            yield Expected(**{**each.__dict__, "routes": routes})

    def probe(self, expected: Expected) -> Probe:
        """Request each route with the node's certificate."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        address, port = expected.address, str(expected.port)
        command = python_command("server_routes", address, port, *identity, CONTROL_PATH, *expected.routes)
        return Probe({"routes": command}, timeout_s=180)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the port answers, and answers 404 on each route; a route with another method gets 405."""
        responses = _responses(parse_sections(output).text("routes"))
        control = responses.get(CONTROL_PATH, "none")
        if control != "http 200":
            return unknown(f"status 200 from {CONTROL_PATH}", excerpt(control))
        findings = []
        for route in expected.routes:
            response = responses.get(route, "none")
            if response != ABSENT:
                verdict = failed if response.startswith("http ") else unknown
                findings.append(verdict(f"404 from {route}", excerpt(response)))
        return worst(findings, otherwise=f"expected 404 from {len(expected.routes)} routes, got 404 from all")


def _responses(text: str) -> Mapping[str, str]:
    """Return the response by path, from the lines of `probes/scripts/server_routes.py`.

    Raises:
        Unreadable: a line has another form, or a path occurs twice.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        try:
            row = json.loads(line)
            path, answer = str(row["path"]), str(row["answer"])
        except (*MALFORMED, KeyError, TypeError):
            raise Unreadable("a path and its answer", line, where="server_routes") from None
        if path in found:
            raise Unreadable("each path once", line, where="server_routes")
        found[path] = answer
    return found
