"""Items of the supply: root, inventory, lock, policy, imports; and answers of a mirror and of nodes."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bundle_specimens import Builder, specimen_files
from doctor_sites import findings, loopback_site, states
from intake_specimens import Site as ImportingSite
from intake_specimens import first, without_scanner

from sovctl.compliance.signing import load_or_create
from sovctl.engine.doctor.answers import Answers, Download, download
from sovctl.engine.doctor.diagnosis import diagnose
from sovctl.engine.doctor.item import State
from sovctl.engine.doctor.nodes import MIN_FREE_BYTES, measure_nodes
from sovctl.engine.doctor.situation import Situation
from sovctl.engine.doctor.supply import measure_manifests, measure_mirror
from sovctl.engine.lock import inventory
from sovctl.engine.lock.folder import Lock, write_lock
from sovctl.engine.lock.inventory import NodeStatus, PackageBase, SiteInventory
from sovctl.engine.site.site import Site
from sovctl.engine.spec.mirror import SiteMirror
from sovctl.support.canonical_json import sha256_hex

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return loopback_site(tmp_path / "site", port=2222)


def _write_inventory(site: Path, names: list[str]) -> None:
    base = PackageBase("apt", "")
    status = [NodeStatus(name, {}, "none", False, None, None, None, (), None, None, base.sha256) for name in names]
    found = SiteInventory("x", "2026-11-28T12:00:00Z", tuple(status), {base.sha256: base})
    state = Site.open(site, touches_nodes=False).state.prepare()
    inventory.save(found, state.inventory_file)


def test_an_incomplete_inventory_names_the_nodes_and_blocks_the_lock(site: Path) -> None:
    names = [node.name for _, node in Site.open(site, touches_nodes=False).spec.nodes()]
    _write_inventory(site, names[1:])
    found = diagnose(site)
    assert [each.subject for each in findings(found, "inventory")] == names[:1]
    assert states(found, "lock") == {State.NOT_YET}
    _write_inventory(site, names)
    found = diagnose(site)
    assert states(found, "inventory") == {State.DONE}
    assert states(found, "lock") == {State.MISSING}


def test_a_lock_of_another_site_yaml_is_missing(site: Path) -> None:
    names = [node.name for _, node in Site.open(site, touches_nodes=False).spec.nodes()]
    _write_inventory(site, names)
    digest = Site.open(site, touches_nodes=False).loaded.spec_sha256
    write_lock(Lock("x", {"site": digest}, (), ()), site.parent / "locks", "")
    assert states(diagnose(site), "lock") == {State.DONE}
    site.write_text(site.read_text().replace("retention_days: 1825", "retention_days: 1826"))
    (finding,) = findings(diagnose(site), "lock")
    assert (finding.state, finding.reason) == (State.MISSING, "the lock is of another site.yaml")


def test_root_needs_the_second_signature(site: Path, tmp_path: Path) -> None:
    builder = Builder(tmp_path / "outside")
    assert states(diagnose(site), "bundle-root") == {State.MISSING}
    assert states(diagnose(site, trust=builder.trust), "bundle-root") == {State.DONE}


def test_policy_needs_two_persons(site: Path) -> None:
    assert states(diagnose(site), "import-policy") == {State.MISSING}
    keys = [load_or_create(site.parent / f"{name}.key").public.vkey(name) for name in ("anna", "ben")]
    policy = site.parent / "import-policy.yaml"
    policy.write_text(f"persons: [{keys[0]}]\n")
    assert states(diagnose(site), "import-policy") == {State.MISSING}
    policy.write_text(f"persons: [{keys[0]}, {keys[1]}]\n")
    assert states(diagnose(site), "import-policy") == {State.DONE}


def test_a_scanned_bundle_waits_for_the_second_person(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_scanner(monkeypatch)
    builder, importer = Builder(tmp_path / "outside"), ImportingSite(site.parent / ".sovctl")
    store, _ = builder.build(specimen_files())
    importer.receive([store.root], first(builder))
    (finding,) = findings(diagnose(site), "import")
    assert finding.state is State.NOT_YET  # the lock is absent
    assert finding.reason.startswith("scanned; after: ")
    assert "sovctl import approve 1" in finding.remedy
    importer.approve("1")
    assert states(diagnose(site), "import") == {State.DONE}


@contextmanager
def _mirror(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_downloads_of_the_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # ignored
    (tmp_path / "MANIFEST").write_text("invented\n")
    with _mirror(tmp_path) as url:
        assert download(f"{url}/MANIFEST") == Download(f"{url}/MANIFEST", sha256=sha256_hex(b"invented\n"))
        assert download(f"{url}/absent").error == "status 404"
    assert download(f"{url}/MANIFEST").error == "connection refused"


def _situation(
    site: Path, *, clock: timedelta = timedelta(), free: int = MIN_FREE_BYTES, manifest: str = ""
) -> Situation:
    opened = Site.open(site, touches_nodes=False)
    space = f"Mounted 1B-blocks Avail Inodes IFree\n/ {free * 2} {free} 100 50\n"
    commands = {
        "time": {"exit_code": 0, "stdout": f"{(NOW + clock).timestamp():.9f}\n", "stderr": ""},
        "space": {"exit_code": 0, "stdout": space, "stderr": ""},
    }
    nodes = [node.name for _, node in opened.spec.nodes()]
    answers = Answers(
        captures={name: {"commands": commands} for name in nodes[1:]},
        failures={nodes[0]: ("sudo asks for a password", "permit it")},
        asked=NOW,
        answered=NOW + timedelta(seconds=20),
        repository=Download("http://127.0.0.5/InRelease", sha256="0" * 64),
        manifests={each.name: Download("MANIFEST", sha256=manifest) for each in opened.spec.models},
    )
    return Situation(site, opened, None, opened.state, site.parent, site.parent, NOW, {}, answers)


@pytest.mark.parametrize(
    ("clock", "free", "reason"),
    [
        (timedelta(seconds=10), MIN_FREE_BYTES, ""),
        (timedelta(seconds=-200), MIN_FREE_BYTES, ""),
        (timedelta(seconds=-301), MIN_FREE_BYTES, "its clock differs from this controller's by at least 301 s"),
        (timedelta(days=-2500), MIN_FREE_BYTES, "its clock differs from this controller's by at least 216000000 s"),
        (timedelta(), MIN_FREE_BYTES - 1, "expected 20 GiB free in /, got 19 GiB"),
    ],
)
def test_clock_and_disk_of_nodes(site: Path, clock: timedelta, free: int, reason: str) -> None:
    failed, *others = measure_nodes(_situation(site, clock=clock, free=free))
    assert (failed.state, failed.reason) == (State.MISSING, "sudo asks for a password")
    assert {each.state for each in others} == {State.MISSING if reason else State.DONE}
    if reason:
        assert {each.reason for each in others} == {reason}


def test_a_manifest_of_the_mirror_is_compared(site: Path) -> None:
    right = "ab" * 32
    site.write_text(site.read_text().replace("0" * 64, right))
    assert {each.state for each in measure_manifests(_situation(site, manifest=right))} == {State.DONE}
    assert {each.state for each in measure_manifests(_situation(site, manifest="cd" * 32))} == {State.MISSING}


def test_manifests_of_a_mirror_node_are_read_from_the_selected_snapshot(tmp_path: Path) -> None:
    site = loopback_site(tmp_path / "site", port=2222)
    opened = Site.open(site, touches_nodes=False)
    mirror = SiteMirror(nodes=["gw-1"], store="published")
    opened.spec = opened.spec.model_copy(update={"mirror": mirror})
    situation = replace(_situation(site), site=opened, answers=None)
    assert {each.state for each in measure_mirror(situation)} == {State.MISSING}
    selected = site.parent / "published" / "mirror" / "selected"
    selected.mkdir(parents=True)
    assert {each.state for each in measure_mirror(situation)} == {State.DONE}
    models = [each.model_copy(update={"manifest_sha256": sha256_hex(b"invented")}) for each in opened.spec.models]
    opened.spec = opened.spec.model_copy(update={"models": models})
    assert {each.reason for each in measure_manifests(situation)} == {"no such file"}
    for each in models:
        (selected / "models" / each.name).mkdir(parents=True)
        (selected / "models" / each.name / "MANIFEST").write_bytes(b"invented")
    assert {each.reason for each in measure_manifests(situation)} == {"equals site.yaml"}
