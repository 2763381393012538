"""Import of a bundle: any order, resumed, by two persons, published at once, recorded in the ledger."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import pytest
from bundle_specimens import Builder, specimen_files
from intake_specimens import Site, first

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.signing import parse_vkey
from sovctl.compliance.verdict import Verdict
from sovctl.engine.bundle import media, published
from sovctl.engine.bundle.intake.history import State, read
from sovctl.engine.bundle.intake.inspection import problem
from sovctl.engine.bundle.intake.opening import statuses
from sovctl.engine.bundle.store import Store
from sovctl.engine.bundle.trust import Refused
from sovctl.engine.checks.definitions.site.imports_approved import Expected, ImportsApproved
from sovctl.engine.checks.model.check import Judgement, judge
from sovctl.engine.checks.model.probe import MARK, ProbeOutput
from sovctl.support.errors import InputError

PRESET = Path(__file__).parents[3] / "examples" / "closed-perimeter" / "site.yaml"


def written(store: Store, folder: Path, count: int = 5) -> list[Path]:
    folders = [folder / f"stick{number}" for number in range(count)]
    return folders[: len(media.write(store, folders, size_bytes=1_300_000))]


def states(site: Site) -> list[str]:
    return [str(entry.record["type"]) for entry in LedgerReader(site.folder / "ledger").entries()]


def test_from_media_to_published(builder: Builder, site: Site, tmp_path: Path) -> None:
    files = specimen_files()
    sticks = written(builder.build(files)[0], tmp_path)
    begun = site.receive(sticks[1:], first(builder))
    assert (begun.state, len(begun.received.missing) > 0) == (State.OPENED, True)
    done = site.receive(sticks[:1])
    assert (done.state, done.received.missing) == (State.SCANNED, ())
    assert not site.store.current.exists()
    snapshot = site.approve("1")
    assert site.published() == files
    assert snapshot.stat().st_mode & 0o777 == 0o555
    assert all(path.stat().st_mode & 0o777 == 0o444 for path in snapshot.rglob("*") if path.is_file())
    assert states(site) == [
        f"bundle-{each}" for each in ("opened", "received", "verified", "scanned", "approved", "published")
    ]
    assert not site.store.quarantine(done.bundle).root.exists()


def test_the_check_of_imports_reads_the_records_of_a_real_import(builder: Builder, site: Site, tmp_path: Path) -> None:
    def judged() -> Judgement:
        found = {"bundles": statuses(PRESET, None, state=site.folder)}
        output = ProbeOutput(0, f"{MARK} begin imports\n{json.dumps(found)}\n{MARK} end imports 0\n", "")
        return judge(check, output, expected)

    check = ImportsApproved()
    expected = Expected(program="sovctl", site_file=str(PRESET), state=str(site.folder))
    site.receive([builder.build(specimen_files())[0].root], first(builder))
    assert judged().verdict is Verdict.NOT_APPLICABLE  # scanned, and not yet published
    site.approve("1")
    found = judged()
    assert (found.verdict, "no virus scanner, accepted by security office" in found.reason) == (Verdict.WARN, True)


def test_every_step_can_be_repeated(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files())
    for _ in range(2):
        assert site.receive([store.root], first(builder)).state is State.SCANNED
    assert site.approve("1") == site.approve("1")
    assert site.receive([store.root]).state is State.PUBLISHED
    assert len(states(site)) == 6


def test_a_flipped_byte_is_asked_again_only(builder: Builder, site: Site, tmp_path: Path) -> None:
    files = specimen_files()
    store, manifest = builder.build(files)
    stick = tmp_path / "stick"
    media.write(store, [stick], size_bytes=8_000_000)
    target = stick / manifest.chunks[2].path
    data = bytearray(target.read_bytes())
    data[100] ^= 0x80
    target.write_bytes(data)
    begun = site.receive([stick], first(builder))
    assert begun.received.missing == (target.name,)
    assert begun.received.damaged == ((stick, target.name),)
    media.write(store, [tmp_path / "again"], size_bytes=8_000_000, only=begun.received.missing)
    assert site.receive([tmp_path / "again"]).state is State.SCANNED
    site.approve("1")
    assert site.published() == files


def test_a_delta_uses_published_contents(builder: Builder, site: Site, tmp_path: Path) -> None:
    files = specimen_files()
    site.receive([builder.build(files)[0].root], first(builder))
    site.approve("1")
    key = builder.key("site")
    site.intake.export(tmp_path / "inventory.json", key=key, now=builder.now)
    have = published.read(tmp_path / "inventory.json", key.public, site=site.name)
    new = files | {"apt/new_1.0_amd64.deb": b"new" * 1000}
    store, manifest = builder.build(new, at_site=have.contents)
    assert sum(each.size for each in manifest.chunks) == 3000
    assert site.receive([store.root]).state is State.SCANNED
    site.approve("2")
    assert site.published() == new
    assert len(list(site.store.snapshots.iterdir())) == 2


def test_a_delta_without_its_base_is_refused(builder: Builder, site: Site) -> None:
    files = specimen_files()
    _, manifest = builder.build(files)
    store, _ = builder.build(files, at_site=list(manifest.contents)[:1])
    with pytest.raises(Refused, match="1 contents are neither in the bundle nor at this site"):
        site.receive([store.root], first(builder, 2))


def test_the_importer_does_not_approve(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files())
    site.receive([store.root], first(builder))
    with pytest.raises(InputError, match="importer imported this bundle; another person must approve it"):
        site.approve("1", key=site.keys["importer"])
    with pytest.raises(InputError, match="is not in `persons`"):
        site.approve("1", key=builder.key("anna"))
    assert not site.store.current.exists()


def test_a_rejected_bundle_is_deleted_and_stays_rejected(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files())
    done = site.receive([store.root], first(builder))
    site.intake.reject("1", key=site.keys["approver"], reason="virus found", now=builder.now)
    assert not site.store.quarantine(done.bundle).root.exists()
    with pytest.raises(Refused, match="was rejected"):
        site.receive([store.root])
    with pytest.raises(InputError, match="is rejected"):
        site.approve("1")
    (found,) = read(site.folder / "ledger").bundles.values()
    assert found.records[State.REJECTED]["reason"] == "virus found"


def test_quarantine_that_was_altered_is_not_published(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files())
    done = site.receive([store.root], first(builder))
    target = next((site.store.quarantine(done.bundle).root / "files").iterdir())
    target.write_bytes(b"altered")
    with pytest.raises(InputError, match="the quarantine was altered"):
        site.approve("1")
    assert not site.store.current.exists()


def test_lost_bytes_of_a_power_failure_are_read_again(builder: Builder, site: Site, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    sticks = written(store, tmp_path)
    begun = site.receive(sticks[:1], first(builder))
    for path in (site.store.quarantine(begun.bundle).root / "files").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    assert site.receive(sticks).state is State.SCANNED
    site.approve("1")
    assert site.published() == specimen_files()


def test_without_a_scanner_an_import_blocks(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    strict = Site(tmp_path / "strict", accepted=None)
    with pytest.raises(Refused, match="no virus scanner is installed"):
        strict.receive([store.root], first(builder))
    assert states(strict)[-1] == "bundle-verified"


def test_acceptance_without_a_scanner_is_recorded_by_name(builder: Builder, site: Site) -> None:
    store, _ = builder.build(specimen_files())
    site.receive([store.root], first(builder))
    (found,) = read(site.folder / "ledger").bundles.values()
    record = found.records[State.SCANNED]
    assert (record["scanner"], record["accepted_by"], record["files_scanned"]) == ("none", "security office", 0)
    name, key = parse_vkey(site.keys["importer"].public.vkey("importer"))
    assert found.opened["importer"]["keyid"] == key.keyid
    assert name == "importer"


def safetensors(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


TENSOR = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
WEIGHTS = {
    "complete": (safetensors({"w": TENSOR, "__metadata__": {}}, bytes(16)), None),
    "cut": (safetensors({"w": TENSOR}, bytes(15)), "bytes after the last tensor"),
    "shape": (safetensors({"w": TENSOR | {"shape": [2, 3]}}, bytes(16)), "differ from their shape"),
    "pickle": (b"\x80\x04\x95" + bytes(30), "length of the header"),
    "not JSON": (struct.pack("<Q", 4) + b"abcd", "not JSON"),
    "list": (safetensors([1]), "not an object"),
    "type": (safetensors({"w": TENSOR | {"dtype": "PICKLE"}}, bytes(16)), "without type"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_safetensors(name: str, tmp_path: Path) -> None:
    content, expected = WEIGHTS[name]
    file = tmp_path / "content"
    file.write_bytes(content)
    found = problem("models/m/model.safetensors", "model", file)
    assert found is None if expected is None else expected in (found or "")


@pytest.mark.parametrize(
    ("path", "content"),
    [("models/m/pytorch_model.bin", b"x"), ("models/m/code.py", b""), ("models/m/weights", b"\x80\x04\x95x")],
)
def test_models_with_code_are_refused(path: str, content: bytes, builder: Builder, site: Site) -> None:
    store, _ = builder.build({path: content})
    with pytest.raises(Refused, match="a model may contain code"):
        site.receive([store.root], first(builder))
    assert states(site)[-1] == "bundle-verified"


def test_a_zip_bomb_is_refused(builder: Builder, site: Site, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("zeros", bytes(200 << 20))
    store, _ = builder.build({"wheels/bomb.whl": (tmp_path / "bomb.whl").read_bytes()})
    with pytest.raises(Refused, match="zip bomb: expands to more than 200 times its size"):
        site.receive([store.root], first(builder))


def test_a_compression_bomb_is_refused(builder: Builder, site: Site) -> None:
    import gzip

    store, _ = builder.build({"data/bomb.gz": gzip.compress(bytes(200 << 20))})
    with pytest.raises(Refused, match="compression bomb"):
        site.receive([store.root], first(builder))
