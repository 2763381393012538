"""The ledger on the disk: durable on return, one writer, recovers from every crash, refuses what was altered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.compliance.ledger.errors import LedgerDamaged, LedgerUnwritable
from sovctl.compliance.ledger.format import MAX_RECORD_BYTES, frame
from sovctl.compliance.ledger.merkle import leaf_hash
from sovctl.compliance.ledger.proof import verify_consistency, verify_inclusion
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.record import encode_record
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.support.errors import Busy, InputError

ORIGIN = "sovctl.site/test"
KEY = SigningKey.generate()


def opened(directory: Path, **options: int) -> Ledger:
    return Ledger.open(directory, origin=ORIGIN, key=KEY, **options)


def records(first: int, count: int) -> list[dict[str, object]]:
    return [{"type": "test", "number": number} for number in range(first, first + count)]


def numbers(directory: Path) -> list[int]:
    found = [entry.record for entry in LedgerReader(directory).entries()]
    return [record["number"] for record in found if record["type"] == "test"]


def test_entries_are_there_after_reopening(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        assert ledger.append(records(0, 3)) == range(3)
        assert ledger.append([]) == range(3, 3)
        assert ledger.append(records(3, 1)) == range(3, 4)
    with opened(tmp_path) as ledger:
        assert ledger.size == 4
        assert ledger.append(records(4, 1)) == range(4, 5)
    assert numbers(tmp_path) == [0, 1, 2, 3, 4]
    assert [entry.leaf_index for entry in LedgerReader(tmp_path).entries(start=3)] == [3, 4]


def test_a_checkpoint_covers_everything_and_is_signed(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(records(0, 300))
        checkpoint = ledger.checkpoint()
        assert checkpoint.size == 300
        checkpoint.verify(KEY.public)
        assert LedgerReader(tmp_path).checkpoint == checkpoint


def test_a_checkpoint_is_written_every_so_many_entries_and_on_close(tmp_path: Path) -> None:
    with opened(tmp_path, checkpoint_every=10) as ledger:
        ledger.append(records(0, 9))
        assert LedgerReader(tmp_path).checkpoint.size == 0
        ledger.append(records(9, 3))
        assert LedgerReader(tmp_path).checkpoint.size == 12
        ledger.append(records(12, 1))
    assert LedgerReader(tmp_path).checkpoint.size == 13


def test_a_checkpoint_that_cannot_be_written_stops_the_log_before_the_next_entry(tmp_path: Path) -> None:
    with opened(tmp_path, checkpoint_every=2) as ledger:
        checkpoint = (tmp_path / "checkpoint").read_bytes()
        (tmp_path / "checkpoint").unlink()
        (tmp_path / "checkpoint").mkdir()
        assert ledger.append(records(0, 3)) == range(3)  # durable: whoever asked is told so
        length = (tmp_path / "entries").stat().st_size
        with pytest.raises(LedgerUnwritable, match="checkpoint"):
            ledger.append(records(3, 1))
        assert (tmp_path / "entries").stat().st_size == length
        (tmp_path / "checkpoint").rmdir()
        (tmp_path / "checkpoint").write_bytes(checkpoint)
        assert ledger.append(records(3, 1)) == range(3, 4)
    assert numbers(tmp_path) == [0, 1, 2, 3]


def test_every_entry_can_be_proven_and_every_checkpoint_extends_the_last(tmp_path: Path) -> None:
    checkpoints = []
    with opened(tmp_path) as ledger:
        for count in (1, 254, 1, 1, 600):
            ledger.append(records(ledger.size, count))
            checkpoints.append(ledger.checkpoint())
        last = checkpoints[-1]
        for entry in LedgerReader(tmp_path).entries():
            path = ledger.inclusion_proof(entry.leaf_index)
            assert verify_inclusion(leaf_hash(entry.data), entry.leaf_index, last.size, path, last.root)
        for old in checkpoints:
            proof = LedgerReader(tmp_path).consistency_proof(old.size)
            assert verify_consistency(old.size, old.root, last.size, last.root, proof)


def test_a_second_writer_is_busy(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(Busy):
        opened(tmp_path)
    opened(tmp_path).close()


def test_a_record_may_be_as_large_as_the_format_holds_and_no_larger(tmp_path: Path) -> None:
    overhead = len('{"text":""}')
    with opened(tmp_path) as ledger:
        ledger.append([{"text": "x" * (MAX_RECORD_BYTES - overhead)}])
        with pytest.raises(InputError, match="at most 65535 bytes, got 65536"):
            ledger.append([{"fine": 1}, {"text": "x" * (MAX_RECORD_BYTES - overhead + 1)}])
        assert ledger.size == 1


@pytest.mark.parametrize("value", [float("nan"), 2**60, "\ud800", object()])
def test_refuses_values_that_have_no_canonical_form(tmp_path: Path, value: object) -> None:
    with opened(tmp_path) as ledger, pytest.raises(InputError, match="plain values"):
        ledger.append([{"value": value}])


def test_refuses_another_key_or_origin(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(InputError, match="with another key"):
        Ledger.open(tmp_path, origin=ORIGIN, key=SigningKey.generate())
    with pytest.raises(InputError, match=r"expected the ledger of sovctl.site/else"):
        Ledger.open(tmp_path, origin="sovctl.site/else", key=KEY)


def test_a_closed_ledger_takes_nothing(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerUnwritable, match="closed"):
        ledger.append(records(0, 1))


@pytest.mark.parametrize("damage", ["cut", "flip", "delete", "no checkpoint"])
def test_refuses_to_append_to_a_ledger_that_was_altered(tmp_path: Path, damage: str) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(records(0, 20))
    entries = tmp_path / "entries"
    data = bytearray(entries.read_bytes())
    if damage == "cut":
        entries.write_bytes(data[:-1])
    elif damage == "flip":
        data[10] ^= 1
        entries.write_bytes(data)
        (tmp_path / "index").unlink()  # or the index would vouch for the middle, which only `verify` reads
    elif damage == "delete":
        entries.unlink()
    else:
        (tmp_path / "checkpoint").unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(LedgerDamaged):
        opened(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("lost", [["index"], ["level-1"], ["index", "level-1"]])
def test_derived_files_are_made_again(tmp_path: Path, lost: list[str]) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(records(0, 600))
    kept = {name: (tmp_path / name).read_bytes() for name in ("index", "level-1")}
    for name in lost:
        (tmp_path / name).unlink()
    opened(tmp_path).close()
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept


def test_a_lying_index_is_not_believed(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(records(0, 5))
    kept = (tmp_path / "index").read_bytes()
    for at in range(len(kept)):
        lie = bytearray(kept)
        lie[at] ^= 0x40
        (tmp_path / "index").write_bytes(lie)
        assert [entry.leaf_index for entry in LedgerReader(tmp_path).entries(start=3)] == [3, 4]
        with opened(tmp_path) as ledger:
            assert ledger.size == 5
    assert numbers(tmp_path) == [0, 1, 2, 3, 4]


def crash_after_append(directory: Path, count: int) -> bytes:
    """Leave a folder as kill -9 leaves it: `count` entries behind the checkpoint; returns the bytes of `entries`."""
    code = (
        "import os, sys, pathlib\n"
        "from sovctl.compliance.signing import load_or_create\n"
        "from sovctl.compliance.ledger.store import Ledger\n"
        "d = pathlib.Path(sys.argv[1])\n"
        "l = Ledger.open(d / 'ledger', origin='sovctl.site/test', key=load_or_create(d / 'key'))\n"
        "l.append([{'type': 'test', 'number': n} for n in range(4)]); l.checkpoint()\n"
        "l.append([{'type': 'test', 'number': 4 + n} for n in range(int(sys.argv[2]))])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(directory), str(count)], check=False)
    assert run.returncode == -signal.SIGKILL
    return (directory / "ledger" / "entries").read_bytes()


def test_recovers_wherever_a_write_was_cut(tmp_path: Path) -> None:
    whole = crash_after_append(tmp_path, 3)
    key, directory = load_or_create(tmp_path / "key"), tmp_path / "ledger"
    crashed = {path.name: path.read_bytes() for path in directory.iterdir()}
    signed = sum(len(frame(encode_record(record))) for record in records(0, 4))
    for length in range(signed, len(whole) + 1):
        for path in directory.iterdir():
            path.unlink()
        for name, data in crashed.items():
            (directory / name).write_bytes(data[:length] if name == "entries" else data)
        Ledger.open(directory, origin=ORIGIN, key=key).close()
        kept = numbers(directory)
        assert kept == list(range(len(kept)))
        assert len(kept) >= 4 + (length == len(whole)) * 3
        recovered = [e.record for e in LedgerReader(directory).entries() if e.record["type"] == "recovered"]
        torn = [path for path in directory.iterdir() if path.name.startswith("torn-")]
        assert bool(recovered) == (length > signed)
        assert sum(r["cut_bytes"] for r in recovered) == sum(path.stat().st_size for path in torn)
        assert sum(r["adopted"] for r in recovered) == len(kept) - 4


@pytest.mark.parametrize("garbage", [b"\0" * 4096, b"\xff" * 100, b"\0\x02{]", b'\0\x09{"a": 1 }', b"\0\x02[]"])
def test_garbage_behind_the_last_fsync_is_cut(tmp_path: Path, garbage: bytes) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(records(0, 4))
    with (tmp_path / "entries").open("ab") as file:
        file.write(garbage)
    opened(tmp_path).close()
    assert numbers(tmp_path) == [0, 1, 2, 3]
    assert LedgerReader(tmp_path).checkpoint.size == 5


def test_no_acknowledged_entry_is_lost_to_kill_9(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from sovctl.compliance.signing import load_or_create\n"
        "from sovctl.compliance.ledger.store import Ledger\n"
        "d = pathlib.Path(sys.argv[1])\n"
        "l = Ledger.open(d / 'ledger', origin='sovctl.site/test', key=load_or_create(d / 'key'), checkpoint_every=64)\n"
        "n = int(sys.argv[2])\n"
        "while True:\n"
        "    l.append([{'type': 'test', 'number': n + i} for i in range(17)]); n += 17\n"
        "    print(n, flush=True)\n"
    )
    acknowledged = 0
    for batches in (1, 7, 23, 60):
        run = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(acknowledged)], stdout=subprocess.PIPE, text=True
        )
        assert run.stdout is not None
        for _ in range(batches):
            acknowledged = int(run.stdout.readline())
        os.kill(run.pid, signal.SIGKILL)
        rest = run.communicate()[0].split()
        acknowledged = int(rest[-1]) if rest else acknowledged
        Ledger.open(tmp_path / "ledger", origin=ORIGIN, key=load_or_create(tmp_path / "key")).close()
        kept = numbers(tmp_path / "ledger")
        assert kept[:acknowledged] == list(range(acknowledged))
        assert kept == list(range(len(kept)))
        acknowledged = len(kept)


def test_a_full_disk_is_an_error_that_leaves_nothing_behind(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes write(2) fail as a full disk does: short first, then an error."""
    code = (
        "import json, os, resource, signal, sys, pathlib\n"
        "from sovctl.compliance.signing import load_or_create\n"
        "from sovctl.compliance.ledger.errors import LedgerUnwritable\n"
        "from sovctl.compliance.ledger.store import Ledger\n"
        "d = pathlib.Path(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "l = Ledger.open(d / 'ledger', origin='sovctl.site/test', key=load_or_create(d / 'key'))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))\n"
        "refused = written = 0\n"
        "for n in range(400):\n"
        "    try:\n"
        "        l.append([{'type': 'test', 'number': written}]); written += 1\n"
        "    except LedgerUnwritable:\n"
        "        refused += 1\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "l.append([{'type': 'test', 'number': written}]); written += 1\n"
        "l.close()\n"
        "print(json.dumps([written, refused]))\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True)
    written, refused = json.loads(run.stdout)
    assert refused > 100
    assert numbers(tmp_path / "ledger") == list(range(written))
    with Ledger.open(tmp_path / "ledger", origin=ORIGIN, key=load_or_create(tmp_path / "key")) as ledger:
        assert ledger.size == written
