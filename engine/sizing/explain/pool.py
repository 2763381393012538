"""Derivation of one pool's sizing: for each step the formula, inputs, result, and the difference to a common rule.

    for step in explain(size_pool(case)):
        print(step.title, step.formula, step.result, step.instead)

Bytes are printed in GB (10^9) and GiB (2^30), because product labels use GB for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isfinite

from ...catalog.mig import MIN_VISIBLE_FRACTION, SOURCE, slices_of
from ...spec.types import AUTO
from ...spec.workload import WorkloadClass
from ..demand.classes import ClassDemand
from ..demand.pool_demand import PoolDemand
from ..demand.reserve import growth_factor
from ..memory.gpu_memory import Edge
from ..memory.kv_cache import AttentionSpan, LayerGroup
from ..memory.lora_adapters import adapter_bytes
from ..memory.weights import ONLY_EXPERTS, Precision
from ..performance.capacity import Limit, Performance
from ..pool.layouts import best_layout, pool_layouts
from ..pool.pool import PoolSizing
from ..pool.server import Server
from .power import power
from .replicas import growth, replicas, start
from .step import Step, both_units, seconds
from .times import at_the_limit, disaggregated_prefill, one_request


def explain(sized: PoolSizing) -> Iterator[Step]:
    """Yield the steps; a pool that could not be sized has fewer."""
    demand, server = sized.case.demand, sized.server
    if demand is not None:
        more = growth_factor(sized.case.reserve)
        yield from (_demand(each, place, more) for each, place in zip(demand.classes, sized.case.workload, strict=True))
    if server is None:
        return
    yield from _slice(sized)
    yield _weights(server)
    yield from _experts(server)
    yield from _adapters(server)
    yield _memory(server)
    yield from (_token(server), _sessions(server, demand)) if server.kv_cache.is_kept else (_encoder(server),)
    if demand is None or sized.performance is None or sized.limit is None:
        return
    yield _layouts(sized, demand)
    yield one_request(sized.performance, demand)
    yield at_the_limit(f"{sized.provenance}: {sized.provenance_words}", sized.performance, sized.limit, demand)
    yield from disaggregated_prefill(sized, sized.performance, sized.limit, demand)
    if sized.need is None:
        return
    yield _in_flight(sized, sized.performance, sized.limit, demand)
    yield replicas(sized)
    yield from growth(sized)
    yield start(sized, server)
    yield power(sized, sized.limit)


def _demand(each: ClassDemand, place: tuple[int, WorkloadClass], more: float) -> Step:
    users = place[1].users
    online = f"{users:,} users x {each.active_users / users / more * 100:g} % at work x growth {more:.3g}"
    if each.calls_per_user_s is not None:
        formula = "users at work x calls per second and user x peak factor"
        result = f"{each.rate_per_s(1.0):,.2f} calls/s"
        how = f"{each.calls_per_user_s * 3600:,.1f} calls per user and hour"
    elif each.think_time_s is not None:
        formula = "users at work x peak factor / (think time + time of an answer)"
        result = f"at most {each.rate_per_s(0.0) if each.think_time_s else float('inf'):,.2f} calls/s"
        how = f"think time {each.think_time_s:,.0f} s"
    else:
        formula = "users at work x fraction in flight x peak factor"
        result = f"{each.in_flight(1.0):,.1f} calls in flight"
        how = f"{(each.in_flight_share or 0) * 100:,.1f} % in flight"
    return Step(
        f"demand of {each.name} ({each.kind}; workload[{place[0]}])",
        formula,
        (
            f"{online} = {each.active_users:,.0f} users at work",
            how if each.rule_of_thumb is None else f"{how}, the rule of thumb `{each.rule_of_thumb}`",
            f"peak factor {each.peak_factor:g}",
            f"prompt {each.input_tokens.mean:,.0f} tokens (95th percentile {each.input_tokens.p95:,.0f})",
            f"answer {each.output_tokens.mean:,.0f} tokens (95th percentile {each.output_tokens.p95:,.0f})",
        ),
        result,
    )


def _weights(server: Server) -> Step:
    weights = server.weights
    # With expert parallelism each expert is on one GPU, so it is padded once.
    gpus_per_expert = 1 if server.enable_expert_parallel else server.tensor_parallel_size
    total = weights.total_bytes(tensor_parallel_size=gpus_per_expert)
    stored = weights.total_parameters - weights.bf16_parameters
    padding = weights.padding(gpus_per_expert)
    if server.precision is Precision.MXFP4_FP8:
        held = (
            f"{stored / 1e9:,.2f} x 10^9 in {server.precision.value}, experts {server.precision.bytes_per_weight:.4f} B"
        )
        held += " each, other weights 1 B plus scales"
    else:
        held = f"{stored / 1e9:,.2f} x 10^9 in {server.precision.value}, {server.precision.bytes_per_weight:.4f} B each"
    plain_bytes = {"bf16": 2.0, "fp8": 1.0, "int8": 1.0}.get(server.precision.value, 0.5)
    plain = weights.total_parameters * plain_bytes
    return Step(
        "weights",
        "parameters x bytes including scales; embeddings and output layer in bf16; padding of kernels",
        (
            f"{weights.total_parameters / 1e9:,.2f} x 10^9 parameters ({server.model.id})",
            held + (f", padded to {padding:.3f} times the size" if padding > 1 else ""),
            f"{weights.bf16_parameters / 1e9:,.2f} x 10^9 always in bf16, 2 B each: "
            + ("all but experts" if server.precision in ONLY_EXPERTS else "embeddings and output layer"),
        ),
        f"{both_units(total)} for one replica",
        ""
        if abs(total / plain - 1) < 0.01
        else f"the common rule (parameters x {plain_bytes:g} B) gives {both_units(plain)}, sovctl computes "
        f"{both_units(total)} because of scales, padding and weights in bf16",
    )


def _slice(sized: PoolSizing) -> Iterator[Step]:
    profile, gpu = sized.case.mig, sized.case.gpu
    if profile is None:
        return
    mig = slices_of(sized.case.platform.gpu or "")[profile]
    yield Step(
        "one MIG slice",
        f"fraction of memory and bandwidth x GPU; at least {MIN_VISIBLE_FRACTION:g} of that memory is usable",
        (
            f"{profile}: {mig.instances} on one GPU, {sized.case.platform.gpus} on one node",
            f"memory {mig.memory[0]}/{mig.memory[1]}, multiprocessors {mig.compute[0]}/{mig.compute[1]}",
            f"{mig.kind}: {SOURCE}, {mig.date}",
            f"{gpu.memory_bandwidth_gb_s:,.0f} GB/s, {gpu.dense_tflops.bf16:,.0f} TFLOP/s bf16",
        ),
        f"{gpu.usable_mib or 0:,} MiB; one server per slice, because slices have neither NVLink nor peer-to-peer",
        "times are modelled for a GPU of that size; no slice was measured",
    )


def _experts(server: Server) -> Iterator[Step]:
    if not server.enable_expert_parallel:
        return
    count = server.model.arch.moe.experts if server.model.arch.moe else 0
    ranks, tensor_parallel_size = server.data_parallel_size, server.tensor_parallel_size
    gpus = ranks * tensor_parallel_size
    experts = server.weights.expert_bytes()
    rest = server.weights.total_bytes() - experts
    division = f"complete on each of {ranks} GPUs" if ranks > 1 else f"divided by {tensor_parallel_size}"
    yield Step(
        "expert parallelism",
        "experts / (TP x DP) + other weights / TP on each GPU; two exchanges of tokens per layer",
        (
            f"{count} experts {both_units(experts)}, {count // gpus} per layer on each of {gpus} GPUs",
            f"other weights {both_units(rest)}, {division}",
            f"KV cache: {ranks} caches, each for its own requests"
            if ranks > 1
            else "KV cache as without expert parallelism",
            "assumes equal load of experts on all GPUs; max_num_seqs applies per GPU"
            if ranks > 1
            else "assumes equal load of experts on all GPUs; times as with tensor parallelism",
        ),
        f"{both_units(server.memory().weights_bytes)} per GPU; times are modelled, few measurements exist",
    )


def _adapters(server: Server) -> Iterator[Step]:
    memory = server.memory()
    if not server.max_loras:
        return
    one = memory.adapters_bytes / server.max_loras
    alone = adapter_bytes(server.weights, server.max_lora_rank)
    tensor_parallel_size = server.tensor_parallel_size
    yield Step(
        "LoRA adapters on one GPU",
        "max_loras x max_lora_rank x (inputs + outputs of every linear layer; TP divides one of the two)",
        (
            f"max_loras {server.max_loras}, max_lora_rank {server.max_lora_rank}, bf16",
            f"one adapter {both_units(one)} per GPU (TP {tensor_parallel_size}), {both_units(alone)} on a single GPU",
        ),
        f"{both_units(memory.adapters_bytes)}; their effect on times is not modelled",
        f"the common rule (adapter file / TP) gives at most {both_units(alone / tensor_parallel_size)} each, "
        f"sovctl computes {both_units(one)} because vLLM allocates every layer and divides one of the two matrices"
        if tensor_parallel_size > 1
        else "",
    )


def _memory(server: Server) -> Step:
    memory = server.memory()
    label = server.gpu.memory_label_gb
    sizes = f"TP {server.tensor_parallel_size}, PP {server.pipeline_parallel_size}"
    sizes += f", DP {server.data_parallel_size}" if server.data_parallel_size > 1 else ""
    inputs: tuple[str, ...] = (
        f"{server.gpu.id}: label {label} GB, usable {both_units(memory.usable_bytes)}",
        f"gpu_memory_utilization {memory.utilization:g}: {both_units(memory.budget_bytes)}",
        f"weights {both_units(memory.weights_bytes)} ({sizes})",
        f"vLLM {server.engine_version} overhead {both_units(memory.overhead_bytes)} (highest of the nearest version)",
    )
    if server.max_loras:
        inputs = (*inputs, f"LoRA adapters {both_units(memory.adapters_bytes)}")
    is_kept = server.kv_cache.is_kept
    left = server.kv_bytes() if is_kept else max(0.0, memory.kv_bytes)
    common = memory.usable_bytes - 1.2 * memory.weights_bytes
    note = f"the common rule (weights x 1.2) leaves {both_units(common)}, sovctl computes {both_units(left)} because "
    note += "vLLM reserves a fraction of the GPU, and its overhead is a measured amount instead of 20 % of the weights"
    if server.kv_cache_memory_bytes is not None:
        note = "set by kv_cache_memory_bytes in site.yaml"
    return Step(
        "memory of one GPU",
        "usable x utilization - weights - vLLM overhead" + (" - adapters" if server.max_loras else ""),
        inputs,
        f"{both_units(left)} {'for KV cache' if is_kept else 'free, no KV cache'}",
        note,
    )


def _token(server: Server) -> Step:
    arch, tensor_parallel_size, pipeline_parallel_size = (
        server.model.arch,
        server.tensor_parallel_size,
        server.pipeline_parallel_size,
    )
    all_layers = server.kv_cache.token_bytes(
        tensor_parallel_size=tensor_parallel_size, kv_cache_dtype_bytes=server.kv_cache_dtype_bytes
    )
    held = server.kv_cache.token_bytes(
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        kv_cache_dtype_bytes=server.kv_cache_dtype_bytes,
    )
    inputs = tuple(
        f"{group.layers} layers ({group.span.value}"
        + (
            f" of {group.window:,} {'positions' if group.span is AttentionSpan.FIXED else 'tokens'}"
            if group.window
            else ""
        )
        + f"): {_entry(group, tensor_parallel_size)}"
        for group in server.kv_cache.groups
    )
    note = ""
    if arch.layers and arch.hidden:
        hidden = 2 * arch.layers * arch.hidden * server.kv_cache_dtype_bytes
        note = (
            f"the common rule (2 x layers x hidden size) gives {both_units(hidden)} for all GPUs, sovctl computes "
            f"{both_units(all_layers * tensor_parallel_size)} because {_why_less(server)}"
        )
    return Step(
        "KV cache of one token",
        "sum over layers of values per head x heads on a GPU x bytes",
        (*inputs, f"{server.kv_cache_dtype_bytes:g} B each"),
        f"{both_units(held)} on each GPU (TP {tensor_parallel_size}, PP {pipeline_parallel_size})",
        note,
    )


def _entry(group: LayerGroup, tensor_parallel_size: int) -> str:
    """Return what one layer of a group stores for a token or session, as text."""
    if group.span is AttentionSpan.STATE:
        return f"one state per session, {both_units(group.rank_bytes(tensor_parallel_size, 1))} on each GPU"
    if group.tokens_per_entry > 1:
        return f"one entry of {group.elements} values for {group.tokens_per_entry} tokens, complete on every GPU"
    if group.heads is None:
        return f"{group.elements} values, complete on every GPU"
    on_each = max(1, ceil(group.heads / tensor_parallel_size))
    return f"{group.elements} values per head, keys and values; {group.heads} heads, {on_each} on each GPU"


def _why_less(server: Server) -> str:
    groups, tensor_parallel_size = server.kv_cache.groups, server.tensor_parallel_size
    spans = {group.span for group in groups}
    is_latent = any(group.heads is None for group in groups)
    reasons = ["only a compressed latent is stored" if is_latent else "only key-value heads are stored"]
    if is_latent and tensor_parallel_size > 1:
        reasons.append(f"each of {tensor_parallel_size} GPUs stores all of it")
    heads = max(
        (group.heads for group in groups if group.heads and group.span is not AttentionSpan.STATE),
        default=tensor_parallel_size,
    )
    if heads < tensor_parallel_size:
        reasons.append(f"{heads} heads are replicated on {tensor_parallel_size} GPUs")
    if AttentionSpan.WINDOW in spans:
        reasons.append("windows have a fixed maximum")
    if AttentionSpan.STATE in spans:
        reasons.append("states have a fixed size")
    return ", ".join(reasons)


def _encoder(server: Server) -> Step:
    return Step(
        "KV cache",
        "an encoder processes a text in one step and needs no KV cache",
        (f"max_num_seqs {server.max_num_seqs:,}",),
        f"{server.max_concurrency(server.max_model_len):,.0f} concurrent texts",
    )


def _sessions(server: Server, demand: PoolDemand | None) -> Step:
    rows = []
    if demand is not None:
        held = demand.held_tokens if server.is_generative else demand.input_tokens
        rows.append(
            f"average running call, {held:,.0f} tokens: {both_units(server.sequence_bytes(held))} per GPU, "
            f"{server.max_concurrency(held):,.1f} concurrent; vLLM reserves nothing for answers, "
            "and holds the prompt and the tokens generated so far"
        )
    full = server.max_model_len
    rows.append(
        f"max_model_len {full:,} tokens: {both_units(server.sequence_bytes(full))} per GPU, "
        f"{server.max_concurrency(full):,.1f} concurrent"
    )
    optimistic = server.max_concurrency(full, Edge.OPTIMISTIC)
    return Step(
        "concurrent sequences of one replica",
        server.kv_cache.formula,
        tuple(rows),
        f"{server.max_concurrency(full):,.1f} of full length; {optimistic:,.1f} at the optimistic edge",
    )


def _layouts(sized: PoolSizing, demand: PoolDemand) -> Step:
    """Compare all parallel layouts on one node, including unselected ones."""
    case = sized.case
    sizes = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    free = case.pool.model_copy(update=dict.fromkeys(sizes, AUTO))
    found = list(pool_layouts(case, free, demand, case.platform.gpus))
    best, other = best_layout(found), ""
    if case.model.arch.moe is not None and not free.enable_expert_parallel and free.lora is None:
        with_it = list(
            pool_layouts(case, free.model_copy(update={"enable_expert_parallel": True}), demand, case.platform.gpus)
        )
        found += with_it
        if best_with_it := best_layout(with_it):
            other = f"; with enable_expert_parallel {best_with_it.size}, used only if site.yaml sets it"
    rows = [
        f"{each.size}: {each.refused}"
        if each.limit is None
        else f"{each.size}: {each.parallel.worth:,.0f} tokens/s per GPU, {each.limit.point.in_flight:,.1f} in flight, "
        f"limited by {each.limit.binding}"
        for each in found
    ]
    return Step(
        "parallel layouts of one replica on a node",
        "highest output per GPU within the limits, with weights of at most 60 % of the budget; then fewest GPUs",
        tuple(rows),
        f"{best.size if best else 'none fits on one node'}; site.yaml has {case.pool.spread}{other}",
    )


def _in_flight(sized: PoolSizing, performance: Performance, limit: Limit, demand: PoolDemand) -> Step:
    assert sized.need is not None
    point = limit.point

    def timing(input_tokens: float, output_tokens: float) -> float:
        return performance.e2e_s(point, demand, input_tokens, output_tokens)

    mean, deviation = demand.in_flight(timing), demand.deviation(timing)
    most = sum(each.max_in_flight for each in demand.classes)
    active_users = sum(each.active_users for each in demand.classes)
    thumb = active_users * 0.15 * 0.05 * 3
    return Step(
        "calls in flight",
        "Little's law: rate x time to the last token, then mean + 1.645 x deviation (95th percentile); "
        "deviation = square root of the variance: Poisson at a given rate, binomial if users wait for answers",
        (
            f"one call takes {seconds(point.e2e_s)} at that load",
            f"mean {mean:,.1f} in flight, deviation {deviation:,.1f}",
            *([f"at most {most:,.0f}, one call per user"] if isfinite(most) else ()),
        ),
        f"{sized.need.in_flight:,.1f} in flight in the whole pool",
        f"the common rule (users x 15 % x 5 % x 3) gives {thumb:,.1f}, sovctl computes {sized.need.in_flight:,.1f} "
        "from the rate of these users and the response time of this model",
    )
