"""Rules about questions of the site for a pool (`pools[].evaluation`). Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation

_ENGINES = ("vllm", "vllm-cpu")


def check_evaluation(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        if pool.evaluation is None:
            continue
        where, model = f"pools[{index}].evaluation", site.model_of(pool)
        if site.spec.software.engine not in _ENGINES:
            engine = site.spec.software.engine
            hint = "remove `evaluation`: its check reads version and model of a vLLM server"
            yield Problem(f"expected the engine {' or '.join(_ENGINES)}, got {engine}", where=where, hint=hint)
        role = "chat" if model is None else pool.pooling.served_role(model.role)
        if role != "chat":
            hint = "remove `evaluation`, or choose a chat model"
            yield Problem(f"expected a model that answers questions, got one for {role}", where=where, hint=hint)
