"""Builds all OSCAL documents of a report, and refuses to return an invalid one. Pure.

    files = build_package(document, report_sha256=..., digest_of={"../report.json": ..., "../raw/...": ...}.get)

Equal reports give equal bytes. The only times are those of the report and its evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sovctl.support.errors import SovctlError

from .assessment_plan import assessment_plan
from .assessment_results import assessment_results
from .catalog import catalog, profile
from .component_definition import component_definition
from .lint import lint
from .metadata import ASSESSMENT_PLAN, ASSESSMENT_RESULTS, CATALOG, COMPONENT_DEFINITION, POAM, PROFILE, SSP
from .poam import poam
from .references import Document
from .schema import validate
from .system_security_plan import system_security_plan

_SHOWN = 5  # problems in the message


class OscalInvalid(SovctlError):
    """A built document is invalid, and was not written. This is a mistake in sovctl."""


def build_package(
    document: Document, *, report_sha256: str, digest_of: Callable[[str], str | None]
) -> dict[str, bytes]:
    """Return the OSCAL documents by file name, as compact JSON with sorted keys.

    Args:
        report_sha256: digest of report.json.
        digest_of: returns the SHA-256 of a file by its path relative to the documents; None if it does not exist.

    Raises:
        OscalInvalid: a document has a problem by schema or lint.
    """
    documents = build_documents(document, report_sha256=report_sha256)
    problems = [f"{name}: {each}" for name, value in documents.items() for each in validate(value)]
    problems = problems or lint(documents, digest_of)
    if problems:
        more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
        raise OscalInvalid(
            f"invalid OSCAL: {'; '.join(problems[:_SHOWN])}{more}",
            hint="report this as a bug of sovctl, with the name of the pack",
        )
    return {name: encoded(value) for name, value in documents.items()}


def build_documents(document: Document, *, report_sha256: str) -> dict[str, dict[str, Any]]:
    """Return the documents by file name, without validation. There is no POA&M without an item."""
    documents = {
        CATALOG: catalog(document),
        PROFILE: profile(document),
        COMPONENT_DEFINITION: component_definition(document),
        SSP: system_security_plan(document),
        ASSESSMENT_PLAN: assessment_plan(document),
        ASSESSMENT_RESULTS: assessment_results(document, report_sha256=report_sha256),
    }
    plan = poam(document)
    return documents | ({POAM: plan} if plan else {})


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return compact JSON with sorted keys: all keys are ASCII and all values texts, so this is RFC 8785."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
