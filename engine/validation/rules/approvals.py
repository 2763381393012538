"""Rules about approvals: licences with conditions, and languages that a model's vendor does not list.

Both need an approver and a reason in site.yaml, for auditors.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...spec import Model
from .rule import SiteUnderValidation


def check_licences(site: SiteUnderValidation) -> Iterator[Problem]:
    for index, model in enumerate(site.spec.models):
        entry = site.catalog.models.get(model.catalog)
        if entry is not None and entry.licence.needs_approval:
            terms = entry.licence.thresholds or "the catalogue does not contain its terms"
            hint = f"review the licence, and name the approver and the reason: {terms}"
            yield from _missing(model, "licence", f"for the {entry.licence.name}", f"models[{index}]", hint)


def check_languages(site: SiteUnderValidation) -> Iterator[Problem]:
    pools = {pool.name: pool.model for pool in site.spec.pools}
    for index, model in enumerate(site.spec.models):
        entry = site.catalog.models.get(model.catalog)
        if entry is None:
            continue
        classes = [each for each in site.spec.workload if pools.get(each.pool) == model.name]
        wanted = dict.fromkeys(language for each in classes for language in each.languages)
        unlisted = [language for language in wanted if language not in entry.languages.codes]
        if unlisted:
            listed = entry.languages.list or "nothing"
            hint = f"test the model, and name the approver and the test; its vendor lists: {listed}"
            what = f"for {entry.id} in {', '.join(unlisted)}, which its vendor does not list"
            yield from _missing(model, "languages", what, f"models[{index}]", hint)


def _missing(model: Model, topic: str, what: str, where: str, hint: str) -> Iterator[Problem]:
    """Yield a problem for a missing approver and for a missing reason."""
    for ending, expected in (("by", "the name of an approver"), ("because", "a reason")):
        field = f"{topic}_approved_{ending}"
        if getattr(model, field) is None:
            yield Problem(f"expected {expected} {what}, got none", where=f"{where}.{field}", hint=hint)
