"""Stores the results of a run as evidence: one record per result, with raw output, in the site's store and ledger."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator

from sovctl.compliance.controls import scope
from sovctl.compliance.evidence.freshness import expiry
from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.evidence.store import EvidenceStore, StoredEvidence, new_run_id
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.compliance.verdict import Verdict
from sovctl.support.canonical_json import sha256_hex

from ...plan import code_wheel
from ...site.site import Site
from ..model.check import Method
from ..model.check_context import CONTROLLER
from ..model.result import utc_now
from .counter_readings import store_readings
from .node_certificates import issuer_of
from .run import RunResult, last_applied_plan
from .tree_findings import store_findings


def keep(site: Site, run: RunResult) -> list[StoredEvidence]:
    """Store every result of a run durably, then its scope, its findings for the next plan, and counters.

    Certificates of nodes of which a part changed become void.

    Returns:
        The results, in the order of the targets.

    Raises:
        Busy: another process is writing to the site's ledger.
        LedgerDamaged, LedgerUnwritable: no record was stored.
    """
    store_findings(site, run)
    plan = last_applied_plan(site.state)
    key = load_or_create(site.state.prepare().keys / "ledger.key")
    origin = f"sovctl.{site.spec.site.name}/site"
    with Ledger.open(site.state.ledger, origin=origin, key=key) as ledger:
        store = EvidenceStore(site.state.evidence, ledger, run_id=new_run_id())
        stored = store.add_all([*_records(site, run, plan), *_scope(site, run, plan)])[: len(run.results)]
    store_readings(site, run)
    issuer_of(site.spec, site.state.root, site.loaded.catalog.platforms).void_changed(store.run_id, stored)
    return stored


def keep_of_gate(site: Site, run: RunResult, ledger: Ledger, *, plan_sha256: str) -> str:
    """Store every result of the checks between two waves of an apply durably, and return the id of the run.

    Args:
        plan_sha256: digest of the plan that is applied.
    """
    store = EvidenceStore(site.state.evidence, ledger, run_id=new_run_id(is_gate=True))
    store.add_all(_records(site, run, plan_sha256))
    return store.run_id


def _records(site: Site, run: RunResult, plan_sha256: str | None) -> Iterator[tuple[Evidence, bytes]]:
    user, version = actor(), code_wheel.version()
    for target, result in zip(run.targets, run.results, strict=True):
        evidence = Evidence(
            check_id=target.check.id,
            check_version=target.check.version,
            title=target.check.title,
            controls=list(target.check.controls),
            method=target.check.method.value,
            target=target.name,
            population=run.populations[target.check.id],
            command=result.command,
            exit_code=result.exit_code,
            raw_sha256=sha256_hex(result.raw),
            started=result.started,
            ended=result.ended,
            expires=expiry(target.check.id, result.ended, is_active=target.check.is_active),
            verdict=result.verdict,
            reason=result.reason,
            simulated=bool(result.simulated),
            actor=user,
            tool_version=version,
            spec_sha256=site.loaded.spec_sha256,
            plan_sha256=plan_sha256,
        )
        yield evidence, result.raw


def _scope(site: Site, run: RunResult, plan_sha256: str | None) -> Iterator[tuple[Evidence, bytes]]:
    """Yield the record of the checks without a target; none if the run has no such check."""
    if not run.without_target:
        return
    raw, now = scope.scope_output((node.name for _, node in site.spec.nodes()), run.without_target), utc_now()
    evidence = Evidence(
        check_id=scope.CHECK_ID,
        check_version=1,
        title=scope.TITLE,
        controls=[],
        method=Method.EXAMINE.value,
        target=CONTROLLER,
        population=[CONTROLLER],
        command="targets of the checks, computed from site.yaml",
        exit_code=0,
        raw_sha256=sha256_hex(raw),
        started=now,
        ended=now,
        expires=expiry(scope.CHECK_ID, now),
        verdict=Verdict.PASS,
        reason=f"{len(run.without_target)} checks have no target: {', '.join(run.without_target)}",
        simulated=any(result.simulated for result in run.results),
        actor=actor(),
        tool_version=code_wheel.version(),
        spec_sha256=site.loaded.spec_sha256,
        plan_sha256=plan_sha256,
    )
    yield evidence, raw


def actor() -> str:
    """Return user@controller; under sudo the user who called it."""
    try:
        user = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        user = f"uid-{os.getuid()}"
    return f"{user}@{socket.gethostname()}"
