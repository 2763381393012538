"""Licence gate: whether the licence of a model permits its use on the site, by the catalogue and site.yaml. Pure.

- `fail`: the licence forbids commercial use, or its conditions have no approver.
- `unknown`: the licence, or a restriction for the site's country, was not verified. Unknown never counts as permitted.
- A site that is not commercial also gets these findings; a person then attests the use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sovctl.compliance.documents.document import Finding

from ..catalog.models import ModelEntry
from ..spec import Model

EU = frozenset(
    {
        *("AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT", "LU"),
        *("LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK"),
    }
)
"""Members of the European Union since 2020-02-01, ISO 3166-1 alpha-2. Source: european-union.europa.eu."""


@dataclass(frozen=True)
class _Case:
    model: Model
    entry: ModelEntry
    jurisdiction: str


def _forbidden(case: _Case) -> Finding | None:
    if case.entry.licence.commercial_use != "no":
        return None
    return Finding(
        "fail",
        case.model.name,
        f"the licence {case.entry.licence.name} forbids commercial use",
        "serve another model, or obtain a licence from the vendor",
    )


def _unapproved(case: _Case) -> Finding | None:
    if case.entry.licence.commercial_use != "conditional" or case.model.licence_approved_by:
        return None
    return Finding(
        "fail",
        case.model.name,
        f"the licence {case.entry.licence.name} has conditions, and site.yaml names no approver",
        "review the licence, then set `models[].licence_approved_by` and `licence_approved_because`",
    )


def _unverified(case: _Case) -> Finding | None:
    licence = case.entry.licence
    if licence.verified and licence.name:
        return None
    return Finding(
        "unknown",
        case.model.name,
        f"the licence {licence.name or '(none)'} in the catalogue was not verified",
        "compare it with the licence file of the model, and correct the entry in `catalog_file`",
    )


def _restricted(case: _Case) -> Finding | None:
    note = case.entry.licence.eu_note
    if not note or case.jurisdiction not in EU:
        return None
    return Finding(
        "unknown",
        case.model.name,
        f"the licence can exclude users in the European Union: {note}",
        "a person compares the licence with the use of the site",
    )


_RULES: tuple[Callable[[_Case], Finding | None], ...] = (_forbidden, _unapproved, _unverified, _restricted)


def licence_findings(model: Model, entry: ModelEntry | None, jurisdiction: str) -> Iterator[Finding]:
    """Yield every finding for a model that a pool serves.

    Args:
        entry: None if the catalogue does not contain the model.
    """
    if entry is None:
        message = f"the catalogue has no entry {model.catalog}, therefore the licence is unknown"
        yield Finding("unknown", model.name, message, "add the model to `catalog_file`")
        return
    case = _Case(model, entry, jurisdiction)
    for rule in _RULES:
        if (finding := rule(case)) is not None:
            yield finding
