"""Flags of `vllm serve` that are not fields of a pool: flags that sovctl sets itself, and flags that it refuses.

Together with the fields of the sections these tables contain every flag of vLLM 0.32.0; a test compares them with
`engine/catalog/serve_flags.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping

SET_BY_SOVCTL: Mapping[str, str] = {
    "model": "`pools[].model`",
    "served-model-name": "`pools[].model`",
    "config": "the pool's file of flags on the node",
    "host": "`node_groups[].nodes[].address`",
    "headless": "`pools[].pipeline_parallel_size` and `pools[].nodes_per_stage`",
    "nnodes": "`pools[].pipeline_parallel_size` and `pools[].nodes_per_stage`",
    "node-rank": "`pools[].pipeline_parallel_size` and `pools[].nodes_per_stage`",
    "master-addr": "`node_groups[].nodes[].address`",
    "master-port": "the ports of the other replicas",
    "data-parallel-start-rank": "`pools[].data_parallel_size` and `pools[].nodes_per_stage`",
    "data-parallel-size-local": "`pools[].data_parallel_size` and `pools[].nodes_per_stage`",
    "data-parallel-address": "`node_groups[].nodes[].address`",
    "data-parallel-rpc-port": "the ports of the other replicas",
    "data-parallel-hybrid-lb": "`pools[].data_parallel_size` and `pools[].nodes_per_stage`",
    "device-ids": "`pools[].gpus`",
    "enable-lora": "`pools[].lora`",
    "lora-modules": "`pools[].lora.adapters`",
    "ssl-certfile": "the node's certificate",
    "ssl-keyfile": "the node's key",
    "ssl-ca-certs": "the site's certificate authority",
    "ssl-cert-reqs": "the site's certificate authority; a client certificate is required",
    "allowed-media-domains": "`gateway.routes[].media_hosts`",
    "disable-uvicorn-access-log": "`gateway`, whose audit log records every request",
    "disable-fastapi-docs": "the rule that a pool has no pages",
    "uds": "`pools[].swap_group`",
    "enable-sleep-mode": "`pools[].swap_group`",
    "shutdown-timeout": "the stop timeout of the unit",
    "middleware": "the routes that the gateway uses",
}
"""Flags by name, with the source of their value."""

_CODE = "it loads code that no lock contains"
_REQUEST = "it lets a request name files, hosts, templates, options or tensors"
_TEXTS = "it writes texts of requests or answers to a log"
_ACCESS = "only the gateway connects to a pool, with a client certificate"
_DEVELOPMENT = "it is for development, and opens endpoints or files that production must not have"
_NETWORK = "it opens connections that the firewall drops"
_MIRROR = "weights, configuration and tokenizer come from the model's folder, verified by its manifest"
_RANKS = "sovctl starts and numbers the ranks of a pool itself"
_ALIAS = "it repeats another field"
_GONE = "it has no effect in vLLM 0.32.0, and ends with 0.33.0"
_PICKLE = "it applies only to weights that execute code while they are read"

REFUSED: Mapping[str, str] = {
    "trust-remote-code": _CODE,
    "tool-parser-plugin": _CODE,
    "reasoning-parser-plugin": _CODE,
    "io-processor-plugin": _CODE,
    "logits-processors": _CODE,
    "worker-cls": _CODE,
    "worker-extension-cls": _CODE,
    "scheduler-cls": _CODE,
    "model-class-overrides": _CODE,
    "ec-manager-config": _CODE,
    "pt-load-map-location": _PICKLE,
    "trust-request-chat-template": _REQUEST,
    "trust-request-mm-kwargs": _REQUEST,
    "enable-prompt-embeds": _REQUEST,
    "enable-mm-embeds": _REQUEST,
    "interleave-mm-strings": _REQUEST,
    "allowed-local-media-path": _REQUEST,
    "tool-server": _REQUEST,
    "tokens-only": _REQUEST,
    "enable-log-requests": _TEXTS,
    "enable-log-outputs": _TEXTS,
    "enable-log-deltas": _TEXTS,
    "max-log-len": _TEXTS,
    "log-error-stack": _TEXTS,
    "logging-config": _TEXTS,
    "log-config-file": _TEXTS,
    "api-key": _ACCESS,
    "allowed-origins": _ACCESS,
    "allowed-methods": _ACCESS,
    "allowed-headers": _ACCESS,
    "allow-credentials": _ACCESS,
    "ssl-ciphers": _ACCESS,
    "enable-ssl-refresh": _ACCESS,
    "disable-access-log-for-endpoints": _ACCESS,
    "root-path": _ACCESS,
    "grpc": _ACCESS,
    "grpc-port": _ACCESS,
    "sleep-mode-offload-cudagraph": _DEVELOPMENT,
    "sleep-preserve-parameter-names": _DEVELOPMENT,
    "enable-cumem-allocator": _DEVELOPMENT,
    "enable-tokenizer-info-endpoint": _DEVELOPMENT,
    "enable-offline-docs": _DEVELOPMENT,
    "enable-trace-replay": _DEVELOPMENT,
    "enable-return-routed-experts": _DEVELOPMENT,
    "enable-layerwise-nvtx-tracing": _DEVELOPMENT,
    "ray-workers-use-nsight": _DEVELOPMENT,
    "profiler-config": _DEVELOPMENT,
    "aux-output-config": _DEVELOPMENT,
    "weight-transfer-config": _DEVELOPMENT,
    "fingerprint-value": _DEVELOPMENT,
    "mm-encoder-fp8-scale-path": _MIRROR,
    "mm-encoder-fp8-scale-save-path": _DEVELOPMENT,
    "otlp-traces-endpoint": _NETWORK + "; the gateway exports traces",
    "collect-detailed-traces": _NETWORK + "; the gateway exports traces",
    "kv-transfer-config": _NETWORK + "; use `prefill`, for main memory `cache.kv_offloading_size`",
    "kv-events-config": _NETWORK,
    "ec-transfer-config": _NETWORK,
    "enable-scale-out": _NETWORK,
    "hf-token": _MIRROR,
    "hf-config-path": _MIRROR,
    "tokenizer": _MIRROR,
    "revision": _MIRROR,
    "code-revision": _MIRROR,
    "tokenizer-revision": _MIRROR,
    "download-dir": _MIRROR,
    "distributed-executor-backend": _RANKS,
    "data-parallel-rank": _RANKS,
    "data-parallel-backend": _RANKS,
    "data-parallel-external-lb": _RANKS,
    "data-parallel-multi-port-external-lb": _RANKS,
    "data-parallel-supervisor-port": _RANKS,
    "dp-supervisor-probe-interval-s": _RANKS,
    "dp-supervisor-probe-timeout-s": _RANKS,
    "dp-supervisor-probe-failure-threshold": _RANKS,
    "enable-elastic-ep": _RANKS,
    "elastic-ep-max-dp-size": _RANKS,
    "enable-fault-tolerance": _RANKS,
    "fault-tolerance-config": _RANKS,
    "default-mm-loras": _RANKS + "; name adapters in routes",
    "spec-method": _ALIAS + ", `speculative_config.method`",
    "spec-model": _ALIAS + ", `speculative_config.model`",
    "spec-tokens": _ALIAS + ", `speculative_config.num_speculative_tokens`",
    "disable-cascade-attn": _GONE,
}
"""Flags by name, with the reason."""
