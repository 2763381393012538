"""Imports media, and takes the decisions of persons. Each state is recorded in the ledger after its work is durable.

intake = Intake(store, ledger, site="example-bank", policy=policy)
intake.receive(media, key=anna, expected=Expected(7, root), now=now)     # opened ... scanned
intake.approve("7", key=ben, now=now)                                   # approved, published
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import SigningKey, sign_document
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

from .. import published
from ..manifest import TIME_FORMAT, Manifest
from ..medium import Medium
from ..trust import Refused, Verified, open_bundle
from . import admission, clamav, contents, history, inspection
from .adapters import refused_adapters
from .admission import Expected
from .history import Bundle, State
from .policy import Policy
from .publish import publish
from .receive import Received, needed_contents, receive
from .site_store import Quarantine, SiteStore

_MAX_FINDINGS = 50  # named in a record or message


@dataclass(frozen=True)
class LedgerFiles:
    """Ledger of the site.

    Args:
        origin: `sovctl.SITE/site`.
        key: loads the key, which signs checkpoints.
    """

    folder: Path
    origin: str
    key: Callable[[], SigningKey]


@dataclass(frozen=True)
class Outcome:
    """Result of reading media.

    Args:
        received: missing and damaged chunks.
        state: of the bundle.
        not_scanned: paths of weights, whose format was checked instead of a virus scan.
    """

    bundle: str
    sequence: int
    state: State
    received: Received
    not_scanned: tuple[str, ...] = ()


class Intake:
    """Imports of one site. The caller holds the site's lock.

    Args:
        report: shows progress.
    """

    def __init__(
        self,
        store: SiteStore,
        ledger: LedgerFiles,
        *,
        site: str,
        policy: Policy,
        report: Callable[[str], object] = str,
    ) -> None:
        self.store, self.ledger, self.site, self.policy, self.report = store, ledger, site, policy, report

    def receive(
        self, media: Sequence[Path], *, key: SigningKey, expected: Expected = Expected(), now: datetime
    ) -> Outcome:
        """Receive media of one bundle; verify and scan it when its last chunk has arrived. Resumes, and is idempotent.

        Raises:
            Refused: the bundle or a medium is not accepted, or a file has findings.
            InputError: an option, a key or the policy is invalid.
        """
        person = self.policy.person(key.public)
        known = history.read(self.ledger.folder)
        admission.check_clock(known, now=now)
        root_sha256 = admission.trusted_root(known, expected)
        opened = [Medium(each) for each in media]
        self.store.prepare()
        bundle = self._open(opened, root_sha256, known, expected, now)
        found = known.bundles.get(bundle.id)
        if found is None:
            found = self._record_opened(bundle, person, key, now)
        quarantine, manifest = self.store.quarantine(bundle.id), bundle.manifest
        received = Received((), ())
        if history.ORDER.index(found.state) < history.ORDER.index(State.VERIFIED):
            received = self._receive(found, quarantine, manifest, opened, now)
            if received.missing:
                return Outcome(bundle.id, manifest.sequence, State.OPENED, received)
        if found.state is State.VERIFIED:
            self._scan(found, quarantine, manifest, now)
        return Outcome(bundle.id, manifest.sequence, found.state, received, _weights(manifest))

    def approve(self, name: str, *, key: SigningKey, now: datetime) -> Path:
        """Approve a scanned bundle as a second person, and publish it. Idempotent.

        Returns:
            The folder of the snapshot.

        Raises:
            InputError: the same person imported the bundle, it has another state, or the quarantine was altered.
        """
        person = self.policy.person(key.public)
        known = history.read(self.ledger.folder)
        admission.check_clock(known, now=now)
        bundle = known.bundle(name)
        if bundle.state is State.PUBLISHED:
            return self.store.snapshots / bundle.id
        importer = bundle.opened["importer"]
        if key.public.keyid == importer["keyid"] or person == importer["name"]:
            raise InputError(
                f"{person} imported this bundle; another person must approve it",
                where="--key",
                hint="the key of the approver must be in `persons` of the import policy",
            )
        if bundle.state not in (State.SCANNED, State.APPROVED):
            raise InputError(f"bundle {bundle.id} is {bundle.state}, not scanned", hint="sovctl import status")
        if known.newest is not bundle:
            raise Refused(f"the site has accepted a newer bundle than {bundle.id}", hint="approve the newest bundle")
        quarantine = self.store.quarantine(bundle.id)
        manifest = quarantine.manifest(str(bundle.opened["manifest_sha256"]))
        if bundle.state is State.SCANNED:
            self._require_unchanged(bundle, quarantine, manifest)
            self._record(bundle, State.APPROVED, now, approver=_signed(bundle.id, "approve", person, key))
        snapshot = publish(self.store, quarantine, manifest, bundle.id)
        self._record(bundle, State.PUBLISHED, now, files=len(manifest.files))
        quarantine.remove()
        return snapshot

    def reject(self, name: str, *, key: SigningKey, reason: str, now: datetime) -> None:
        """Reject a bundle that is not published: its bytes are deleted, its records stay.

        Raises:
            InputError: unknown or final.
        """
        person = self.policy.person(key.public)
        bundle = history.read(self.ledger.folder).bundle(name)
        if bundle.state.is_final:
            raise InputError(f"bundle {bundle.id} is {bundle.state}", hint="sovctl import status")
        self._record(bundle, State.REJECTED, now, person=_signed(bundle.id, "reject", person, key), reason=reason)
        self.store.quarantine(bundle.id).remove()

    def export(self, path: Path, *, key: SigningKey, now: datetime) -> int:
        """Write the signed list of published contents. Returns their number."""
        bundles = history.read(self.ledger.folder).bundles.values()
        sequence = max((each.sequence for each in bundles if each.state is State.PUBLISHED), default=0)
        found = self.store.published_contents()
        published.write(path, self.site, sequence, found, key, now=now)
        return len(found)

    def _open(
        self,
        media: Sequence[Medium],
        root_sha256: str,
        known: history.History,
        expected: Expected,
        now: datetime,
    ) -> Verified:
        """Verify metadata with a copy of python-tuf's memory, which replaces it only if the bundle is accepted."""
        draft = self.store.root / ".tuf.new"
        shutil.rmtree(draft, ignore_errors=True)
        if self.store.memory.is_dir():
            shutil.copytree(self.store.memory, draft, symlinks=True)
        bundle = open_bundle(media, root_sha256=root_sha256, memory=draft)
        admission.check(bundle, known, expected, site=self.site)
        admission.check_clock(known, now=now, created=bundle.manifest.created_at)
        needed_contents(self.store, bundle.manifest)
        shutil.rmtree(self.store.memory, ignore_errors=True)
        draft.rename(self.store.memory)
        return bundle

    def _receive(
        self, found: Bundle, quarantine: Quarantine, manifest: Manifest, media: Sequence[Medium], now: datetime
    ) -> Received:
        quarantine.begin(manifest)
        for _ in range(2):  # a power failure can lose bytes of chunks that were complete
            received = receive(self.store, quarantine, manifest, media, report=self.report)
            if received.missing:
                return received
            if found.state is State.OPENED:
                self._record(found, State.RECEIVED, now)
            needed = needed_contents(self.store, manifest)
            if not contents.verify(quarantine, manifest, needed, report=self.report):
                self._record(found, State.VERIFIED, now, contents=len(needed))
                return received
        raise Refused("contents differ from their SHA-256 in the manifest", hint="build the bundle again")

    def _scan(self, found: Bundle, quarantine: Quarantine, manifest: Manifest, now: datetime) -> None:
        paths = {each.sha256: each for each in reversed(manifest.files)}
        needed = sorted(needed_contents(self.store, manifest))
        for each in manifest.files:
            if each.sha256 in needed and (
                problem := inspection.problem(each.path, each.kind, quarantine.file(each.sha256))
            ):
                raise Refused(problem, where=each.path, hint=f"sovctl import reject {found.id} --reason TEXT")
        stored = self.store.content
        if reasons := refused_adapters(
            manifest.files, lambda sha256: quarantine.file(sha256) if sha256 in needed else stored(sha256)
        ):
            named = "; ".join(reasons[:_MAX_FINDINGS])
            raise Refused(f"adapters: {named}", hint=f"sovctl import reject {found.id} --reason TEXT")
        scanned = [sha256 for sha256 in needed if not inspection.is_weights(paths[sha256].path)]
        result: dict[str, Any] = {
            "files_scanned": len(scanned),
            "not_virus_scanned": len(needed) - len(scanned),
            "policy_sha256": self.policy.sha256,
        }
        if clamav.is_installed():
            files = [quarantine.file(sha256) for sha256 in scanned]
            scan = clamav.scan(files, self.policy.scanner, now=now)
            if scan.findings:
                named = "; ".join(
                    f"{paths[file.name].path}: {reason}" for file, reason in scan.findings[:_MAX_FINDINGS]
                )
                raise Refused(f"findings of the virus scanner: {named}", hint=f"sovctl import reject {found.id}")
            result |= {"scanner": scan.version, "definitions": scan.definitions.strftime(TIME_FORMAT)}
        elif (accepted := self.policy.accept_without_scanner) is not None:
            result |= {"scanner": "none", "accepted_by": accepted.by, "reason": accepted.reason, "files_scanned": 0}
        else:
            raise Refused(
                "no virus scanner is installed",
                hint="install ClamAV; or accept this by name in the policy: accept_without_scanner",
            )
        self._record(found, State.SCANNED, now, **result)

    def _require_unchanged(self, bundle: Bundle, quarantine: Quarantine, manifest: Manifest) -> None:
        """Compare the quarantine with the signed digests again, because days can pass before the approval."""
        if contents.verify(quarantine, manifest, needed_contents(self.store, manifest), report=self.report):
            raise InputError("the quarantine was altered", where=bundle.id, hint=f"sovctl import reject {bundle.id}")

    def _record_opened(self, bundle: Verified, person: str, key: SigningKey, now: datetime) -> Bundle:
        manifest, found = bundle.manifest, Bundle(bundle.id)
        self._record(
            found,
            State.OPENED,
            now,
            sequence=manifest.sequence,
            created=manifest.created,
            root_version=bundle.root_version,
            root_sha256=bundle.root_sha256,
            targets_sha256=bundle.targets_sha256,
            manifest_sha256=sha256_hex(manifest.encode()),
            lock_sha256=manifest.lock_sha256,
            signers=list(bundle.signers),
            importer=_signed(bundle.id, "import", person, key),
        )
        return found

    def _record(self, bundle: Bundle, state: State, now: datetime, **fields: Any) -> None:
        record: Mapping[str, Any] = {
            "type": history.RECORD_TYPES[state],
            "time": now.strftime(TIME_FORMAT),
            "site": self.site,
            "bundle": bundle.id,
            **fields,
        }
        with Ledger.open(self.ledger.folder, origin=self.ledger.origin, key=self.ledger.key()) as ledger:
            ledger.append([record])
        bundle.records[state] = record


def _signed(bundle: str, action: str, person: str, key: SigningKey) -> dict[str, str]:
    """Return name and signature of a person over an action."""
    return {"name": person, **sign_document({"bundle": bundle, "action": action}, key)}


def _weights(manifest: Manifest) -> tuple[str, ...]:
    return tuple(each.path for each in manifest.files if inspection.is_weights(each.path))
