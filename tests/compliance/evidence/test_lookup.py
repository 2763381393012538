"""Records are listed with their state, and shown only if they are unaltered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evidence_specimens import EARLIER_RECORD, NODES, RUN_ID, everywhere, fill, fill_plain, made

from sovctl.compliance.evidence.layout import RUNS, record_file_name
from sovctl.compliance.evidence.lookup import Filter, Summary, find, summaries
from sovctl.compliance.evidence.previous import previous_results
from sovctl.compliance.evidence.runs import EarlierRelease, EvidenceDamaged, load_run
from sovctl.compliance.ledger.errors import LedgerDamaged
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.verdict import Verdict
from sovctl.support.errors import InputError

AT, LATER = "2026-11-22T00:00:00Z", "20261122T101500Z-0002"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    fill(tmp_path, [*everywhere("gpu.count"), made("site.keys-private", verdict="FAIL")])
    fill(tmp_path, [made("gpu.count", "gpu-1", "FAIL", others=NODES, expires=AT)], LATER)
    fill(tmp_path, [made("gpu.ecc", "gpu-1", expires=AT)], "20261122T111500Z-0003")
    return tmp_path


def listed(state: Path, chosen: Filter = Filter(), *, newest: bool = True) -> list[Summary]:
    return summaries(state / "evidence", LedgerReader(state / "ledger"), at=AT, chosen=chosen, newest=newest)


def one(state: Path, name: str) -> object:
    return find(state / "evidence", LedgerReader(state / "ledger"), name)


def test_the_newest_record_of_each_check_and_target_is_listed(state: Path) -> None:
    found = {(each.check, each.target): (each.state, each.run) for each in listed(state)}
    assert found[("gpu.count", "gpu-1")] == ("FAIL", LATER)
    assert found[("gpu.count", "gpu-2")] == ("PASS", RUN_ID)
    assert found[("gpu.ecc", "gpu-1")][0] == "expired"
    assert len(found) == 5
    assert [each.leaf_index for each in listed(state, newest=False)] == list(range(6))


@pytest.mark.parametrize(
    ("chosen", "indices"),
    [
        (Filter(checks=("gpu.c*",)), [1, 2, 4]),
        (Filter(nodes=("gpu-1", "site")), [3, 4, 5]),
        (Filter(states=("FAIL",)), [3, 4]),
        (Filter(checks=("gpu.*",), nodes=("gpu-1",), states=("expired",)), [5]),
        (Filter(checks=("nvlink.*",)), []),
    ],
)
def test_filters_by_check_node_and_state(state: Path, chosen: Filter, indices: list[int]) -> None:
    assert [each.leaf_index for each in listed(state, chosen)] == indices


def test_a_record_is_found_by_the_first_digits_of_its_digest(state: Path) -> None:
    for each in listed(state, newest=False):
        assert getattr(one(state, each.sha256[:12]), "leaf_index", None) == each.leaf_index


@pytest.mark.parametrize("name", ["", "abc", "not-hex", "A" * 12, "../../etc", "0" * 65, "000000000000"])
def test_other_ids_are_refused(state: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        one(state, name)
    assert "sovctl evidence list" in caught.value.hint


@pytest.mark.parametrize("what", ["record", "raw", "population", "deleted"])
def test_an_altered_record_is_not_shown(state: Path, what: str) -> None:
    row = next(each for each in listed(state) if each.check == "site.keys-private")
    record = state / "evidence" / RUNS / row.run / record_file_name(row.check, row.target, row.sha256)
    values = json.loads(record.read_bytes())
    paths = {
        "record": record,
        "raw": state / "evidence" / "raw" / values["raw_sha256"],
        "population": state / "evidence" / "populations" / values["population_sha256"],
    }
    if what == "deleted":
        record.unlink()
    else:
        paths[what].write_bytes(paths[what].read_bytes().replace(b"site", b"sitd", 1))
    with pytest.raises(EvidenceDamaged) as caught:
        one(state, row.sha256)
    assert "sovctl audit verify" in caught.value.hint
    if what in ("record", "deleted"):
        assert [each.state for each in listed(state, Filter(checks=(row.check,)))] == ["altered"]


def test_an_altered_ledger_entry_is_not_shown(state: Path) -> None:
    row = listed(state)[0]
    path = state / "ledger" / "entries"
    path.write_bytes(path.read_bytes().replace(b'"verdict":"FAIL"', b'"verdict":"PASS"'))
    with pytest.raises((LedgerDamaged, EvidenceDamaged)):
        one(state, next(each for each in listed(state) if each.check == "site.keys-private").sha256)
    assert row.leaf_index >= 0


def test_records_of_an_earlier_release_do_not_count_and_the_remedy_is_stated(state: Path) -> None:
    digest = fill_plain(state, EARLIER_RECORD)
    (row,) = listed(state, Filter(states=("earlier-format",)))
    assert (row.sha256, row.verdict, row.ended) == (digest, "PASS", "")
    with pytest.raises(EarlierRelease) as caught:
        one(state, digest)
    assert caught.value.hint == "run `sovctl verify`"
    with pytest.raises(EarlierRelease, match=r"1 records of run .* do not count as evidence") as of_run:
        load_run(state / "evidence", RUN_ID, LedgerReader(state / "ledger"))
    assert of_run.value.hint == "run `sovctl verify`"


def test_the_newest_results_are_found_backwards(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [("gpu.count", "gpu-1"), ("gpu.count", "gpu-2"), ("gpu.ecc", "gpu-1"), ("gpu.never", "gpu-1")]
    for step in (1, 2, 4096):
        monkeypatch.setattr("sovctl.compliance.evidence.previous._FIRST_STEP", step)
        found = previous_results(LedgerReader(state / "ledger"), keys)
        assert {key: (each.verdict, each.leaf_index) for key, each in found.items()} == {
            ("gpu.count", "gpu-1"): (Verdict.FAIL, 4),
            ("gpu.count", "gpu-2"): (Verdict.PASS, 1),
            ("gpu.ecc", "gpu-1"): (Verdict.PASS, 5),
        }
