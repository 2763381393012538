"""Opens the imports of a site: its name, ledger, policy and store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import load_or_create

from ...lock.inventory import load as load_inventory
from ...site.state_folder import SiteState
from ...validation.load import load
from . import history
from .history import Bundle, State
from .intake import Intake, LedgerFiles
from .policy import FILE
from .policy import load as load_policy
from .preview import Preview, preview_of
from .site_store import SiteStore


@contextmanager
def open_intake(
    site: Path,
    into: Path,
    *,
    state: Path | None = None,
    policy: Path | None = None,
    report: Callable[[str], object] = str,
) -> Iterator[Intake]:
    """Yield the imports of a site, and hold the site's lock.

    Args:
        site: site.yaml, or its folder.
        into: store.
        policy: default: `import-policy.yaml` next to site.yaml.

    Raises:
        SpecError: site.yaml or the policy is invalid.
        Busy: another process is changing the site.
    """
    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths = SiteState.of_site(loaded.path, state)
    name = loaded.spec.site.name
    rules = load_policy(policy or loaded.path.resolve().parent / FILE)
    ledger = LedgerFiles(paths.ledger, f"sovctl.{name}/site", lambda: load_or_create(paths.keys / "ledger.key"))
    with paths.exclusive("import"):
        yield Intake(SiteStore(into), ledger, site=name, policy=rules, report=report)


def statuses(site: Path, into: Path | None, *, state: Path | None = None) -> list[dict[str, Any]]:
    """Return all bundles of the ledger, in its order, as plain values.

    Args:
        into: store; None: without the bytes that are received.
    """
    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths = SiteState.of_site(loaded.path, state)
    store = SiteStore(into) if into else None
    return [_status(each, store) for each in history.read(paths.ledger).bundles.values()]


def preview(site: Path, into: Path, name: str, *, state: Path | None = None) -> Preview:
    """Return what a verified bundle changes. See `preview_of`."""
    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths = SiteState.of_site(loaded.path, state)
    inventory = load_inventory(paths.inventory_file) if paths.inventory_file.exists() else None
    return preview_of(name, SiteStore(into), history.read(paths.ledger), inventory)


def _status(bundle: Bundle, store: SiteStore | None) -> dict[str, Any]:
    opened, scanned = bundle.opened, bundle.records.get(State.SCANNED, {})
    approver = bundle.records.get(State.APPROVED, {}).get("approver", {})
    published = bundle.records.get(State.PUBLISHED, {})
    return {
        "bundle": bundle.id,
        "sequence": bundle.sequence,
        "state": str(bundle.state),
        "states": [str(each) for each in history.ORDER if each in bundle.records],
        "created": opened["created"],
        "signers": opened["signers"],
        "importer": opened["importer"]["name"],
        "importer_keyid": opened["importer"]["keyid"],
        "approver": approver.get("name"),
        "approver_keyid": approver.get("keyid"),
        "scanner": scanned.get("scanner"),
        "accepted_by": scanned.get("accepted_by"),
        "published": published.get("time"),
        "files": published.get("files"),
        "received": _received(bundle, store) if store else "-",
    }


def _received(bundle: Bundle, store: SiteStore) -> str:
    quarantine = store.quarantine(bundle.id)
    if not quarantine.root.is_dir():
        return "-"
    chunks = quarantine.manifest(str(bundle.opened["manifest_sha256"])).chunks
    done = quarantine.chunks_done()
    size = sum(each.size for each in chunks if each.sha256 in done)
    return f"{len(done)} of {len(chunks)} chunks, {size / 1e6:.1f} of {sum(e.size for e in chunks) / 1e6:.1f} MB"
