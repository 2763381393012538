"""Rules about site-specific detection of the gateway. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation, duplicates, unknown_name

_PACKAGES = {"onnx": "onnxruntime and tokenizers", "gliner": "onnxruntime and tokenizers", "stanza": "stanza and torch"}
"""Python packages by kind of model that the gateway environment on nodes does not contain."""


def check_name_models(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.gateway is None:
        return
    detect = site.spec.gateway.detect
    models = list(enumerate(detect.models))
    yield from duplicates("model name", ((f"gateway.detect.models[{i}].name", each.name) for i, each in models))
    for i, each in models:
        where = f"gateway.detect.models[{i}]"
        if each.kind in _PACKAGES and detect.model_packages is None:
            yield Problem(
                f"expected model_packages for a model of kind {each.kind}, got none",
                where=f"{where}.kind",
                hint=f"name the nodes' folder with {_PACKAGES[each.kind]} as gateway.detect.model_packages",
            )
        if each.kind in ("spacy", "stanza") and each.min_score is not None:
            yield Problem(
                f"expected none for a {each.kind} model, which gives no scores, got {each.min_score:g}",
                where=f"{where}.min_score",
            )


def check_recognizers(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.gateway is not None:
        own = enumerate(site.spec.gateway.detect.recognizers)
        named = [(f"gateway.detect.recognizers[{i}].name", each.name) for i, each in own]
        yield from duplicates("recognizer name", named)


def check_screens(site: SiteUnderValidation) -> Iterator[Problem]:
    if site.spec.gateway is None:
        return
    detect = site.spec.gateway.detect
    screens = list(enumerate(detect.screens))
    models = {each.name: f"gateway.detect.models[{i}].name" for i, each in enumerate(detect.models)}
    named = [(where, name) for name, where in models.items()]
    named += [(f"gateway.detect.screens[{i}].name", each.name) for i, each in screens]
    yield from duplicates("name of a screen or model", named)
    routes = [route.model for route in site.spec.gateway.routes]
    for i, each in screens:
        where = f"gateway.detect.screens[{i}]"
        if detect.model_packages is None:
            yield Problem(
                f"expected model_packages for a screen of kind {each.kind}, got none",
                where=f"{where}.kind",
                hint=f"name the nodes' folder with {_PACKAGES[each.kind]} as gateway.detect.model_packages",
            )
        for route in each.routes:
            yield from unknown_name("route", route, routes, f"{where}.routes")


def check_llm_review(site: SiteUnderValidation) -> Iterator[Problem]:
    review = site.spec.gateway.detect.llm_review if site.spec.gateway else None
    if review is None:
        return
    where = "gateway.detect.llm_review.upstream"
    pools = {pool.name: pool for pool in site.spec.pools}
    yield from unknown_name("pool", review.upstream, list(pools), where)
    if review.upstream not in pools:
        return
    model = next((each for each in site.spec.models if each.name == pools[review.upstream].model), None)
    entry = site.catalog.models.get(model.catalog) if model is not None else None
    if entry is not None and entry.role != "chat":
        yield Problem(
            f"expected a pool of a chat model, got {review.upstream}, whose model is for {entry.role}",
            where=where,
            hint="the review is a chat completion",
        )
