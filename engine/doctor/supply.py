"""Measures the supply of a closed site: root of bundles, inventory, lock, model manifests, policy, imports, mirror."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import SovctlError

from ..bundle.intake import history, policy
from ..bundle.intake.history import State as BundleState
from ..lock import inventory
from ..lock.folder import INDEX, read_lock
from .answers import Download, manifests
from .item import Finding, done, missing, not_measured
from .situation import Situation

_PLACEHOLDER = "0" * 64
_NOT_CONTACTED = "not contacted"

# State of the newest bundle: what its import needs next.
_NEXT = {
    BundleState.OPENED: "insert the other media: sovctl import MEDIA... --into STORE --key FILE",
    BundleState.RECEIVED: "repeat: sovctl import MEDIA... --into STORE --key FILE",
    BundleState.VERIFIED: "install ClamAV with current definitions, then repeat: sovctl import MEDIA... --into STORE",
    BundleState.SCANNED: "a second person runs: sovctl import approve {sequence} --into STORE --key FILE",
    BundleState.APPROVED: "repeat: sovctl import approve {sequence} --into STORE --key FILE",
    BundleState.REJECTED: "build another bundle: sovctl bundle build",
}


def measure_root(situation: Situation) -> Iterator[Finding]:
    """Check that the newest root of bundles has the signatures of its holders, and has not expired."""
    from ..bundle import root  # needs python-tuf, of the extra `bundle`

    folder = situation.trust
    try:
        found = root.state(folder)
    except SovctlError as error:
        remedy = f"three holders meet (docs/bundle.md): sovctl bundle root init {folder}, then each: bundle root sign"
        yield missing(error.where or str(folder), error.message, remedy)
        return
    if found.missing:
        remedy = f"another holder runs: sovctl bundle root sign {folder} --key FILE"
        yield missing(str(folder), f"version {found.version} lacks {found.missing} signatures", remedy)
    elif found.expires <= situation.now:
        remedy = f"sovctl bundle root rotate {folder}, signed by two holders"
        yield missing(str(folder), f"version {found.version} expired on {found.expires:%Y-%m-%d}", remedy)
    else:
        yield done(str(folder), f"version {found.version}, signed by {', '.join(found.signed_by)}")


def measure_inventory(situation: Situation) -> Iterator[Finding]:
    """Check that the package status of every node was collected."""
    command = f"sovctl inventory collect {situation.path}"
    path = situation.state.inventory_file
    try:
        found = inventory.load(path)
    except SovctlError as error:
        yield missing(error.where or str(path), error.message, command)
        return
    collected = {each.name for each in found.nodes}
    absent = [node.name for _, node in situation.opened.spec.nodes() if node.name not in collected]
    for name in absent:
        yield missing(name, found.not_measured.get(name, "not in the inventory"), command)
    if not absent:
        yield done(str(path), f"{len(collected)} nodes, collected {found.collected}")


def measure_lock(situation: Situation) -> Iterator[Finding]:
    """Check that a lock of this site.yaml exists, and is not altered."""
    folder = situation.locks
    command = f"sovctl lock {situation.path} -o {folder} --inventory inventory.json --inventory-key site.vkey"
    try:
        found = read_lock(folder)
    except SovctlError as error:
        yield missing(error.where or str(folder / INDEX), error.message, command)
    except FileNotFoundError:
        yield missing(str(folder / INDEX), "no such file", command)
    else:
        if found.inputs.get("site") != situation.opened.loaded.spec_sha256:
            yield missing(str(folder), "the lock is of another site.yaml", command)
        else:
            yield done(str(folder), f"{len(found.parts)} parts, lock {found.sha256[:12]}")


def measure_manifests(situation: Situation) -> Iterator[Finding]:
    """Check the digest of each model and adapter, and compare it with the MANIFEST of the mirror, if it is readable."""
    for place, name, expected in manifests(situation.opened.spec):
        where = situation.opened.loaded.where(place)
        compute = f"sha256sum MANIFEST, in the folder of {name}; write the result to site.yaml"
        answer = _manifest(situation, name)
        if expected == _PLACEHOLDER:
            yield missing(where, f"placeholder of zeros for {name}", compute)
        elif answer is None:
            yield done(where, f"{name} has a digest; the files were not compared")
        elif answer.error:
            yield missing(answer.url, answer.error, "import a bundle that contains it")
        elif answer.sha256 != expected:
            yield missing(answer.url, f"expected SHA-256 {expected[:16]}, got {answer.sha256[:16]}", compute)
        else:
            yield done(answer.url, "equals site.yaml")


def _manifest(situation: Situation, name: str) -> Download | None:
    """Return the MANIFEST of the selected snapshot, or of a mirror that was contacted; None without both."""
    if (selected := _selected(situation)) is None:
        return situation.answers.manifests[name] if situation.answers else None
    path = selected / "models" / name / "MANIFEST"
    if not selected.exists():
        return None
    return (
        Download(str(path), sha256_hex(path.read_bytes()))
        if path.is_file()
        else Download(str(path), error="no such file")
    )


def _selected(situation: Situation) -> Path | None:
    """Return the link to the selected snapshot; None if no node of the site is a mirror."""
    mirror = situation.opened.spec.mirror
    return situation.opened.loaded.resolve(mirror.store) / "mirror" / "selected" if mirror else None


def measure_policy(situation: Situation) -> Iterator[Finding]:
    """Check the file with the keys of importers and approvers."""
    path = situation.path.parent / policy.FILE
    try:
        found = policy.load(path)
    except SovctlError as error:
        yield missing(error.where or str(path), error.message, f"write the public keys of two persons to {path}")
    else:
        yield done(str(path), f"{len(found.persons)} persons")


def measure_import(situation: Situation) -> Iterator[Finding]:
    """Read from the ledger whether a bundle is published."""
    found = history.read(situation.state.ledger)
    published = [each for each in found.bundles.values() if each.state is BundleState.PUBLISHED]
    if published:
        yield done(f"bundle {published[-1].id}", "published")
        return
    newest = found.newest
    if newest is None:
        remedy = "sovctl import MEDIA... --into STORE --key FILE --expect-sequence N --expect-root WORDS"
        yield missing(str(situation.state.ledger), "the ledger has no import", remedy)
    else:
        yield missing(f"bundle {newest.id}", str(newest.state), _NEXT[newest.state].format(sequence=newest.sequence))


def measure_mirror(situation: Situation) -> Iterator[Finding]:
    """Check that a snapshot is selected for the mirror nodes, or that the repository of another mirror answers."""
    url = str(situation.opened.spec.artifacts.apt_url)
    if (selected := _selected(situation)) is not None:
        if selected.exists():
            yield done(str(selected), "selected; the first apply installs the mirror nodes")
        else:
            yield missing(
                str(selected), "no snapshot is selected", f"sovctl mirror select ID --into {selected.parents[1]}"
            )
    elif situation.answers is None:
        yield not_measured(url, _NOT_CONTACTED, f"sovctl doctor {situation.path} --nodes")
    elif situation.answers.repository.error:
        answer = situation.answers.repository
        yield missing(answer.url, answer.error, "serve the published snapshot: STORE/current (docs/bundle.md)")
    else:
        yield done(situation.answers.repository.url, "answers")
