"""Selects a published bundle for the mirror of a site. The ledger records each selection, also of an earlier bundle."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.errors import InputError
from sovctl.support.operator_name import operator_name

from ..mirror import snapshots
from ..mirror.apt_key import AptKey
from ..mirror.snapshots import MirrorSnapshot
from ..site.state_folder import SiteState
from ..validation.load import load
from .intake import history
from .intake.history import State
from .manifest import TIME_FORMAT

RECORD = "mirror-selected"


def select(site: Path, store: Path, name: str, *, state: Path | None, now: datetime) -> MirrorSnapshot:
    """Sign the indexes of a published bundle, select it, and record the selection.

    Args:
        site: site.yaml, or its folder.
        store: of `sovctl import`.
        name: id or sequence of the bundle.

    Raises:
        InputError: unknown or not published, or the apt key differs from `artifacts.apt_key_file`.
        Busy: another process is changing the site.
    """
    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths = SiteState.of_site(loaded.path, state)
    with paths.exclusive("mirror select"):
        bundle = history.read(paths.ledger).bundle(name)
        if bundle.state is not State.PUBLISHED:
            raise InputError(f"bundle {bundle.id} is {bundle.state}, not published", hint="sovctl import status")
        key = AptKey(paths.keys / "apt.key", loaded.spec.site.name)
        key.ensure(loaded.path.resolve().parent / loaded.spec.artifacts.apt_key_file)
        previous = snapshots.selected(store)
        found = snapshots.select(store, bundle.id, key, site=loaded.spec.site.name, now=now)
        if previous is None or previous.id != found.id:
            record: dict[str, Any] = {
                "type": RECORD,
                "time": now.strftime(TIME_FORMAT),
                "site": loaded.spec.site.name,
                "bundle": found.id,
                "manifest_sha256": found.manifest_sha256,
                "previous": previous.id if previous else None,
                "operator": operator_name(),
            }
            origin = f"sovctl.{loaded.spec.site.name}/site"
            with Ledger.open(paths.ledger, origin=origin, key=load_or_create(paths.keys / "ledger.key")) as ledger:
                ledger.append([record])
    return found


def snapshots_of(site: Path, store: Path, *, state: Path | None) -> Sequence[dict[str, Any]]:
    """Return the published bundles of a site as plain values, newest first."""
    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths = SiteState.of_site(loaded.path, state)
    signed = {each.id: each for each in snapshots.listed(store)}
    chosen = snapshots.selected(store)
    bundles = [each for each in history.read(paths.ledger).bundles.values() if each.state is State.PUBLISHED]
    return [
        {
            "bundle": each.id,
            "sequence": each.sequence,
            "created": each.opened["created"],
            "selected": chosen is not None and chosen.id == each.id,
            "manifest_sha256": signed[each.id].manifest_sha256 if each.id in signed else None,
        }
        for each in sorted(bundles, key=lambda each: -each.sequence)
    ]
