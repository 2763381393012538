"""`sovctl rag` on real files: parser processes, mutual TLS to a service, interruptions and refusals."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import document_givens as given
import pytest
import rag_service
from rag_service import RagService

from sovctl.gateway.retrieval.ingest import https
from sovctl.gateway.retrieval.ingest.commands import main
from sovctl.gateway.retrieval.ingest.parsers.extracted import Refused
from sovctl.gateway.retrieval.ingest.sources import find_sources


class Bank:
    """A source folder, its groups file, settings and service."""

    def __init__(self, folder: Path, pki: Any, service: RagService) -> None:
        self.service = service
        self.root = folder / "handbook"
        (self.root / "board").mkdir(parents=True)
        (self.root / "cards.md").write_text("# Cards\n\nA lost card is blocked at once.")
        (self.root / "board" / "minutes.pdf").write_bytes(given.pdf(["The board met.", "It decided."]))
        (self.root / "limits.xlsx").write_bytes(given.xlsx())
        self.groups = folder / "groups.csv"
        self.groups.write_text("source,allow,deny\n/,staff,\nboard/,board,contractors\n")
        key = folder / "client.key"
        key.write_text("invented-key")
        key.chmod(0o600)
        self.config = folder / "rag.yaml"
        tls = f"url: {service.url}\n  ca: {pki.ca_file}\n"
        own = f"  certificate: {pki.client_certificate_file}\n  key: {pki.client_key_file}\n"
        self.config.write_text(f"service:\n  {tls}{own}gateway:\n  {tls}  key_file: {key}\n")

    def arguments(self, command: str, *more: str) -> list[str]:
        return [command, f"--config={self.config}", "--json", *more]

    def source(self, command: str, *more: str) -> list[str]:
        options = ["--collection=handbook", f"--groups-file={self.groups}", *more]
        return self.arguments(command, *options, "--", str(self.root))


@pytest.fixture
def bank(tmp_path: Path, pki: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    monkeypatch.setattr(https, "_WAITS_S", (0.0,))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki.ca_file)
    tls.load_cert_chain(pki.certificate_file, pki.key_file)
    tls.verify_mode = ssl.CERT_OPTIONAL  # the gateway's clients have none; the service refuses them itself
    with rag_service.rag_service(tls) as service:
        yield Bank(tmp_path, pki, service)


def run(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 0) -> Any:
    capsys.readouterr()
    returned = main(arguments)
    printed = capsys.readouterr()
    assert returned == code, printed.err
    return json.loads(printed.out) if printed.out else printed.err


def test_ingests_a_folder_once(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(capsys, bank.source("ingest"))
    assert first["counts"] == {"stored": 3, "groups_changed": 0, "unchanged": 0, "refused": 0}
    minutes = bank.service.documents["board/minutes.pdf"]
    assert minutes["groups"] == {"allow": ["board"], "deny": ["contractors"]}
    assert [(chunk["page"], chunk["text"]) for chunk in minutes["chunks"]] == [
        (1, "The board met."),
        (2, "It decided."),
    ]
    assert minutes["extractor"].startswith("pypdf 7.")
    assert (minutes["version"][:7], len(minutes["extracted_sha256"])) == ("sha256:", 64)
    bank.service.log.clear()
    assert run(capsys, bank.source("ingest"))["counts"]["unchanged"] == 3
    assert bank.service.log == [("GET", "/v1/documents")]


def test_a_change_of_groups_is_sent_without_the_text(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, bank.source("ingest"))
    bank.groups.write_text("source,allow,deny\n/,staff;audit,\nboard/,board,contractors\n")
    bank.service.log.clear()
    assert run(capsys, bank.source("ingest"))["counts"]["groups_changed"] == 2
    assert {method for method, _ in bank.service.log} == {"GET", "PUT"}
    assert bank.service.documents["cards.md"]["groups"] == {"allow": ["audit", "staff"], "deny": []}


def test_a_refused_file_changes_nothing_and_the_others_are_stored(
    bank: Bank, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(capsys, bank.source("ingest"))
    kept = dict(bank.service.documents["board/minutes.pdf"])
    (bank.root / "board" / "minutes.pdf").write_bytes(given.encrypted_pdf())
    (bank.root / "link.md").symlink_to("/etc/passwd")
    (bank.root / "scan.pdf").write_bytes(given.pdf([""]))
    (bank.root / "long.txt").write_text("too long")
    (bank.root / "new.txt").write_text("new text")
    (bank.root / ".hidden.txt").write_text("hidden")
    os.mkfifo(bank.root / "pipe.txt")
    result = run(capsys, bank.source("ingest"), code=1)
    refused = {each["source_id"]: each["reason"] for each in result["documents"] if each["status"] == "refused"}
    assert refused == {
        "board/minutes.pdf": "encrypted",
        "link.md": "unreadable",
        "long.txt": "rejected_by_service",
        "pipe.txt": "unreadable",
        "scan.pdf": "no_text",
    }
    assert result["counts"]["stored"] == 1
    assert bank.service.documents["board/minutes.pdf"] == kept


def test_names_with_control_characters_are_refused_and_shown_escaped(
    bank: Bank, capsys: pytest.CaptureFixture[str]
) -> None:
    (bank.root / "\x1b[31mred.txt").write_text("x")
    Path(os.fsdecode(bytes(bank.root) + b"/\xff.txt")).write_text("x")
    arguments = [each for each in bank.source("ingest") if each != "--json"]
    assert main(arguments) == 1
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert r"refused  \x1b[31mred.txt: the name has" in printed
    assert r"refused  \udcff.txt: the name has" in printed


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "handbook" / "board").mkdir(parents=True)
    (tmp_path / "handbook" / "board" / "a.txt").write_text("permitted")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("secret")
    (source,) = find_sources(tmp_path / "handbook")
    assert source.read(100) == b"permitted"
    (tmp_path / "handbook" / "board").rename(tmp_path / "moved")
    (tmp_path / "handbook" / "board").symlink_to(tmp_path / "other")
    with pytest.raises(Refused, match="cannot be opened"):
        source.read(100)


def test_a_file_without_groups_is_refused(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    bank.groups.write_text("source,allow,deny\nboard/,board,\n")
    result = run(capsys, bank.source("ingest"), code=1)
    assert {each["reason"] for each in result["documents"] if each["source_id"] == "cards.md"} == {"no_groups"}
    assert set(bank.service.documents) == {"board/minutes.pdf"}


def test_a_killed_ingest_continues(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2):
        (bank.root / f"more-{number}.txt").write_text(f"text {number}")
    bank.service.slow_after = 2
    program = [sys.executable, "-P", "-m", "sovctl.gateway.retrieval.ingest", *bank.source("ingest", "--jobs=1")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert bank.service.reached.wait(60)
        process.send_signal(signal.SIGKILL)
        assert process.wait(20) == -signal.SIGKILL
    assert len(bank.service.documents) == 2
    bank.service.slow_after = None
    bank.service.log.clear()
    counts = run(capsys, bank.source("ingest"))["counts"]
    assert (counts["stored"], counts["unchanged"]) == (3, 2)
    assert len([each for each in bank.service.log if each[0] == "POST"]) == 3


def test_a_service_that_fails_stops_the_run(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    bank.service.fault = 503
    assert "repeat the command" in run(capsys, bank.source("ingest"), code=4)
    bank.service.fault = 403
    assert "not one of an administrator" in run(capsys, bank.source("ingest"), code=3)
    bank.service.fault = 0
    unknown = bank.arguments("list", "--collection=other")
    assert "not found" in run(capsys, unknown, code=3)


def test_reconcile_shows_and_applies_differences(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(run(capsys, bank.source("reconcile"), code=2)["differences"]) == 3
    run(capsys, bank.source("ingest"))
    assert run(capsys, bank.source("reconcile"))["differences"] == []
    (bank.root / "limits.xlsx").unlink()
    (bank.root / "cards.md").write_text("# Cards\n\nchanged")
    (bank.root / "new.txt").write_text("new")
    bank.groups.write_text("source,allow,deny\n/,staff,\nboard/,audit,contractors\n")
    found = run(capsys, bank.source("reconcile"), code=2)["differences"]
    assert [(each["action"], each["source_id"], each["detail"]) for each in found] == [
        ("delete", "limits.xlsx", "the file does not exist"),
        ("set_groups", "board/minutes.pdf", "+allow audit, -allow board"),
        ("store", "cards.md", "the file changed"),
        ("store", "new.txt", "not in the service"),
    ]
    changes = run(capsys, bank.source("reconcile", "--apply"))["changes"]
    assert [each["result"] for each in changes] == ["deleted", "groups_changed", "stored", "stored"]
    assert run(capsys, bank.source("reconcile"))["differences"] == []


def test_a_revoked_entry_deletes_and_comes_first(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, bank.source("ingest"))
    (bank.root / "new.txt").write_text("new")
    bank.groups.write_text("source,allow,deny\ncards.md,staff,\nlimits.xlsx,audit,\nnew.txt,staff,\n")
    bank.service.log.clear()
    run(capsys, bank.source("reconcile", "--apply"))
    assert [method for method, _ in bank.service.log] == ["GET", "DELETE", "PUT", "POST"]
    assert "board/minutes.pdf" not in bank.service.documents


def test_an_empty_folder_does_not_delete_a_collection(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, bank.source("ingest"))
    for file in ("cards.md", "limits.xlsx", "board/minutes.pdf"):
        (bank.root / file).unlink()
    assert "3 of 3 documents would be deleted" in run(capsys, bank.source("reconcile", "--apply"), code=1)
    assert len(bank.service.documents) == 3
    run(capsys, bank.source("reconcile", "--apply", "--allow-deletions"))
    assert not bank.service.documents


def test_lists_deletes_and_changes_groups(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, bank.source("ingest"))
    rows = run(capsys, bank.arguments("list", "--collection=handbook"))["documents"]
    assert [row["source_id"] for row in rows] == ["board/minutes.pdf", "cards.md", "limits.xlsx"]
    assert "blocked" not in json.dumps(rows)
    changed = bank.arguments("groups", "--collection=handbook", "--allow=audit", "--deny=it", "board/minutes.pdf")
    assert run(capsys, changed)["groups"] == {"allow": ["audit"], "deny": ["it"]}
    assert bank.service.documents["board/minutes.pdf"]["groups"] == {"allow": ["audit"], "deny": ["it"]}
    run(capsys, bank.arguments("groups", "--collection=handbook", "cards.md"), code=3)
    run(capsys, bank.arguments("groups", "--collection=handbook", "--allow=a", "absent"), code=3)
    deleted = run(capsys, bank.arguments("delete", "--collection=handbook", "cards.md", "absent"), code=1)
    assert [row["deleted"] for row in deleted["documents"]] == [True, False]


def test_imports_a_directory(bank: Bank, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    export = tmp_path / "people.json"
    export.write_text('{"groups": {"staff": ["anna", "ben"], "board": ["anna"]}}')
    dry = run(capsys, bank.arguments("directory", "--dry-run", str(export)))
    assert dry == {"groups": 2, "subjects": 2, "memberships": 3, "imported": False}
    assert bank.service.directory == {}
    run(capsys, bank.arguments("directory", "--subject-prefix=sso:", str(export)))
    assert bank.service.directory == {"board": ["sso:anna"], "staff": ["sso:anna", "sso:ben"]}


def test_searches_with_the_key_of_a_client(bank: Bank, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, bank.source("ingest"))
    found = run(capsys, bank.arguments("search", "--collection=handbook", "lost card"))["results"]
    assert [(each["name"], each["score"]) for each in found] == [("cards.md", 0.5)]
    (tmp_path / "client.key").write_text("wrong-key")
    assert "rejects the key" in run(capsys, bank.arguments("search", "--collection=handbook", "x"), code=3)
    run(capsys, bank.arguments("search", "--collection=handbook", "--results=51", "x"), code=3)


def test_settings_have_all_problems_with_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "rag.yaml"
    config.write_text("service:\n  url: http://192.0.2.1\n  color: red\nparser:\n  cpu_s: 0\n")
    assert main(["list", f"--config={config}", "--collection=x"]) == 3
    printed = capsys.readouterr().err
    assert printed.count("sovctl: ") == 3
    assert f"{config}:2: service.url" in printed
    assert f"{config}:5: parser.cpu_s" in printed
