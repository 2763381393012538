"""The report: deterministic, escaped, honest, and checked by one file that trusts nobody."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import NODES, RUN_ID, control_map, everywhere, fill, made, open_ledger, stored
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.compliance.audit.control_states import decide
from sovctl.compliance.audit.report_folder import NoReport, verify_report
from sovctl.compliance.audit.result import AuditResult
from sovctl.compliance.controls import scope
from sovctl.compliance.controls.assessment import assess
from sovctl.compliance.controls.exceptions import Attestation, Exceptions, Waiver
from sovctl.compliance.controls.framework import Control, Pack, builtin_pack, load_pack
from sovctl.compliance.evidence.record import Actor, Clock
from sovctl.compliance.evidence.runs import EvidenceDamaged
from sovctl.compliance.ledger.errors import LedgerDamaged
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.report.document import Subject, document_bytes
from sovctl.compliance.report.html import render_html
from sovctl.compliance.report.publish import Published, publish
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
NOON = time(12)
PACK = load_pack(builtin_pack("nist-800-53-moderate"))
WAIVED = Waiver(
    id="W-1",
    control="cm-11",
    check="software.packages-held",
    targets=("gpu-2",),
    reason="vendor case",
    compensating="watched nightly",
    requested_by="first person",
    approved_by="second person",
    approved=date(2026, 11, 1),
    expires=date(2026, 12, 1),
)
ATTESTED = Attestation(
    control="pe-3",
    statement="doors inspected",
    by="third person",
    attested=date(2026, 11, 10),
    expires=date(2027, 11, 1),
)
EXCEPTIONS = Exceptions(waivers=(WAIVED,), attestations=(ATTESTED,))
BAD = {"software.packages-held": "FAIL", "perimeter.no-way-out": "FAIL", "clock.synchronized": "UNKNOWN"}


def items() -> list[Any]:
    """One record of every check on every node; three of them bad on one node; one not run at all."""
    return [
        made(
            check, node, BAD.get(check, "PASS") if node == "gpu-2" else "PASS", others=NODES, simulated="pool" in check
        )
        for check in sorted({*PACK.checks(), "gpu.ecc"} - {"model.checksum"})
        for node in NODES
    ]


def published(state: Path, *, run_id: str | None = None, now: datetime = NOW) -> Published:
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=PACK,
            subject=Subject("test-site", "DE", "hybrid"),
            generated=now,
            tool_version="0.1.0",
            run_id=run_id,
            exceptions=EXCEPTIONS,
        )


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Published:
    state = tmp_path_factory.mktemp("state")
    fill(state, items())
    return published(state)


@pytest.fixture
def folder(reported: Published, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reported.folder, tmp_path / "report"))


def run_verifier(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As an auditor runs it: the folder's own file, isolated from the environment, without any package."""
    command = [sys.executable, "-I", "-S", str(folder / "sovctl-verify.pyz"), str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def verify(folder: Path) -> list[str]:
    """The findings of the built-in verifier."""
    result = AuditResult()
    verify_report(folder, result)
    return [str(finding) for finding in result.findings]


def test_the_summary_counts_everything_and_coverage_comes_first(reported: Published) -> None:
    summary = reported.document["summary"]
    assert summary["sentence"] == "79 of 287 decided: 58 pass, 16 fail, 3 error, 1 waived, 1 attested; 208 not run"
    assert sum(summary["states"].values()) == len(reported.document["controls"]) == 287
    states = {control["id"]: control["state"] for control in reported.document["controls"]}
    expected = {"sc-7": "fail", "cm-5": "fail", "au-8": "error", "si-7": "error", "cm-11": "waived", "ac-3": "pass"}
    assert expected.items() <= states.items()
    assert (states["pe-3"], states["at-1"]) == ("attested", "not-run")


def test_simulated_evidence_marks_the_report_and_what_it_touches(reported: Published) -> None:
    assert reported.document["simulated"]
    marked = {control["id"] for control in reported.document["controls"] if control["simulated"]}
    assert "ac-3" in marked
    assert "au-2" not in marked
    assert ">SIMULATED<" in (reported.folder / "report.html").read_text()


def test_a_real_site_is_not_called_simulated(tmp_path: Path) -> None:
    fill(tmp_path, everywhere("clock.synchronized"))
    report = published(tmp_path)
    assert not report.document["simulated"]
    assert "SIMULATED" not in (report.folder / "report.html").read_text()


def test_the_same_inputs_give_the_same_bytes(reported: Published, tmp_path: Path) -> None:
    twin = Path(shutil.copytree(reported.folder.parents[1], tmp_path / "state"))
    shutil.rmtree(twin / "reports")
    first, second = published(twin, run_id=RUN_ID), published(twin, run_id=RUN_ID)
    other = published(twin, run_id=RUN_ID, now=datetime(2026, 11, 21, 11, tzinfo=UTC))
    paths = (str(path.relative_to(first.folder)) for path in first.folder.rglob("*") if path.is_file())
    files = [name for name in paths if not name.startswith("raw/")]
    assert render_html(first.document, files=files) == (first.folder / "report.html").read_text()
    assert files

    def timeless(document: Any) -> bytes:
        proofs = [item | {"proof": None} for item in document["evidence"]]
        return document_bytes(document | {"generated": "", "evidence": proofs, "ledger": {}})

    assert timeless(first.document) == timeless(second.document) == timeless(other.document)
    assert first.folder != second.folder  # an older report is never overwritten


def test_report_json_has_one_line_for_each_record(reported: Published) -> None:
    data = (reported.folder / "report.json").read_bytes()
    assert json.loads(data) == json.loads(json.dumps(reported.document))
    lines = [line for line in data.splitlines() if b'"raw_sha256"' in line]
    assert [json.loads(line.rstrip(b",")) for line in lines] == reported.document["evidence"]


def test_it_never_claims_compliance(reported: Published) -> None:
    for name in ("report.json", "report.html"):
        assert "complian" not in (reported.folder / name).read_text().lower()


def test_the_page_needs_no_network_and_has_one_script(reported: Published) -> None:
    html = (reported.folder / "report.html").read_text()
    for forbidden in ("http://", "https://", "<link", "<img", "url(", "@import", "javascript:", "<script "):
        assert forbidden not in html
    assert html.count("<script") == 1
    assert "default-src 'none'" in html


def test_what_a_node_said_cannot_become_markup(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script>\"'><img src=x>"
    texts = dict.fromkeys(("reason", "command", "title", "rule"), nasty)
    actor = Actor(user=nasty, account=nasty, host=nasty)
    clock = Clock(measured="2026-11-21T10:14:59Z", offset_us=0, source=nasty)
    fill(tmp_path, [made("gpu.count", actor=actor, clock=clock, **texts)])
    html = (published(tmp_path).folder / "report.html").read_text()
    assert html.count("<script") == 1  # the page's own
    assert "<img" not in html
    assert "&lt;script&gt;" in html


def test_refuses_to_report_on_damaged_evidence(tmp_path: Path) -> None:
    fill(tmp_path, items())
    next((tmp_path / "evidence" / "raw").iterdir()).write_bytes(b"other")
    with pytest.raises(EvidenceDamaged):
        published(tmp_path)
    assert not (tmp_path / "reports").exists()


def test_refuses_to_report_on_a_ledger_that_was_altered(tmp_path: Path) -> None:
    fill(tmp_path, items())
    entries = tmp_path / "ledger" / "entries"
    entries.write_bytes(entries.read_bytes().replace(RUN_ID.encode(), b"2" + RUN_ID.encode()[1:-1] + b"9", 1))
    with pytest.raises(LedgerDamaged, match="expected entry 0 as it was signed"):
        published(tmp_path)
    assert not (tmp_path / "reports").exists()


def test_refuses_a_clock_that_is_behind_the_evidence(tmp_path: Path) -> None:
    fill(tmp_path, [made("gpu.count")])
    with pytest.raises(InputError, match="is before the end of the evidence"):
        published(tmp_path, now=NOW.replace(hour=10, minute=15, second=0))


def test_refuses_a_run_over_two_site_descriptions(tmp_path: Path) -> None:
    fill(tmp_path, [made("gpu.count"), made("gpu.ecc", spec_sha256="7" * 64)])
    with pytest.raises(InputError, match="one site description, got 2"):
        published(tmp_path)


def test_says_what_to_do_when_there_is_no_evidence(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        published(tmp_path)
    assert "sovctl verify" in caught.value.hint


def test_the_newest_run_is_reported_unless_another_is_named(tmp_path: Path) -> None:
    fill(tmp_path, [made("gpu.count")])
    fill(tmp_path, [made("gpu.count")], run_id="20261122T000000Z-0002")
    assert published(tmp_path).document["run"]["id"] == "20261122T000000Z-0002"
    assert published(tmp_path, run_id=RUN_ID).document["run"]["id"] == RUN_ID


def test_the_report_itself_is_an_entry_of_the_ledger(reported: Published) -> None:
    entries = list(LedgerReader(reported.folder.parents[1] / "ledger").entries(start=reported.leaf_index))
    assert entries[0].record["type"] == "report"
    assert entries[0].record["decided"] == 79


def test_an_auditor_can_verify_it_without_sovctl(folder: Path) -> None:
    result = run_verifier(folder, "--json")
    assert result.returncode == 8, result.stderr  # no kept checkpoint
    found = json.loads(result.stdout)
    assert found["findings"] == []
    assert len(found["facts"]) == 5
    kept = run_verifier(folder, "--key", str(folder / "log.vkey"), "--checkpoint", str(folder / "checkpoint"))
    assert kept.returncode == 0, kept.stdout
    assert "read from this folder" in result.stdout
    assert "read from this folder" not in kept.stdout


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """Change report.json as somebody would who cannot sign."""

    def apply(folder: Path) -> None:
        document = json.loads((folder / "report.json").read_text())
        change(document)
        (folder / "report.json").write_bytes(document_bytes(document))

    return apply


def control(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in document["controls"] if each["id"] == name)


def flip(name: str, at: float = 0.5) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        path = next(folder.glob(name))
        data = bytearray(path.read_bytes())
        data[int(len(data) * at)] ^= 1
        path.write_bytes(data)

    return apply


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a state improved": (edited(lambda d: control(d, "sc-7").update(state="pass")), "sc-7: expected fail"),
    "a verdict improved": (
        edited(lambda d: [i["record"].update(verdict="PASS") for i in d["evidence"]]),
        "expected a record with digest",
    ),
    "a record dropped": (edited(lambda d: d["evidence"].pop()), "from the evidence"),
    "a population narrowed": (
        edited(lambda d: next(iter(d["populations"].values())).update(declared=["gpu-1"])),
        "expected a population with digest",
    ),
    "a population swapped": (
        edited(lambda d: d["evidence"][0]["record"].update(population_sha256="a" * 64)),
        "expected a record with digest",
    ),
    "a summary improved": (
        edited(lambda d: d["summary"].update(sentence="287 of 287 decided: 287 pass")),
        "summary: expected",
    ),
    "a control dropped": (edited(lambda d: d["controls"].pop()), "pack: expected"),
    "a check dropped from a control": (
        edited(lambda d: control(d, "sc-7")["mapping"]["checks"].remove("perimeter.no-way-out")),
        "pack: expected",
    ),
    "not called simulated": (edited(lambda d: d.update(simulated=False)), "simulated: expected"),
    "a control not called simulated": (edited(lambda d: control(d, "ac-3").update(simulated=False)), "ac-3: expected"),
    "a waiver invented": (
        edited(lambda d: control(d, "sc-7")["waivers"].append(control(d, "cm-11")["waivers"][0])),
        "report.json: expected the content that was logged",
    ),
    "a leaf moved": (edited(lambda d: d["evidence"][0].update(leaf_index=1)), "got no proof"),
    "a proof cut": (edited(lambda d: d["evidence"][0]["proof"].pop()), "got no proof"),
    "a field missing": (edited(lambda d: d.pop("summary")), "invalid or missing field"),
    "a day before the evidence": (
        edited(lambda d: d.update(generated="2026-11-21T10:15:00Z")),
        "is before the end of the evidence",
    ),
    "a date changed": (edited(lambda d: d.update(generated="2027-01-01T00:00:00Z")), "cm-11: expected fail"),
    "a record twice": (edited(lambda d: d["evidence"].append(d["evidence"][0])), "got no proof"),
    "the page altered": (flip("report.html"), "report.html: expected"),
    "the checkpoint altered": (flip("checkpoint"), "checkpoint: expected"),
    "the key altered": (flip("log.vkey"), "log.vkey: expected"),
    "the log proof altered": (flip("report.tlog-proof", 0.9), "expected"),
    "raw output altered": (flip("raw/*"), "expected raw output"),
    "raw output deleted": (lambda folder: next(folder.glob("raw/*")).unlink(), "expected raw output"),
    "the log proof deleted": (lambda folder: (folder / "report.tlog-proof").unlink(), "report.tlog-proof: expected"),
    "the verifier altered": (flip("sovctl-verify.pyz"), "sovctl-verify.pyz: expected"),
    "the page deleted": (lambda folder: (folder / "report.html").unlink(), "report.html: expected"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_every_broken_copy_is_found(folder: Path, what: str) -> None:
    apply, message = BREAKS[what]
    apply(folder)
    findings = verify(folder)
    assert any(message in finding for finding in findings), findings


@pytest.mark.parametrize("what", ["a state improved", "raw output altered", "the page altered"])
def test_the_single_file_ends_with_1_and_names_it(folder: Path, what: str) -> None:
    apply, message = BREAKS[what]
    apply(folder)
    result = run_verifier(folder)
    assert result.returncode == 1
    assert message in result.stdout
    assert "NOT OK" in result.stdout


def test_a_report_signed_by_another_key_is_found_by_the_key_you_kept(folder: Path, tmp_path: Path) -> None:
    fill(tmp_path / "other", items())
    forged = published(tmp_path / "other").folder
    assert run_verifier(forged).returncode == 8  # alone it cannot tell, and says so
    result = run_verifier(forged, "--key", str(folder / "log.vkey"))
    assert result.returncode == 1
    assert "the key you gave" in result.stdout


def test_a_report_cannot_repaint_the_screen_of_who_verifies_it(folder: Path) -> None:
    edited(lambda d: control(d, "sc-7").update(id="\x1b[2J\x9b1;1H\u202eOK", state="pass"))(folder)
    result = run_verifier(folder)
    assert result.returncode == 1
    assert "\\x1b[2J\\x9b1;1H\\u202eOK: expected" in result.stdout
    assert result.stdout.replace("\n", "").isprintable()


@pytest.mark.parametrize("limits", [5, {"a": 1}, [7], None])
def test_any_limits_are_read_without_a_traceback(folder: Path, limits: object) -> None:
    edited(lambda d: d.update(limits=limits))(folder)
    assert "report.json: expected the content that was logged" in run_verifier(folder).stdout


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"format": "other"}', "\x00", "[" * 100_000])
def test_what_is_no_report_is_called_so(tmp_path: Path, folder: Path, content: str | None) -> None:
    (tmp_path / "sovctl-verify.pyz").write_bytes((folder / "sovctl-verify.pyz").read_bytes())
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    result = run_verifier(tmp_path)
    assert result.returncode == (3 if content is None else 1)
    assert content is None or "report.json: expected" in result.stdout
    assert "Traceback" not in result.stderr


@given(st.data())
@examples(60)
def test_any_flipped_bit_of_the_report_is_found(reported: Published, data: st.DataObject) -> None:
    names = ["report.json", "report.html", "checkpoint", "log.vkey", "report.tlog-proof"]
    path = reported.folder / data.draw(st.sampled_from(names))
    kept = path.read_bytes()
    at, bit = data.draw(st.integers(0, len(kept) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(kept)
    changed[at] ^= 1 << bit
    try:
        path.write_bytes(changed)
        with contextlib.suppress(NoReport):  # report.json may no longer be one
            assert verify(reported.folder)
    finally:
        path.write_bytes(kept)


SMALL = Pack(
    name="p",
    title="t",
    source="s",
    licence="l",
    controls=(
        Control(
            id="cm-11",
            title="One",
            family="A",
            mapping=control_map("software.packages-held", "a.two"),
        ),
        Control(id="pe-3", title="Two", family="A"),
    ),
)
VERDICTS = st.sampled_from(["PASS", "PASS", "WARN", "FAIL", "UNKNOWN", "N/A", None])


EXPIRIES = st.sampled_from(["2026-11-21T10:15:01Z", "2026-12-31T00:00:00Z", "2036-12-21T10:15:01Z"])


@given(
    st.lists(VERDICTS, min_size=6, max_size=6),
    st.lists(EXPIRIES, min_size=6, max_size=6),
    st.dates(date(2026, 10, 1), date(2027, 12, 31)),
)
def test_the_single_file_decides_as_we_do(answers: list[str | None], expiries: list[str], day: date) -> None:
    asked = [(check, node) for check in ("software.packages-held", "a.two") for node in NODES]
    records = stored(
        [
            made(check, node, verdict, others=NODES, expires=expires)
            for (check, node), verdict, expires in zip(asked, answers, expiries, strict=True)
            if verdict
        ]
    )
    at = datetime.combine(day, NOON, UTC)
    assessment = assess(SMALL, records, on=day, at=at, exceptions=EXCEPTIONS)
    by_check: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_check.setdefault(record.evidence.check_id, []).append(
            record.evidence.as_record() | {"population": record.evidence.population.declared}
        )
    for result in assessment.results:
        plain = {
            "id": result.control.id,
            "mapping": result.control.mapping.model_dump(mode="json") if result.control.mapping else None,
            "waivers": [waiver.model_dump(mode="json") for waiver in result.waivers],
            "attestation": result.attestation.model_dump(mode="json") if result.attestation else None,
        }
        assert decide(plain, by_check, day, f"{at:%Y-%m-%dT%H:%M:%SZ}") == result.state.value


def test_evidence_with_a_former_check_id_decides_the_control_of_the_current_one(tmp_path: Path) -> None:
    checks = ("software.packages-held", "x.current")
    mapping = control_map(*checks)
    pack = Pack(
        name="p",
        title="t",
        source="s",
        licence="l",
        controls=(Control(id="cm-11", title="T", family="F", mapping=mapping),),
    )
    waiver = WAIVED.model_copy(update={"check": "x.current"})
    evidence = [made("software.packages-held", "gpu-2"), made("x.former", "gpu-2", "FAIL")]
    fill(tmp_path, evidence)
    with open_ledger(tmp_path) as ledger:
        report = publish(
            evidence=tmp_path / "evidence",
            reports=tmp_path / "reports",
            ledger=ledger,
            pack=pack,
            subject=Subject("test-site", "DE", "hybrid"),
            generated=NOW,
            tool_version="0.1.0",
            exceptions=Exceptions(waivers=(waiver,)),
            former_ids={"x.former": "x.current"},
        )
    (control,) = report.document["controls"]
    assert control["state"] == "waived"
    assert control["mapping"]["checks"] == ["software.packages-held", "x.former"]
    assert run_verifier(report.folder).returncode == 8


def scoped(absent: list[str]) -> tuple[Any, bytes]:
    raw = scope.scope_output(NODES, absent)
    return made(scope.CHECK_ID, raw=raw)


@pytest.mark.parametrize(
    ("ran", "absent", "state"),
    [
        (["a.one", "a.part"], [], "pass"),
        (["a.one"], ["a.part"], "pass"),
        (["a.one"], [], "error"),
        (["a.part"], ["a.one"], "error"),
        (["a.one", "a.part"], ["a.part"], "pass"),
    ],
)
def test_a_part_that_the_site_lacks_by_evidence_is_not_required(
    tmp_path: Path, ran: list[str], absent: list[str], state: str
) -> None:
    mapping = control_map("a.one", if_present=("a.part",))
    control = Control(id="cm-8", title="T", family="F", mapping=mapping)
    pack = Pack(name="p", title="t", source="s", licence="l", controls=(control,))
    fill(tmp_path, [*(made(check, "gpu-1") for check in ran), *([scoped(absent)] if absent else [])])
    with open_ledger(tmp_path) as ledger:
        report = publish(
            evidence=tmp_path / "evidence",
            reports=tmp_path / "reports",
            ledger=ledger,
            pack=pack,
            subject=Subject("test-site"),
            generated=NOW,
            tool_version="0.1.0",
        )
    (found,) = report.document["controls"]
    assert found["state"] == state
    (objective,) = found["mapping"]["objectives"]
    assert objective["absent"] == ([] if "a.part" in ran else [each for each in absent if each == "a.part"])
    assert run_verifier(report.folder).returncode == 8
