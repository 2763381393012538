"""Rules about LoRA adapters. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation, duplicates


def check_adapters(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check that adapter names differ from names of models (common folder), and of pools and clouds (named by
    routes)."""
    adapters = [
        (f"pools[{index}].lora.adapters[{number}].name", adapter.name)
        for index, pool in enumerate(site.spec.pools)
        for number, adapter in enumerate(pool.adapters)
    ]
    if not adapters:
        return
    yield from duplicates("adapter", adapters)
    clouds = site.spec.gateway.clouds if site.spec.gateway else []
    taken = {
        **{cloud.name: "a cloud" for cloud in clouds},
        **{model.name: "a model" for model in site.spec.models},
        **{pool.name: "a pool" for pool in site.spec.pools},
    }
    for where, name in adapters:
        if name in taken:
            yield Problem(
                f"expected a name of its own, got `{name}`, which is {taken[name]}",
                where=where,
                hint="names of adapters, models, pools and clouds must be unique, because routes and folders use them",
            )


def check_tenants(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check that a route names adapters of at most one tenant, and that no adapter of a tenant reviews the requests of
    all tenants."""
    gateway = site.spec.gateway
    if gateway is None:
        return
    for index, route in enumerate(gateway.routes):
        owners = site.spec.owners_of((route.pool, *route.fallbacks))
        if len(owners) > 1:
            yield Problem(
                f"expected adapters of one tenant, got adapters of {', '.join(owners)}",
                where=f"gateway.routes[{index}]",
                hint="make one route for each tenant, because a fallback would answer with another tenant's adapter",
            )
    review = gateway.detect.llm_review
    if review is not None and site.spec.owners_of((review.upstream,)):
        yield Problem(
            f"expected a pool or an adapter without `tenant`, got {review.upstream}",
            where="gateway.detect.llm_review.upstream",
            hint="name the pool of the adapter, because the review reads requests of all tenants",
        )


def check_licences(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check that an approved licence of an adapter has its name and its reason."""
    for index, pool in enumerate(site.spec.pools):
        for number, adapter in enumerate(pool.adapters):
            if adapter.licence_approved_by is None:
                continue
            for field in ("licence", "licence_approved_because"):
                if getattr(adapter, field) is None:
                    yield Problem(
                        f"`{field}` is missing next to licence_approved_by",
                        where=f"pools[{index}].lora.adapters[{number}].{field}",
                        hint="add the name of the licence and the reason of the approval, or remove the approval",
                    )


def check_lora(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, pool in enumerate(site.spec.pools):
        where, lora = f"pools[{index}].lora", pool.lora
        if lora is None:
            continue
        if lora.max_loras > len(lora.adapters):
            yield Problem(
                f"expected at most {len(lora.adapters)}, as many as there are adapters, got {lora.max_loras}",
                where=f"{where}.max_loras",
                hint="memory reserved for missing adapters reduces the KV cache",
            )
        if lora.max_cpu_loras is not None and lora.max_cpu_loras < lora.max_loras:
            yield Problem(
                f"expected at least max_loras, {lora.max_loras}, got {lora.max_cpu_loras}",
                where=f"{where}.max_cpu_loras",
                hint="vLLM does not start with this value; remove it",
            )
