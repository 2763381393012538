"""ML-BOM: each model that a pool serves, with the files of its manifest, licence, source and card. Pure.

The files come from the evidence of `model.checksum`, which prints the manifest and hashes every file on the node.
Without this evidence the model has the digest of its manifest only, and the bill is incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sovctl.compliance.bom.component import Bill, Component, ComponentKind, ModelCard
from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.compliance.verdict import Verdict

from ..catalog.models import ModelEntry
from ..facts.unreadable import Unreadable
from ..spec import Model
from .model_values import CHECKSUM, served_models
from .run_evidence import source_of
from .site_values import Sources

_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


def model_bom(sources: Sources) -> Bill:
    """Return the models of a site."""
    components, missing = [], []
    for model in served_models(sources.spec):
        record = _record(model, sources)
        files = tuple(_files(model, record, sources)) if record else ()
        if not files:
            missing.append(f"no files of {model.name}: no passed record of {CHECKSUM}")
        components.append(_component(model, sources, files, source_of(record) if record and files else ""))
    return Bill(
        site=sources.spec.site.name,
        tool_version=sources.tool_version,
        components=tuple(components),
        simulated=sources.evidence.simulated,
        incomplete=tuple(missing),
    )


def _record(model: Model, sources: Sources) -> StoredEvidence | None:
    """Return the first passed comparison of the model's files with the manifest of site.yaml."""
    found = sources.evidence.records.get(CHECKSUM, ())
    of_model = [each for each in found if each.evidence.target.partition("/")[2] == model.name]
    return next((each for each in of_model if each.evidence.verdict is Verdict.PASS), None)


def _files(model: Model, record: StoredEvidence, sources: Sources) -> Iterator[Component]:
    try:
        text = sources.evidence.sections(record).text("manifest")
    except Unreadable:
        return
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match:
            name = f"{model.name}/{match[2]}"
            yield Component(ComponentKind.FILE, f"file:{name}", name, sha256=match[1])


def _component(model: Model, sources: Sources, files: tuple[Component, ...], evidence: str) -> Component:
    entry = sources.catalog.models.get(model.catalog)
    pools = [pool.name for pool in sources.spec.pools if model.name in (pool.model, pool.draft_model)]
    properties = [
        ("catalog", model.catalog),
        ("pools", ", ".join(pools)),
        ("manifest-sha256", model.manifest_sha256),
        ("files-evidence", evidence or "none"),
    ]
    if model.licence_approved_by:
        properties.append(("licence-approved-by", model.licence_approved_by))
    if entry and entry.hf_repo:
        properties.append(("repository", entry.hf_repo))
    licence = entry.licence if entry else None
    return Component(
        kind=ComponentKind.MODEL,
        ref=f"model:{model.name}",
        name=entry.hf_repo or entry.id if entry else model.catalog,
        version=model.manifest_sha256[:16],
        purl=_purl(entry),
        spdx=(licence.spdx or "") if licence and licence.verified else "",
        licence=licence.name if licence and licence.verified else "",
        source=f"{str(sources.spec.artifacts.models_url).rstrip('/')}/{model.name}",
        properties=tuple(properties),
        card=_card(entry) if entry else None,
        parts=files,
    )


def _purl(entry: ModelEntry | None) -> str:
    """Return the package URL without version, because the git commit is unknown.

    Source: package-url/purl-spec, type huggingface.
    """
    return f"pkg:huggingface/{entry.hf_repo}" if entry and entry.hf_repo else ""


_TASKS = {"chat": "text-generation", "asr": "automatic-speech-recognition", "embedding": "feature-extraction"}


def _card(entry: ModelEntry) -> ModelCard:
    context = [f"context of at most {entry.max_context} tokens"] if entry.max_context else []
    languages = [f"languages by the vendor: {entry.languages.list}"] if entry.languages.list else []
    terms = entry.licence.thresholds
    return ModelCard(
        task=_TASKS.get(entry.role, entry.role),
        architecture=entry.attention,
        limits=(*context, *languages),
        considerations=(("conditions of the licence", terms),) if terms else (),
    )
