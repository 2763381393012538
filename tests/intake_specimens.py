"""A site with persons and a policy that accepts bundles without a scanner."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bundle_specimens import SITE, Builder

from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.engine.bundle.intake import clamav
from sovctl.engine.bundle.intake.admission import Expected
from sovctl.engine.bundle.intake.intake import Intake, LedgerFiles, Outcome
from sovctl.engine.bundle.intake.policy import Policy, Scanner, WithoutScanner
from sovctl.engine.bundle.intake.site_store import SiteStore

ACCEPTED = WithoutScanner(by="security office", reason="scanned at the gate")


class Site:
    """A closed site; `now` of all commands is the time of the test."""

    def __init__(self, folder: Path, *, name: str = SITE, accepted: WithoutScanner | None = ACCEPTED) -> None:
        self.folder, self.name = folder, name
        self.keys = {each: load_or_create(folder / "keys" / f"{each}.key") for each in ("importer", "approver")}
        persons = {key.public.keyid: person for person, key in self.keys.items()}
        self.policy = Policy(persons, Scanner(), accepted, "0" * 64)
        self.store = SiteStore(folder / "store")

    @property
    def intake(self) -> Intake:
        """The imports of the site."""
        key = self.folder / "keys" / "ledger.key"
        ledger = LedgerFiles(self.folder / "ledger", f"sovctl.{self.name}/site", lambda: load_or_create(key))
        return Intake(self.store, ledger, site=self.name, policy=self.policy)

    def receive(
        self, media: Sequence[Path], expected: Expected | None = None, *, now: datetime | None = None
    ) -> Outcome:
        """Import media as the importer."""
        return self.intake.receive(
            media, key=self.keys["importer"], expected=expected or Expected(), now=now or datetime.now(UTC)
        )

    def approve(self, bundle: str, *, key: SigningKey | None = None) -> Path:
        """Approve as the approver."""
        return self.intake.approve(bundle, key=key or self.keys["approver"], now=datetime.now(UTC))

    def published(self) -> dict[str, bytes]:
        """The files below the link `current`."""
        root = self.store.current
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def first(builder: Builder, sequence: int = 1) -> Expected:
    """Values of the second channel for a first import."""
    return Expected(sequence, builder.root_sha256)


def without_scanner(monkeypatch: object) -> None:
    """Hide ClamAV, also where it is installed."""
    monkeypatch.setattr(clamav, "PROGRAM", "no-such-scanner")  # type: ignore[attr-defined]
