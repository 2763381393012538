"""Evidence comes back as it was stored, or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from evidence_specimens import RUN_ID, everywhere, fill, made, open_ledger, population
from pydantic import ValidationError

from sovctl.compliance.evidence.layout import record_file_name
from sovctl.compliance.evidence.runs import EvidenceDamaged, list_runs, load_run, read_raw, read_runs
from sovctl.compliance.evidence.store import EvidenceStore, leaf_record, new_run_id
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.canonical_json import canonical_json, sha256_hex
from sovctl.support.errors import InputError

ITEMS = [*everywhere("software.driver-exact"), made("site.keys-private", verdict="FAIL")]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    fill(tmp_path, ITEMS)
    return tmp_path


def loaded(state: Path, run_id: str = RUN_ID) -> list[object]:
    return [r.evidence for r in load_run(state / "evidence", run_id, LedgerReader(state / "ledger")).records]


def test_evidence_comes_back_in_order_with_its_raw_output(state: Path) -> None:
    run = load_run(state / "evidence", RUN_ID, LedgerReader(state / "ledger"))
    assert [record.evidence for record in run.records] == [evidence for evidence, _ in ITEMS]
    assert [record.leaf_index for record in run.records] == [0, 1, 2, 3]
    assert [read_raw(state / "evidence", r.evidence.raw_sha256) for r in run.records] == [raw for _, raw in ITEMS]
    assert run.unacknowledged == 0


def test_the_ledger_holds_digests_and_enough_to_find_them(state: Path) -> None:
    leaves = [entry.record for entry in LedgerReader(state / "ledger").entries()]
    run = load_run(state / "evidence", RUN_ID, LedgerReader(state / "ledger"))
    assert leaves == [leaf_record(record.evidence, record.sha256, RUN_ID) for record in run.records]
    assert {leaf["type"] for leaf in leaves} == {"evidence"}


def test_a_second_run_is_another_run(state: Path) -> None:
    other = fill(state, ITEMS[:1], run_id="20261122T000000Z-0002")
    assert list_runs(state / "evidence") == [RUN_ID, "20261122T000000Z-0002"]
    assert other[0].leaf_index == 4
    assert len(loaded(state)) == 4
    assert len(loaded(state, "20261122T000000Z-0002")) == 1


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = [new_run_id() for _ in range(20)]
    assert len({run_id[:13] for run_id in ids}) <= 2
    assert len(set(ids)) > 1


@pytest.mark.parametrize("run_id", ["", "..", ".hidden", "a/b", "x" * 81, "a b"])
def test_refuses_a_run_id_that_is_no_folder_name(tmp_path: Path, run_id: str) -> None:
    with open_ledger(tmp_path) as ledger, pytest.raises(InputError, match="run id"):
        EvidenceStore(tmp_path / "evidence", ledger, run_id=run_id)


def test_refuses_raw_output_of_another_digest(tmp_path: Path) -> None:
    evidence, _ = made("gpu.count")
    with open_ledger(tmp_path) as ledger:
        with pytest.raises(InputError, match="expected raw output with digest"):
            EvidenceStore(tmp_path / "evidence", ledger, run_id=RUN_ID).add(evidence, b"other")
        assert ledger.size == 0


def test_refuses_a_target_outside_the_population(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="population"):
        made("gpu.count", "gpu-9", population=population(["gpu-1"]))
    evidence, raw = made("gpu.count", "gpu-9")
    changed = evidence.model_copy(update={"population": population(["gpu-1"])})
    with open_ledger(tmp_path) as ledger, pytest.raises(InputError, match="population"):
        EvidenceStore(tmp_path / "evidence", ledger, run_id=RUN_ID).add(changed, raw)


def test_refuses_a_second_answer_in_the_same_run(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        store = EvidenceStore(tmp_path / "evidence", ledger, run_id=RUN_ID)
        store.add(*made("gpu.count", verdict="FAIL"))
        with pytest.raises(InputError, match="second record of a check"):
            store.add(*made("gpu.count", verdict="PASS"))
        with pytest.raises(InputError, match="second record of a check"):
            store.add_all([made("gpu.ecc"), made("gpu.ecc")])
        store.add(*made("gpu.ecc"))
        assert ledger.size == 2


def record_files(state: Path) -> list[Path]:
    return sorted((state / "evidence" / "runs" / RUN_ID).glob("*.json"))


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("what", ["record flipped", "record deleted", "raw flipped", "raw deleted"])
def test_any_altered_or_deleted_file_is_found(state: Path, what: str, number: int) -> None:
    paths = record_files(state) if what.startswith("record") else sorted((state / "evidence" / "raw").iterdir())
    path = paths[number]
    if what.endswith("deleted"):
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    with pytest.raises(EvidenceDamaged):
        loaded(state)


def test_a_verdict_cannot_be_improved_afterwards(state: Path) -> None:
    path = next(path for path in record_files(state) if "site.keys-private" in path.name)
    path.write_bytes(path.read_bytes().replace(b'"FAIL"', b'"PASS"'))
    with pytest.raises(EvidenceDamaged, match=r"site\.keys-private on site"):
        loaded(state)


def test_a_file_without_a_leaf_counts_for_nothing(state: Path) -> None:
    data = canonical_json(made("gpu.count")[0].as_record())
    name = record_file_name("gpu.count", "site", sha256_hex(data))
    record_files(state)[0].with_name(name).write_bytes(data)
    record_files(state)[0].with_name("renamed.json").write_bytes(data)
    run = read_runs(state / "evidence", LedgerReader(state / "ledger"))[RUN_ID]
    assert (len(run.records), run.unacknowledged, run.problems) == (4, 1, ())


def test_a_whole_run_that_was_deleted_is_found(state: Path) -> None:
    for path in record_files(state):
        path.unlink()
    record_files(state)
    (state / "evidence" / "runs" / RUN_ID).rmdir()
    assert len(read_runs(state / "evidence", LedgerReader(state / "ledger"))[RUN_ID].problems) == 4


def test_says_which_runs_there_are(state: Path) -> None:
    with pytest.raises(InputError, match=RUN_ID):
        loaded(state, "another")


def test_survives_kill_9_between_files_and_leaves(tmp_path: Path) -> None:
    """At every point the ledger's leaves have their files; files without leaves count for nothing."""
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[2])\n"
        "from evidence_specimens import everywhere, open_ledger\n"
        "from sovctl.compliance.evidence.store import EvidenceStore\n"
        "state = pathlib.Path(sys.argv[1])\n"
        "store = EvidenceStore(state / 'evidence', open_ledger(state), run_id=sys.argv[3])\n"
        "for n in range(10_000):\n"
        "    print(store.add_all(everywhere(f'check.number-{n}'))[-1].leaf_index, flush=True)\n"
    )
    for round_number, acknowledged in enumerate((1, 3, 8)):
        run_id = f"round-{round_number}"
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parents[2]), run_id],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for _ in range(acknowledged):
                process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
        open_ledger(tmp_path).close()
        records = load_run(tmp_path / "evidence", run_id, LedgerReader(tmp_path / "ledger")).records
        assert len(records) >= 3 * acknowledged
        assert len(records) % 3 == 0
