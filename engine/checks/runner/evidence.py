"""From results to evidence: complete records in the site's store, each bound to its raw output and to the ledger."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.evidence.store import EvidenceStore, StoredEvidence, new_run_id
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.canonical_json import sha256_hex

from ...plan import code_wheel
from ...site.site import Site
from .run import Found, last_applied_plan


def keep(site: Site, found: Found) -> list[StoredEvidence]:
    """Store everything a run saw, durably; in the order of its cases.

    Raises:
        Busy: another process is writing to the site's ledger.
        LedgerDamaged, LedgerUnwritable: nothing was stored.
    """
    plan = last_applied_plan(site.state)
    key = load_or_create(site.state.prepare().keys / "ledger.key")
    origin = f"sovctl.{site.spec.site.name}/site"
    with Ledger.open(site.state.ledger, origin=origin, key=key) as ledger:
        store = EvidenceStore(site.state.evidence, ledger, run_id=new_run_id())
        return store.add_all(_records(site, found, plan))


def _records(site: Site, found: Found, plan_sha256: str | None) -> Iterator[tuple[Evidence, bytes]]:
    who, version = actor(), code_wheel.version()
    for case, result in zip(found.cases, found.results, strict=True):
        evidence = Evidence(
            check_id=case.check.id,
            check_version=case.check.version,
            title=case.check.title,
            controls=list(case.check.controls),
            method=case.check.method,
            target=case.target,
            population=found.populations[case.check.id],
            command=result.command,
            exit_code=result.exit_code,
            raw_sha256=sha256_hex(result.raw),
            started=result.started,
            ended=result.ended,
            verdict=result.verdict,
            reason=result.reason,
            simulated=bool(result.simulated),
            actor=who,
            tool_version=version,
            spec_sha256=site.loaded.spec_sha256,
            plan_sha256=plan_sha256,
        )
        yield evidence, result.raw


def actor() -> str:
    """user@controller; the user behind sudo where there is one."""
    try:
        user = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        user = f"uid-{os.getuid()}"
    return f"{user}@{socket.gethostname()}"
