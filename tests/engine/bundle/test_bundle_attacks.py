"""Attacks on an import, each refused with its reason; nothing is published."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bundle_specimens import Builder, long_ago, specimen_files
from hypothesis import given
from hypothesis import strategies as st
from intake_specimens import Site, first

from examples import IS_COMPLETE, examples
from sovctl.engine.bundle import manifest as manifests
from sovctl.engine.bundle import root, signing
from sovctl.engine.bundle.intake.history import State, read
from sovctl.engine.bundle.medium import Medium
from sovctl.engine.bundle.store import Store
from sovctl.engine.bundle.trust import Refused
from sovctl.engine.bundle.verification import verify
from sovctl.support.errors import InputError, SovctlError


def copy(store: Store, to: Path) -> Path:
    shutil.copytree(store.root, to)
    return to


def accepted(builder: Builder, site: Site, tmp_path: Path) -> tuple[Path, Path]:
    """A site that has published sequence 2. Returns the media of 1 and 2."""
    old = copy(builder.build(specimen_files())[0], tmp_path / "old")
    new = copy(builder.build(specimen_files(seed=2))[0], tmp_path / "new")
    site.receive([new], first(builder, 2))
    site.approve("2")
    return old, new


def test_rollback(builder: Builder, site: Site, tmp_path: Path) -> None:
    old, _ = accepted(builder, site, tmp_path)
    with pytest.raises(Refused, match="rollback"):
        site.receive([old])
    shutil.rmtree(site.store.root, ignore_errors=True)  # TUF's memory is lost, the ledger is not
    with pytest.raises(Refused, match="rollback: the site has accepted sequence 2, this bundle has 1"):
        site.receive([old])


def test_freeze(site: Site, tmp_path: Path, builder: Builder) -> None:
    store, _ = builder.build(specimen_files(), now=long_ago(40), expires_days=30)
    with pytest.raises(Refused, match=r"the signatures have expired \(ExpiredMetadataError\)"):
        site.receive([store.root], first(builder))


def test_mix_of_media(builder: Builder, site: Site, tmp_path: Path) -> None:
    old = copy(builder.build(specimen_files())[0], tmp_path / "old")
    new = copy(builder.build(specimen_files(seed=2))[0], tmp_path / "new")
    with pytest.raises(Refused, match="media of different bundles"):
        site.receive([old, new], first(builder, 2))


@pytest.mark.parametrize("name", ["2.targets.json", "2.snapshot.json"])
def test_mix_of_metadata(name: str, builder: Builder, site: Site, tmp_path: Path) -> None:
    old = copy(builder.build(specimen_files())[0], tmp_path / "old")
    new = copy(builder.build(specimen_files(seed=2))[0], tmp_path / "new")
    (new / "metadata" / name).write_bytes((old / "metadata" / name.replace("2.", "1.")).read_bytes())
    with pytest.raises(Refused, match="altered, or is of another bundle"):
        site.receive([new], first(builder, 2))


def test_too_few_signatures(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files(), signers=["anna", "builder"])
    assert not store.is_signed()
    _force_online(builder, store)
    with pytest.raises(Refused, match=r"too few valid signatures \(UnsignedMetadataError\)"):
        site.receive([store.root], first(builder))


def test_the_same_key_twice(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files(), signers=["anna", "builder"])
    path = store.metadata / "1.targets.json"
    document = json.loads(path.read_bytes())
    document["signatures"] *= 2
    path.write_text(json.dumps(document))
    _force_online(builder, store)
    with pytest.raises(Refused, match=r"invalid metadata|too few valid signatures"):
        site.receive([store.root], first(builder))


def test_a_signature_of_a_stranger(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files(), signers=["anna", "builder"])
    path = store.metadata / "1.targets.json"
    document = json.loads(path.read_bytes())
    document["signatures"].append({"keyid": builder.key("mallory").public.keyid, "sig": "00" * 64})
    path.write_text(json.dumps(document))
    _force_online(builder, store)
    with pytest.raises(Refused, match="too few valid signatures"):
        site.receive([store.root], first(builder))


def _force_online(builder: Builder, store: Store) -> None:
    """Sign snapshot and timestamp over targets that lack signatures, as a thief of the builder's key would."""
    signing._write_online(store, store.sequence(), builder.now + timedelta(days=9), [builder.key("builder")])


def test_a_foreign_root(builder: Builder, site: Site, tmp_path: Path) -> None:
    mallory = Builder(tmp_path / "mallory")
    store, _ = mallory.build(specimen_files())
    with pytest.raises(Refused, match="no root with the trusted digest"):
        site.receive([store.root], first(builder))


def test_the_bundle_of_another_site(builder: Builder, site: Site, tmp_path: Path) -> None:
    foreign = copy(builder.build(specimen_files(), site="other-bank")[0], tmp_path / "foreign")
    with pytest.raises(Refused, match="the bundle is for site 'other-bank', this site is 'example-bank'"):
        site.receive([foreign], first(builder))
    own, _ = builder.build(specimen_files(), to=tmp_path / "own", sequence=1)
    assert site.receive([own.root], first(builder)).state is State.SCANNED  # the foreign bundle left no memory


def test_another_bundle_with_the_same_sequence(builder: Builder, site: Site, tmp_path: Path) -> None:
    accepted(builder, site, tmp_path)
    twin, _ = builder.build(specimen_files(seed=3), to=tmp_path / "twin", sequence=2)
    with pytest.raises(Refused, match=r"another bundle with sequence 2|altered|rollback"):
        site.receive([twin.root])


def test_a_fresh_site_with_an_old_medium(builder: Builder, site: Site, tmp_path: Path) -> None:
    old = copy(builder.build(specimen_files())[0], tmp_path / "old")
    builder.build(specimen_files(seed=2))
    with pytest.raises(InputError, match="needs --expect-sequence and --expect-root"):
        site.receive([old])
    with pytest.raises(Refused, match="expected sequence 2, got 1"):
        site.receive([old], first(builder, 2))
    assert not (site.folder / "ledger").exists()


def test_a_clock_in_2019(builder: Builder, site: Site, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files(), now=long_ago(40), expires_days=30)
    with pytest.raises(Refused, match="the clock is wrong: it is 2019-05-01 00:00 UTC, but the release of this sovctl"):
        site.receive([store.root], first(builder), now=datetime(2019, 5, 1, tzinfo=UTC))


def test_a_clock_before_the_bundle_or_the_ledger(builder: Builder, site: Site, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    future, _ = builder.build(specimen_files(), now=now + timedelta(days=3))
    with pytest.raises(Refused, match=r"the clock is wrong: .* but the bundle is of"):
        site.receive([future.root], first(builder), now=now)
    site.receive([future.root], first(builder), now=now + timedelta(days=4))
    with pytest.raises(Refused, match=r"the clock is wrong: .* but the newest record of the site's ledger"):
        site.receive([future.root], now=now + timedelta(days=3, hours=1))


def _link(medium: Path) -> None:
    chunk = next(path for path in (medium / "chunks").rglob("*") if path.is_file())
    chunk.unlink()
    chunk.symlink_to("/etc/shadow")


def _linked_folder(medium: Path) -> None:
    shutil.rmtree(medium / "metadata")
    (medium / "metadata").symlink_to("/etc")


def _many(medium: Path) -> None:
    for number in range(10_000):
        (medium / f"small-{number}").touch()


def _many_chunks(medium: Path) -> None:
    (medium / "chunks" / "00").mkdir(exist_ok=True)
    for number in range(10_000):
        (medium / "chunks" / "00" / f"{number:064x}").touch()


MEDIA: dict[str, tuple[Callable[[Path], object], str]] = {
    "symlink": (_link, "unexpected symbolic link on the medium"),
    "folder that is a link": (_linked_folder, "unexpected symbolic link on the medium: 'metadata'"),
    "pipe": (lambda medium: os.mkfifo(medium / "chunks" / "pipe"), "unexpected device or special file"),
    "autorun": (lambda medium: (medium / "autorun.inf").touch(), "unexpected file on the medium: 'autorun.inf'"),
    "dots": (lambda medium: (medium / "chunks" / "..x").touch(), "unexpected file on the medium: 'chunks/..x'"),
    "control character": (lambda medium: (medium / "a\x1b[2Jb").touch(), r"unexpected file on the medium: 'a\\x1b"),
    "10,000 files": (_many, "unexpected file on the medium: 'small-"),
    "10,000 chunks": (_many_chunks, "10000 chunks that do not belong to the bundle"),
    "no manifest": (lambda medium: (medium / "manifest.json").unlink(), "the manifest is missing"),
    "huge timestamp": (lambda medium: (medium / "metadata/timestamp.json").write_bytes(b" " * (1 << 21)), "larger"),
}


@pytest.mark.parametrize("name", MEDIA)
def test_odd_media(name: str, builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files())
    change, reason = MEDIA[name]
    change(store.root)
    with pytest.raises(SovctlError, match=reason):
        site.receive([store.root], first(builder))
    assert not (site.folder / "ledger").exists()


@pytest.mark.parametrize("path", ["../../etc/cron.d/x", "/etc/cron.d/x", "apt/../../x", "a\x00b", "-rf", ".ssh/keys"])
def test_signed_paths_are_not_trusted(path: str, builder: Builder, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two holders sign a manifest that sovctl would not build."""
    store, manifest = builder.build(specimen_files(), signers=[])
    bad = manifest.model_copy(
        update={"files": (manifest.files[0].model_copy(update={"path": path}), *manifest.files[1:])}
    )
    signing.write_targets(store, bad, builder.trust, now=builder.now)
    signing.sign(store, [builder.key(each) for each in ("anna", "ben", "builder")])
    with pytest.raises(InputError, match=r"absolute path|path with `\.\.`|name with characters"):
        site.receive([store.root], first(builder))
    assert not (site.folder / "ledger").exists()


def test_parts_that_do_not_match_chunks(builder: Builder) -> None:
    _, manifest = builder.build(specimen_files())
    for part in ((0, 0, 2**30), (-1, 0, 5), (99, 0, 5), (0, -5, 5)):
        document = json.loads(manifest.encode())
        sha256 = next(key for key, each in document["contents"].items() if each["size"])
        document["contents"][sha256]["parts"] = [part]
        with pytest.raises(InputError):
            manifests.decode(json.dumps(document).encode(), where="test")


def test_a_replaced_builder_signs_the_next_bundle(builder: Builder, site: Site) -> None:
    site.receive([builder.build(specimen_files())[0].root], first(builder))
    root.rotate(builder.trust, "online", remove="builder", add=builder.holder("successor"), now=builder.now)
    for name in ("anna", "ben"):
        root.sign(builder.trust, builder.key(name))
    honest, _ = builder.build(specimen_files(seed=2), signers=["anna", "ben", "successor"])
    assert site.receive([honest.root]).state is State.SCANNED


@examples(2000, deadline=None)
@given(data=st.data())
def test_no_damaged_byte_is_accepted(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any flipped byte or cut of any file: refused, or the chunk is missing; the metadata is never another one."""
    medium, sha256, names = _undamaged(tmp_path_factory)
    name = data.draw(st.sampled_from(names))
    path = medium / name
    before = path.read_bytes()
    place = data.draw(st.integers(0, max(0, len(before) - 1)))
    cut = data.draw(st.booleans()) or not before
    change = data.draw(st.integers(1, 255))
    damaged = before[:place] if cut else before[:place] + bytes([before[place] ^ change]) + before[place + 1 :]
    path.write_bytes(damaged)
    try:
        found = verify([Medium(medium)], root_sha256=sha256)
    except SovctlError:
        return
    finally:
        path.write_bytes(before)
    if name.startswith("chunks/"):
        assert found.missing == (Path(name).name,)
    else:
        assert found.bundle.manifest.sequence == 1
        assert _same_meaning(name, before, damaged)


_MADE: dict[str, tuple[Path, str, list[str]]] = {}


def _undamaged(factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    if not _MADE:
        builder = Builder(factory.mktemp("outside"))
        store, _ = builder.build({"apt/a.deb": b"a" * 300, "apt/b.deb": b"b" * 70_000})
        names = sorted(str(path.relative_to(store.root)) for path in store.root.rglob("*") if path.is_file())
        _MADE["medium"] = store.root, builder.root_sha256, names
    return _MADE["medium"]


def _same_meaning(name: str, before: bytes, damaged: bytes) -> bool:
    """Whether signed values are equal: in root and timestamp, unsigned bytes can differ (white space, signatures)."""
    assert name in ("metadata/1.root.json", "metadata/timestamp.json")
    return bool(json.loads(before)["signed"] == json.loads(damaged)["signed"])


_IMPORT = """
import os, signal, sys
from pathlib import Path
folder, medium, root, tests, limit = sys.argv[1:]
sys.path.insert(0, tests)
from intake_specimens import Site
from sovctl.engine.bundle.intake import clamav
from sovctl.engine.bundle.intake.admission import Expected

calls = 0

def count(event, arguments):
    global calls
    if event in ("open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.symlink", "os.chmod", "os.rmdir"):
        if str(arguments[0]).startswith(folder):
            calls += 1
            if calls == int(limit):
                os.kill(os.getpid(), signal.SIGKILL)

clamav.PROGRAM = "no-such-scanner"
site = Site(Path(folder))
sys.addaudithook(count)
site.receive([Path(medium)], Expected(1, root))
site.approve("1")
print(calls)
"""


def test_kill_9_at_random_points_then_resume(builder: Builder, tmp_path: Path) -> None:
    """A process kills itself at a random call that opens, renames or links a file of the site."""
    files = specimen_files()
    store, _ = builder.build(files)

    def run(site: Path, limit: int) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", _IMPORT, site, store.root, builder.root_sha256, Path(__file__).parents[2], limit]
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[3])}
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, env=environ, check=False)

    done = run(tmp_path / "whole", 0)
    assert done.returncode == 0, done.stderr
    calls = int(done.stdout)
    source = random.Random()
    for number in range(100 if IS_COMPLETE else 6):
        site = Site(tmp_path / f"site-{number}")
        points = [source.randint(1, calls), source.randint(1, calls)]
        for point in points:  # the second kill is in the resumed import, if it has that many calls
            killed = run(site.folder, point)
            assert killed.returncode in (-signal.SIGKILL, 0), (points, killed.stderr)
            assert not site.store.current.exists() or site.published() == files, points
        resumed = run(site.folder, 0)
        assert resumed.returncode == 0, (points, resumed.stderr)
        assert site.published() == files, points
        (found,) = read(site.folder / "ledger").bundles.values()
        assert found.state is State.PUBLISHED
