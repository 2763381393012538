"""Signatures of persons over a report: k of n, all files, on any machine, and refusals of altered reports."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
from report_specimens import report_of

from sovctl.compliance.attestation import PAYLOAD_TYPE, key_ids, sign, statement, verified
from sovctl.compliance.audit.inputs import read_signers
from sovctl.compliance.audit.report_folder import verify_report
from sovctl.compliance.audit.result import AuditResult
from sovctl.compliance.audit.sign_off import ReportRefused, sign_report
from sovctl.compliance.audit.signatures import Signers, signature_file
from sovctl.compliance.signing import SigningKey
from sovctl.compliance.verify_key import BadSignature
from sovctl.support.errors import InputError

TIME = "2026-11-21T12:00:00Z"
FIRST, SECOND, OTHER = (SigningKey.generate() for _ in range(3))
BOTH = Signers((("officer.example", FIRST.public), ("auditor.example", SECOND.public)), 2)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_of(tmp_path_factory.mktemp("state")).folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "report"))


def findings(folder: Path, signers: Signers = Signers()) -> list[str]:
    result = AuditResult()
    verify_report(folder, result, signers=signers)
    return [str(each) for each in result.findings]


def test_two_persons_sign_and_the_second_one_on_another_machine(folder: Path, tmp_path: Path) -> None:
    sign_report(folder, FIRST, name="officer.example", time=TIME)
    assert any("signatures of 2 of 2 keys, got 1" in each for each in findings(folder, BOTH))
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    brought = sign_report(elsewhere, SECOND, name="auditor.example", time=TIME)
    shutil.copy(brought, folder / "signatures")
    assert findings(folder, BOTH) == []
    assert findings(folder, Signers(BOTH.keys, 1)) == []


def test_a_report_needs_no_signature_unless_keys_are_given(folder: Path) -> None:
    assert findings(folder) == []
    assert len(findings(folder, BOTH)) == 1


def test_a_signature_of_an_unknown_key_counts_for_nothing_and_says_so(folder: Path) -> None:
    sign_report(folder, OTHER, name="other.example", time=TIME)
    result = AuditResult()
    verify_report(folder, result, signers=Signers(BOTH.keys, 1))
    assert [str(each) for each in result.findings] == [
        f"report {folder.name}: signatures: expected signatures of 1 of 2 keys, got 0"
    ]
    assert any("1 signatures were not verified" in each for each in result.limits)


def test_an_altered_file_is_found_by_the_signature_and_by_the_ledger(folder: Path) -> None:
    sign_report(folder, FIRST, name="officer.example", time=TIME)
    with (folder / "report.html").open("a") as file:
        file.write(" ")
    assert any("report.html: expected the content that was logged" in each for each in findings(folder))


def test_a_signature_over_fewer_or_other_files_is_a_finding(folder: Path) -> None:
    path = sign_report(folder, FIRST, name="officer.example", time=TIME)
    value, _ = verified(json.loads(path.read_text()), [FIRST.public])
    files = {each["name"]: each["digest"]["sha256"] for each in value["subject"]}
    del files["report.json"]
    files["report.html"] = "0" * 64
    path.write_text(json.dumps(sign(statement(files, value["predicate"]), FIRST)))
    found = findings(folder, Signers(BOTH.keys, 1))
    assert any("report.json is not covered" in each for each in found)
    assert any("report.html differs from the signed file" in each for each in found)


@pytest.mark.parametrize("part", ["payload", "sig"])
def test_a_changed_byte_of_payload_or_signature_is_found(folder: Path, part: str) -> None:
    path = sign_report(folder, FIRST, name="officer.example", time=TIME)
    envelope = json.loads(path.read_text())
    holder = envelope if part == "payload" else envelope["signatures"][0]
    data = base64.b64decode(holder[part])
    holder[part] = base64.b64encode(
        data.replace(b"APPROVED", b"REJECTED") if part == "payload" else data[::-1]
    ).decode()
    path.write_text(json.dumps(envelope))
    assert findings(folder, Signers(BOTH.keys, 1))


@pytest.mark.parametrize("content", ["", "[]", "{", '{"payload": "e30="}', "[" * 10**5])
def test_a_file_that_is_no_envelope_is_a_finding(folder: Path, content: str) -> None:
    path = folder / signature_file(FIRST.public)
    path.parent.mkdir()
    path.write_text(content)
    assert findings(folder)


def test_another_file_next_to_signatures_is_a_finding(folder: Path) -> None:
    path = folder / "signatures" / "note.txt"
    path.parent.mkdir()
    path.write_text("x")
    assert any("unknown file" in each for each in findings(folder))


def test_a_report_with_a_finding_is_not_signed(folder: Path) -> None:
    (folder / "report.html").unlink()
    with pytest.raises(ReportRefused, match=r"report\.html"):
        sign_report(folder, FIRST, name="officer.example", time=TIME)
    assert not (folder / "signatures").exists()


def test_a_key_signs_once(folder: Path) -> None:
    sign_report(folder, FIRST, name="officer.example", time=TIME)
    with pytest.raises(InputError, match="this key has signed"):
        sign_report(folder, FIRST, name="officer.example", time=TIME)


def test_no_report_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no report found"):
        sign_report(tmp_path, FIRST, name="officer.example", time=TIME)


def test_numbers_that_keys_cannot_reach_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "officer.vkey"
    path.write_text(FIRST.public.vkey("officer.example") + "\n")
    assert read_signers([path], None).required == 1
    for paths, number in (([path], 2), ([path], 0), ([], 1), ([path, path], 1)):
        with pytest.raises(InputError):
            read_signers(paths, number)


def test_the_signed_bytes_are_those_of_dsse() -> None:
    """Pre-authentication encoding of DSSE v1; computed by hand."""
    envelope = sign(statement({"a": "0" * 64}, {"x": "y"}), FIRST)
    payload = base64.b64decode(envelope["payload"])
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    FIRST.public.verify(f"DSSEv1 28 {PAYLOAD_TYPE} {len(payload)} ".encode() + payload, signature)
    assert key_ids(envelope) == [FIRST.public.keyid]
    assert verified(envelope, [SECOND.public])[1] == []
    envelope["payloadType"] = "text/plain"
    with pytest.raises(BadSignature, match="expected an envelope"):
        verified(envelope, [FIRST.public])
