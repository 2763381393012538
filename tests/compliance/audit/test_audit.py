"""The audit of a whole site: ledger, evidence and reports agree, or it is said which does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import EARLIER_RECORD, RUN_ID, everywhere, fill, fill_plain, made, open_ledger, state_key

from sovctl.compliance.audit.inputs import read_checkpoint, read_key
from sovctl.compliance.audit.ledger import audit_ledger
from sovctl.compliance.audit.result import AuditVerdict
from sovctl.compliance.audit.site import audit
from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.report.document import Subject, document_bytes
from sovctl.compliance.report.publish import publish
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

PACK = load_pack(builtin_pack("nist-800-53-moderate"))
ITEMS = [*everywhere("clock.synchronized"), made("site.keys-private", verdict="FAIL"), made("gpu.ecc")]


def report_on(state: Path, run_id: str | None = None) -> Path:
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=PACK,
            subject=Subject("test-site"),
            generated=datetime(2026, 11, 21, 10, 30, tzinfo=UTC),
            tool_version="0.1.0",
            run_id=run_id,
        ).folder


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("state")
    fill(state, ITEMS)
    report_on(state)
    fill(state, ITEMS[:2], run_id="20261122T000000Z-0002")
    return state


@pytest.fixture
def state(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / ".sovctl"))


def test_a_whole_site_has_no_finding(state: Path) -> None:
    result = audit(state)
    assert result.findings == []
    assert audit(state.parent).findings == []  # the folder of site.yaml will do
    assert [fact.split(":")[0] for fact in result.facts] == ["ledger", *[f"report {RUN_ID}"] * 5, *["evidence"] * 2]
    assert result.verdict is AuditVerdict.UNPROVEN  # nothing was kept outside the site


def test_a_report_alone_and_a_ledger_alone_will_do(state: Path) -> None:
    folder = state / "reports" / RUN_ID
    assert audit(folder).findings == audit(folder / "report.json").findings == audit(state / "ledger").findings == []
    with pytest.raises(InputError, match="no report, ledger or site state found"):
        audit(state / "keys")


def drop_from_report(state: Path) -> None:
    """A report without its failing record, re-signed by somebody who holds the key: only the whole ledger tells."""
    failing = next((state / "evidence" / "runs" / RUN_ID).glob("site.keys-private*"))
    hidden, ledger_entries = failing.read_bytes(), (state / "ledger" / "entries").read_bytes()
    shutil.rmtree(state / "reports")
    folder = report_on(state, RUN_ID)
    document = json.loads((folder / "report.json").read_text())
    document["evidence"] = [item for item in document["evidence"] if item["record"]["verdict"] != "FAIL"]
    (folder / "report.json").write_bytes(document_bytes(document))
    assert failing.read_bytes() == hidden
    assert (state / "ledger" / "entries").read_bytes().startswith(ledger_entries)


def test_records_of_an_earlier_release_are_noted_with_the_remedy_and_do_not_count(state: Path) -> None:
    fill_plain(state, EARLIER_RECORD)
    result = audit(state)
    assert result.findings == []
    (note,) = [each for each in result.notes if "earlier release" in each]
    assert note.endswith(
        "1 records have the format of an earlier release and do not count as evidence; run `sovctl verify`"
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rule": ""}, "rule: empty or invalid"),
        ({"clock": {}}, "clock: empty or invalid"),
        ({"target": "gpu-9"}, "the target is not in the sample of its population"),
        ({"extra": 1}, "extra: unknown field"),
    ],
)
def test_an_incomplete_record_with_a_ledger_entry_is_a_finding(
    state: Path, changes: dict[str, Any], problem: str
) -> None:
    whole = made("gpu.ecc", raw=b"old")[0].as_record()
    fill_plain(state, whole | {"check_id": "gpu.other"} | changes)
    (finding,) = [str(each) for each in audit(state).findings if "incomplete evidence" in str(each)]
    assert problem in finding


def test_a_report_of_an_earlier_format_is_named_and_not_verified(state: Path) -> None:
    path = state / "reports" / RUN_ID / "report.json"
    path.write_bytes(path.read_bytes().replace(b"sovctl-report-v2", b"sovctl-report-v1"))
    with open_ledger(state) as ledger:
        ledger.append([{"type": "report", "run_id": RUN_ID, "report_sha256": sha256_hex(path.read_bytes())}])
    result = audit(state)
    assert not [each for each in result.findings if "earlier release" in str(each)]
    (limit,) = [each for each in result.limits if "earlier release" in each]
    assert "Only its report.json was compared with the ledger" in limit
    (finding,) = audit(path.parent).findings
    assert "run `sovctl verify` and `sovctl report`" in str(finding)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def put(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def restore_old_ledger(state: Path) -> None:
    shutil.rmtree(state / "ledger")
    with Ledger.open(state / "ledger", origin="sovctl.site/test", key=state_key(state)) as ledger:
        ledger.append([{"type": "other"}])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a flipped byte in the ledger": (lambda s: flip(s / "ledger" / "entries"), "ledger: altered"),
    "an entry that is no JSON any more": (lambda s: put(s / "ledger" / "entries", 2, b"["), "ledger: altered"),
    "an entry that is no text any more": (lambda s: put(s / "ledger" / "entries", 9, b"\xff"), "ledger: altered"),
    "a cut tail": (
        lambda s: (s / "ledger" / "entries").write_bytes((s / "ledger" / "entries").read_bytes()[:-5]),
        "ledger: cut-tail",
    ),
    "the ledger deleted": (lambda s: shutil.rmtree(s / "ledger"), "ledger: missing-log"),
    "the ledger begun again": (restore_old_ledger, "ledger: rolled-back"),
    "raw output altered": (lambda s: flip(next((s / "evidence" / "raw").iterdir())), "evidence: "),
    "evidence deleted": (lambda s: shutil.rmtree(s / "evidence"), "evidence: "),
    "a population altered": (
        lambda s: flip(next((s / "evidence" / "populations").iterdir())),
        "the population differs from ledger entry",
    ),
    "a population deleted": (
        lambda s: next((s / "evidence" / "populations").iterdir()).unlink(),
        "the population of ledger entry 0 is missing",
    ),
    "a report altered": (lambda s: flip(s / "reports" / RUN_ID / "report.html"), f"report {RUN_ID}: report.html"),
    "a record left out of a report": (drop_from_report, "1 records of its run are missing"),
    "a report too deep to be read": (
        lambda s: (s / "reports" / RUN_ID / "report.json").write_text("[" * 100_000),
        "expected a report, got nested too deeply",
    ),
    "a report that is none": (
        lambda s: (s / "reports" / RUN_ID / "report.json").write_text("{}"),
        "expected the format sovctl-report-v2",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_finds(state: Path, what: str) -> None:
    damage, message = DAMAGE[what]
    damage(state)
    found = [str(each) for each in audit(state).findings]
    assert any(message in finding for finding in found), found


def test_zeros_that_a_power_cut_left_are_no_entries(state: Path) -> None:
    with (state / "ledger" / "entries").open("ab") as file:
        file.write(b"\0" * 4096)
    result = audit(state)
    assert result.findings == []
    assert result.ledger
    assert result.ledger.unsigned_tail == 0
    assert any("4096 bytes at the end are an incomplete record" in note for note in result.notes)


def test_a_deleted_report_is_found_and_named(state: Path) -> None:
    shutil.rmtree(state / "reports" / RUN_ID)
    (finding,) = audit(state).findings
    assert (finding.file, finding.first_index) == (f"reports/{RUN_ID}", 5)
    assert "the report of ledger entry 5 is missing" in str(finding)


def test_more_evidence_after_a_report_is_not_held_against_it(state: Path) -> None:
    fill(state, [made("gpu.count")])
    assert audit(state).findings == []


def test_a_checkpoint_may_be_kept_in_any_of_its_forms(state: Path) -> None:
    folder = state / "reports" / RUN_ID
    kept = [read_checkpoint(folder / name) for name in ("checkpoint", "report.json", "report.tlog-proof", ".")]
    assert [each.size for each in kept] == [5, 5, 6, 5]
    result = audit_ledger(state / "ledger", key=read_key(folder / "log.vkey"), kept=kept)
    assert result.findings == []
    assert result.ledger is not None
    assert (result.ledger.witnessed_size, result.ledger.unwitnessed_tail) == (6, 2)


def test_what_lies_on_the_site_itself_is_not_called_seen_from_outside(state: Path) -> None:
    result = audit(state)
    assert result.ledger is not None
    assert result.ledger.witnessed_size is None
    assert any("without a checkpoint kept outside the site" in limit for limit in result.limits)


@pytest.mark.parametrize("content", ["", "{}", '{"ledger": 1}', "c2sp.org/tlog-proof@v1\n"])
def test_refuses_a_kept_file_that_holds_no_checkpoint(tmp_path: Path, content: str) -> None:
    path = tmp_path / ("report.json" if content.startswith("{") else "kept")
    path.write_text(content)
    with pytest.raises(InputError, match=path.name):
        read_checkpoint(path)
    with pytest.raises(InputError, match=path.name):
        read_key(path)
