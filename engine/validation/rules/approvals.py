"""Rules about what a person has to answer for: licences with conditions, and languages that a maker does not list.

Both want a name and a reason in site.yaml, which the auditor reads beside the plan.
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
            terms = entry.licence.thresholds or "its terms were not read by us"
            hint = f"have somebody read the licence and write who, and why it may be used here: {terms}"
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
            hint = f"try it, then write who answers for it and how it was tried; its maker lists: {listed}"
            what = f"for {entry.id} in {', '.join(unlisted)}, which nobody lists for it by name"
            yield from _missing(model, "languages", what, f"models[{index}]", hint)


def _missing(model: Model, topic: str, what: str, where: str, hint: str) -> Iterator[Problem]:
    """A problem for the name and for the reason, where they are not there."""
    for ending, expected in (("by", "the name of an approver"), ("because", "a reason")):
        field = f"{topic}_approved_{ending}"
        if getattr(model, field) is None:
            yield Problem(f"expected {expected} {what}, got none", where=f"{where}.{field}", hint=hint)
