"""Stores the results of a run as evidence: one record per result, with raw output, in the site's store and ledger."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.compliance.controls import scope
from sovctl.compliance.evidence.freshness import expiry
from sovctl.compliance.evidence.layout import NONE
from sovctl.compliance.evidence.previous import previous_results
from sovctl.compliance.evidence.record import WHOLE, Evidence, Population
from sovctl.compliance.evidence.store import EvidenceStore, StoredEvidence, new_run_id
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.compliance.verdict import Verdict
from sovctl.support.canonical_json import digest, sha256_hex

from ...site.site import Site
from ..model.check import Method
from ..model.check_context import CONTROLLER
from ..model.result import Result, utc_now
from ..model.target import CheckTarget
from .circumstances import Circumstances
from .counter_readings import store_readings
from .declaration import declaration_sha256, source_sha256
from .node_certificates import issuer_of
from .population import populations_of
from .run import RunResult
from .tree_findings import store_findings


def keep(site: Site, run: RunResult, about: Circumstances) -> list[StoredEvidence]:
    """Store every result of a run durably, then its scope, its findings for the next plan, and counters.

    Certificates of nodes of which a part changed become void.

    Args:
        about: circumstances at the start of the run.

    Returns:
        The results, in the order of the targets.

    Raises:
        Busy: another process is writing to the site's ledger.
        LedgerDamaged, LedgerUnwritable: no record was stored.
    """
    store_findings(site, run)
    key = load_or_create(site.state.prepare().keys / "ledger.key")
    origin = f"sovctl.{site.spec.site.name}/site"
    with Ledger.open(site.state.ledger, origin=origin, key=key) as ledger:
        store = EvidenceStore(site.state.evidence, ledger, run_id=new_run_id())
        records = [*_records(site, run, ledger, about), *_scope(site, run, ledger, about)]
        stored = store.add_all(records)[: len(run.results)]
    store_readings(site, run)
    issuer_of(site.spec, site.state.root, site.loaded.catalog.platforms).void_changed(store.run_id, stored)
    return stored


def keep_of_gate(site: Site, run: RunResult, ledger: Ledger, about: Circumstances) -> str:
    """Store every result of the checks between two waves of an apply durably, and return the id of the run.

    Args:
        about: circumstances, with the plan that is applied.
    """
    store = EvidenceStore(site.state.evidence, ledger, run_id=new_run_id(is_gate=True))
    store.add_all(_records(site, run, ledger, about))
    return store.run_id


def _records(site: Site, run: RunResult, ledger: Ledger, about: Circumstances) -> Iterator[tuple[Evidence, bytes]]:
    populations = populations_of(run, removed=[node.name for node in site.removed()])
    before = previous_results(
        LedgerReader(ledger.directory), ((target.check.id, target.name) for target in run.targets)
    )
    for target, result in zip(run.targets, run.results, strict=True):
        evidence = Evidence(
            check_id=target.check.id,
            check_version=target.check.version,
            check_sha256=declaration_sha256(type(target.check)),
            title=target.check.title,
            method=target.check.method.value,
            target=target.name,
            population=populations[target.check.id],
            command=result.command,
            exit_code=result.exit_code,
            raw_sha256=sha256_hex(result.raw),
            started=result.started,
            ended=result.ended,
            expires=expiry(target.check.id, result.ended, is_active=target.check.is_active),
            verdict=result.verdict,
            rule=_rule(target, result),
            reason=result.reason,
            simulated=bool(result.simulated),
            previous=before.get((target.check.id, target.name), NONE),
            **vars(about),
        )
        yield evidence, result.raw


def _rule(target: CheckTarget, result: Result) -> str:
    limits = [f"{each.id} = {each.value}" for each in target.expectation.limits]
    return result.rule.value + (f"; limits of site.yaml: {', '.join(limits)}" if limits else "")


def _scope(site: Site, run: RunResult, ledger: Ledger, about: Circumstances) -> Iterator[tuple[Evidence, bytes]]:
    """Yield the record of the checks without a target; none if the run has no such check."""
    if not run.without_target:
        return
    raw, now = scope.scope_output((node.name for _, node in site.spec.nodes()), run.without_target), utc_now()
    key = (scope.CHECK_ID, CONTROLLER)
    evidence = Evidence(
        check_id=scope.CHECK_ID,
        check_version=1,
        check_sha256=digest({"id": scope.CHECK_ID, "source_sha256": source_sha256(scope.__file__)}),
        title=scope.TITLE,
        method=Method.EXAMINE.value,
        target=CONTROLLER,
        population=Population.of(
            query="the controller",
            declared=(CONTROLLER,),
            sample_rule=WHOLE,
            sampled=(CONTROLLER,),
            discovery="the controller runs this command",
            discovered=(CONTROLLER,),
        ),
        command="targets of the checks, computed from site.yaml",
        exit_code=0,
        raw_sha256=sha256_hex(raw),
        started=now,
        ended=now,
        expires=expiry(scope.CHECK_ID, now),
        verdict=Verdict.PASS,
        rule="checks without a target in site.yaml are stated",
        reason=f"{len(run.without_target)} checks have no target: {', '.join(run.without_target)}",
        simulated=any(result.simulated for result in run.results),
        previous=previous_results(LedgerReader(ledger.directory), [key]).get(key, NONE),
        **vars(about),
    )
    yield evidence, raw
