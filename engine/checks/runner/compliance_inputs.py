"""Inputs of a report from site.yaml: frameworks, waivers and attestations, and terms of the plan of action.

inputs = load_inputs(Path("site.yaml"))
publish(..., pack=inputs.packs[0], exceptions=inputs.exceptions, terms=inputs.terms)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from sovctl.compliance.controls.exceptions import Exceptions, WaiverPolicy, exceptions_of_site, load_exceptions
from sovctl.compliance.controls.framework import find_pack, load_pack
from sovctl.compliance.controls.pack import Pack
from sovctl.compliance.controls.poam import CheckFacts, Deviation, Terms
from sovctl.compliance.report.document import Subject

from ...site.state_records import WaiverSet, waivers_of_site
from ...spec import SiteSpec
from ...validation import load as spec_file
from ..registry import CHECKS, FORMER_IDS, KNOWN_CHECKS

DEFAULT_PACKS = ("nist-800-53-moderate",)


@dataclass(frozen=True)
class ComplianceInputs:
    """Values of site.yaml that reports need; check ids are current."""

    subject: Subject | None
    """None without a site.yaml."""
    packs: tuple[Pack, ...]
    exceptions: Exceptions
    terms: Terms
    waivers: Mapping[str, WaiverSet]
    """Waivers in and out of effect by source, for the ledger: `site` for site.yaml, `file` for the further file."""


def load_inputs(
    site_file: Path | None, *, pack: str | None = None, waiver_file: Path | None = None
) -> ComplianceInputs:
    """Read site.yaml, its frameworks and its waivers.

    Args:
        site_file: None: the default framework, and no waivers of a site.
        pack: the only framework; None: those of site.yaml.
        waiver_file: further waivers and attestations.

    Raises:
        InputError: an unreadable or invalid file, or an unknown framework.
        SpecError: all problems of a file.
    """
    spec = spec_file.load(site_file).spec if site_file else None
    own = [site_file.parent / each for each in spec.compliance.pack_files] if site_file and spec else []
    of_site = spec.compliance.packs if spec else DEFAULT_PACKS
    where = {"where": "--pack"} if pack else {}

    def loaded(name: str) -> Pack:
        return load_pack(find_pack(name, own, **where), known_checks=KNOWN_CHECKS, former_ids=FORMER_IDS)

    packs = {name: loaded(name) for name in ([pack] if pack else of_site)}
    exceptions = Exceptions()
    if spec and site_file and (spec.compliance.waivers or spec.compliance.attestations):
        # With `pack`, the site's exceptions can name its other frameworks.
        everything = packs | {name: loaded(name) for name in of_site if name not in packs}
        values = spec.compliance.model_dump(mode="json", include={"waivers", "attestations"})
        exceptions = exceptions_of_site(
            values, site_file=site_file, packs=tuple(everything.values()), former_ids=FORMER_IDS
        )
    if spec and spec.compliance.waiver_approvers:
        policy = WaiverPolicy(site=spec.site.name, approvers=tuple(spec.compliance.waiver_approvers))
        exceptions = exceptions.model_copy(update={"policy": policy})
    waivers = {"site": waivers_of_site(spec)} if spec else {}
    if waiver_file:
        further = load_exceptions(waiver_file, packs=tuple(packs.values()), former_ids=FORMER_IDS)
        waivers["file"] = {
            "waivers": [each.model_dump(mode="json") for each in further.texts],
            "attestations": [each.model_dump(mode="json") for each in further.attestations],
        }
        exceptions = exceptions.with_more(further, where=str(waiver_file))
    subject = Subject(spec.site.name, spec.site.jurisdiction, spec.site.placement.value) if spec else None
    return ComplianceInputs(subject, tuple(packs.values()), exceptions, terms_of(spec), waivers)


def terms_of(spec: SiteSpec | None) -> Terms:
    """Return titles, severities and remedies of all checks, and owners, deadlines and exceptions of a site."""
    facts = {check.id: CheckFacts(check.title, check.severity.value, check.remedy) for check in CHECKS}
    if spec is None:
        return Terms(facts=facts)
    days = spec.compliance.deadline_days.model_dump(exclude_none=True)
    return Terms(facts, spec.compliance.owners, days, tuple(_deviations(spec)))


def _deviations(spec: SiteSpec) -> Iterator[Deviation]:
    for waiver in spec.verify.waivers:
        yield Deviation(
            id=f"verify.waivers: {waiver.limit}",
            title=f"limit {waiver.limit} is {spec.verify.limits[waiver.limit]}",
            reason=f"{waiver.reason} ({waiver.reference})",
            owner=waiver.requested_by,
            approved_by=waiver.approved_by,
            expires=date.fromisoformat(waiver.expires),
        )
    for each in spec.perimeter.exceptions:
        yield Deviation(
            id=f"perimeter.exceptions: {each.name}",
            title=f"the gateway may connect to {each.address} port {each.port}",
            reason=each.reason,
            owner="",
            approved_by=each.approved_by,
            expires=date.fromisoformat(each.expires),
        )
