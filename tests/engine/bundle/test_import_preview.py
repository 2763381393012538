"""What the approver of a bundle sees: differences from the published lock, licences, scanner, changes of nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bundle_specimens import SITE, Builder
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from intake_specimens import Site, first

from sovctl.cli.views.preview import show_preview
from sovctl.engine.bundle.intake.history import read
from sovctl.engine.bundle.intake.preview import NodeChange, Preview, preview_of
from sovctl.engine.bundle.trust import Refused
from sovctl.engine.lock.files import BILL, LOCK_FOLDER, files_of
from sovctl.engine.lock.folder import Lock, write_lock
from sovctl.engine.lock.inventory import NodeStatus, PackageBase, SiteInventory
from sovctl.engine.lock.part import LockedPackage, Part
from sovctl.support.canonical_json import sha256_hex

STATUS = """Package: openssl
Status: install ok installed
Architecture: amd64
Version: 3.0.1-1

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0
"""
BASE = PackageBase("apt", STATUS)
ACCEPTED = {"name": "nvidia-open", "licence": "vendor", "by": "head of IT", "on": "2026-11-20", "because": "contract"}


def package(name: str, version: str, *, kind: str = "deb") -> LockedPackage:
    content = f"{name} {version}".encode()
    path = f"models/{name}" if kind == "model" else f"apt/debian-12-amd64/{name}_{version}_amd64.deb"
    return LockedPackage(
        name, version, "" if kind == "model" else "amd64", path, len(content), sha256_hex(content),
        "Debian bookworm main", "https://example.com/x", "free (Debian main)", "yes",
    )  # fmt: skip


def lock_of(*packages: LockedPackage, base: PackageBase = BASE) -> Lock:
    part = Part(
        id=f"debian-12-amd64-{base.sha256[:8]}", kind="deb",
        target={"system": "debian-12", "architecture": "amd64", "base": base.sha256},
        roots=("openssl",), roles={}, packages=packages, solver={}, closure_check="invented",
        index="Package: openssl\n",
    )  # fmt: skip
    model = package("echo/config.json", "1f2e", kind="model")
    models = Part("models", "model", {}, ("echo",), {}, (model,), {}, "not applicable")
    return Lock(SITE, {}, (ACCEPTED,), (part, models))


def inventory(*, base: PackageBase = BASE) -> SiteInventory:
    node = NodeStatus("n1", {"id": "debian"}, "none", False, None, None, None, (), None, None, base.sha256)
    return SiteInventory(SITE, "2026-11-28T00:00:00Z", (node,), {base.sha256: base})


def contents(lock: Lock) -> dict[str, bytes]:
    named = {each.path: f"{each.name} {each.version}".encode() for part in lock.parts for each in part.packages}
    return {each.file.path: each.content or named[each.file.path] for each in files_of(lock)}


def received(builder: Builder, site: Site, lock: Lock, folder: Path) -> Preview:
    """Build a bundle of a lock, import it, and return its preview."""
    write_lock(lock, folder, "")
    files = contents(lock)
    builder.lock(files)
    store, manifest = builder.build(files, lock=folder)
    site.receive([store.root], first(builder) if manifest.sequence == 1 else None)
    return preview_of(str(manifest.sequence), site.store, read(site.folder / "ledger"), inventory())


def test_the_approver_sees_packages_licences_and_nodes(
    builder: Builder, site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = lock_of(package("openssl", "3.0.2-1"), package("nginx", "1.22.1-9"), package("old", "1"))
    begun = received(builder, site, one, tmp_path / "one")
    assert begun.compared_with is None
    assert {each.change for each in begun.differences} == {"added"}
    assert begun.nodes["n1"] == (
        NodeChange("openssl", "3.0.1-1", "3.0.2-1"), NodeChange("nginx", None, "1.22.1-9"),
        NodeChange("old", None, "1"),
    )  # fmt: skip
    snapshot = site.approve("1")
    two = lock_of(package("openssl", "3.0.3-1"), package("nginx", "1.22.1-9"), package("new", "2"))
    found = received(builder, site, two, tmp_path / "two")
    assert found.compared_with == snapshot.name
    assert [(each.change, each.name) for each in found.differences] == [
        ("added", "new"), ("removed", "old"), ("changed", "openssl"),
    ]  # fmt: skip
    show_preview(found)
    text = capsys.readouterr().out
    for words in (
        "sequence 2: scanned", "imported by importer", "signed by anna, ben", "none, accepted by security office",
        f"3 differences from snapshot {snapshot.name}", "nvidia-open", "head of IT", "openssl 3.0.1-1 -> 3.0.3-1",
    ):  # fmt: skip
        assert words in text
    assert found.as_json()["nodes"]["n1"][0] == {"package": "openssl", "installed": "3.0.1-1", "new": "3.0.3-1"}


def test_a_node_with_another_package_status_is_unknown(
    builder: Builder, site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = PackageBase("apt", STATUS.replace("3.0.1", "3.0.9"))
    found = received(builder, site, lock_of(package("openssl", "3.0.2-1"), base=other), tmp_path / "locks")
    assert dict(found.nodes) == {"n1": None}
    show_preview(found)
    assert "unknown" in capsys.readouterr().out


def test_a_published_or_unknown_bundle_is_refused(builder: Builder, site: Site, tmp_path: Path) -> None:
    received(builder, site, lock_of(package("openssl", "3.0.2-1")), tmp_path / "locks")
    site.approve("1")
    with pytest.raises(Refused, match="published"):
        preview_of("1", site.store, read(site.folder / "ledger"), None)


def test_an_altered_lock_in_quarantine_is_refused(builder: Builder, site: Site, tmp_path: Path) -> None:
    lock = lock_of(package("openssl", "3.0.2-1"))
    found = received(builder, site, lock, tmp_path / "locks")
    file = site.store.quarantine(found.bundle.id).file(sha256_hex(lock.index()))
    file.write_text(file.read_text().replace("head of IT", "nobody"))
    with pytest.raises(Refused, match="altered"):
        preview_of("1", site.store, read(site.folder / "ledger"), None)


def test_a_lock_that_is_not_the_one_of_the_manifest_is_refused(builder: Builder, site: Site, tmp_path: Path) -> None:
    lock = lock_of(package("openssl", "3.0.2-1"))
    files = contents(lock)
    store, _ = builder.build(files)  # its manifest names a list of these files, not the lock among them
    site.receive([store.root], first(builder))
    with pytest.raises(Refused, match="not the one of its manifest"):
        preview_of("1", site.store, read(site.folder / "ledger"), None)


def test_a_bundle_has_the_bill_of_materials_of_its_lock() -> None:
    lock = lock_of(package("openssl", "3.0.2-1"), replace(package("own", "1"), redistributable="own-file", url=""))
    text = contents(lock)[f"{LOCK_FOLDER}/{BILL}"].decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert text == contents(lock)[f"{LOCK_FOLDER}/{BILL}"].decode()
    assert "pkg:deb/debian/openssl@3.0.2-1?arch=amd64&distro=debian-12" in text
    assert '"machine-learning-model"' in text
