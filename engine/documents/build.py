"""Builds the files of all documents of a site. Pure, except that `load_template` reads the templates of sovctl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from sovctl.compliance.bom.cyclonedx import bom_bytes
from sovctl.compliance.bom.vex import vex_bytes
from sovctl.compliance.documents.answers import Answers, load_answers
from sovctl.compliance.documents.document import Document, FieldState
from sovctl.compliance.documents.fill import fill
from sovctl.compliance.documents.publish import Subject
from sovctl.compliance.documents.rendering import json_bytes, markdown
from sovctl.compliance.documents.templates import load_template, template_names

from ..validation.load import LoadedSpec
from .collect import collect
from .lock_file import LockedPackage
from .model_bom import model_bom
from .site_values import Sources
from .software_bom import Licences, software_bom
from .vex import vex_statements


def build(sources: Sources, answers: Answers, names: Iterable[str] = ()) -> tuple[Document, ...]:
    """Return the documents with the given names; all if empty."""
    collection = collect(sources)
    return tuple(fill(load_template(name), collection, answers) for name in (tuple(names) or template_names()))


def files_of(
    documents: Iterable[Document],
    sources: Sources,
    locks: Mapping[str, tuple[LockedPackage, ...]],
    licences: Licences,
) -> dict[str, bytes]:
    """Return the renderings of the documents, and the bills of materials, by file name.

    Args:
        locks: packages of each lock that the site uses, by the name of the lock.
    """
    found = {
        "sbom.cdx.json": bom_bytes(software_bom(sources, locks, licences)),
        "ml-bom.cdx.json": bom_bytes(model_bom(sources)),
        "vex.cdx.json": vex_bytes(
            sources.spec.site.name, vex_statements(sources, locks), tool_version=sources.tool_version
        ),
    }
    for each in documents:
        found[f"{each.name}.json"] = json_bytes(each)
        found[f"{each.name}.md"] = markdown(each).encode()
    return found


def subject_of(documents: Iterable[Document], sources: Sources, spec_sha256: str) -> Subject:
    """Return the statement of the manifest about all documents."""
    every = tuple(documents)
    return Subject(
        site=sources.spec.site.name,
        run_id="" if sources.evidence.absent else sources.evidence.run_id,
        spec_sha256=spec_sha256,
        simulated=any(each.simulated for each in every),
        missing=sum(each.counts()[FieldState.MISSING] for each in every),
        findings=sum(len(each.findings) for each in every),
    )


def read_answers(loaded: LoadedSpec, sources: Sources, *, today: date) -> Answers:
    """Return the answers of people that site.yaml names; empty without a file.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    named = loaded.spec.compliance.answers_file
    if named is None:
        return Answers()
    return load_answers(
        loaded.resolve(named),
        templates=[load_template(name) for name in template_names()],
        subjects=collect(sources).subject_names(),
        today=today,
    )
