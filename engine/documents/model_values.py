"""Values of model cards: catalogue, licence, origin and integrity of each model that a pool serves. Pure."""

from __future__ import annotations

from sovctl.compliance.documents.document import Collected, Finding, NotCollected, Value

from ..catalog import Catalog
from ..catalog.models import ModelEntry
from ..spec import Model, SiteSpec
from .licence_gate import licence_findings
from .run_evidence import RunEvidence

CHECKSUM = "model.checksum"


def served_models(spec: SiteSpec) -> list[Model]:
    """Return the models that pools serve, also for drafts, in the order of site.yaml."""
    used = {name for pool in spec.pools for name in (pool.model, pool.draft_model) if name}
    return [model for model in spec.models if model.name in used]


def model_findings(spec: SiteSpec, catalog: Catalog) -> tuple[Finding, ...]:
    """Return the findings of the licence gate for all models that pools serve."""
    return tuple(
        finding
        for model in served_models(spec)
        for finding in licence_findings(model, catalog.models.get(model.catalog), spec.site.jurisdiction)
    )


def model_values(spec: SiteSpec, catalog: Catalog, evidence: RunEvidence) -> dict[str, dict[str, Collected]]:
    """Return the values of every model by its name."""
    return {
        model.name: {
            **_of_site(model, spec),
            **_of_catalogue(model, catalog.models.get(model.catalog)),
            "gate": _gate(model, spec, catalog),
            "integrity": _integrity(model, evidence),
        }
        for model in served_models(spec)
    }


def _of_site(model: Model, spec: SiteSpec) -> dict[str, Collected]:
    place = f"site.yaml: models[{model.name}]"
    pools = [pool.name for pool in spec.pools if model.name in (pool.model, pool.draft_model)]
    return {
        "catalog": Value(model.catalog, f"{place}.catalog"),
        "pools": Value(", ".join(pools), "site.yaml: pools[].model"),
        "manifest": Value(model.manifest_sha256, f"{place}.manifest_sha256"),
        "source": Value(
            f"{str(spec.artifacts.models_url).rstrip('/')}/{model.name}", "site.yaml: artifacts.models_url"
        ),
        "licence-approval": _approval(model.licence_approved_by, model.licence_approved_because, f"{place}.licence_*"),
        "language-approval": _approval(
            model.languages_approved_by, model.languages_approved_because, f"{place}.languages_*"
        ),
    }


def _approval(by: str | None, because: str | None, place: str) -> Value:
    return Value(f"{by}: {because}" if by else "none in site.yaml", place)


def _of_catalogue(model: Model, entry: ModelEntry | None) -> dict[str, Collected]:
    names = ("repository", "role", "parameters", "dtype", "context", "languages", "licence", "terms")
    if entry is None:
        return dict.fromkeys(
            names, NotCollected(f"the catalogue has no entry {model.catalog}", "add it to `catalog_file`")
        )
    source, licence = f"catalogue: {entry.id}", entry.licence
    spdx = f" ({licence.spdx})" if licence.spdx else ""
    published = f"{entry.params.published_total_b:g} billion, {entry.params.published_active_b:g} billion active"
    return {
        "repository": _text(entry.hf_repo, source, "the model has no published repository in the catalogue"),
        "role": Value(entry.role, source),
        "parameters": Value(published, source),
        "dtype": Value(entry.released_dtype, source),
        "context": _text(entry.max_context and f"{entry.max_context} tokens", source, "the catalogue has no figure"),
        "languages": _text(entry.languages.list, source, "the catalogue has no list"),
        "licence": Value(f"{licence.name}{spdx}", f"{source}, {'; '.join(licence.source)}"),
        "terms": Value(f"commercial use: {licence.commercial_use}; {licence.thresholds or 'no thresholds'}", source),
    }


def _text(text: str | int | None, source: str, reason: str) -> Collected:
    return Value(str(text), source) if text else NotCollected(reason)


def _gate(model: Model, spec: SiteSpec, catalog: Catalog) -> Value:
    found = list(licence_findings(model, catalog.models.get(model.catalog), spec.site.jurisdiction))
    text = "\n".join(f"{each.severity}: {each.message}" for each in found) or "no finding"
    return Value(text, f"licence gate over catalogue {model.catalog} and site.yaml")


def _integrity(model: Model, evidence: RunEvidence) -> Collected:
    """Return the verdicts of the comparison with the manifest on all nodes; targets are `node/model`."""
    found = [
        each.evidence
        for each in evidence.records.get(CHECKSUM, ())
        if each.evidence.target.partition("/")[2] == model.name
    ]
    if not found:
        return evidence.none_of(CHECKSUM, f"any node with {model.name}")
    lines = [f"{each.target}: {each.verdict.value}" for each in found]
    return Value("\n".join(lines), f"evidence of run {evidence.run_id}", any(each.simulated for each in found))
