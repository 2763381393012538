"""Folder of documents: logged, complete after a crash, and compared by the audit."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from evidence_specimens import fill, made, open_ledger

from sovctl.compliance.audit.site import audit
from sovctl.compliance.documents.publish import Published, Subject, publish
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
SUBJECT = Subject("bank", "run", "5" * 64, simulated=False, missing=3, findings=1)
CONTENTS = {"gdpr-art-30.md": b"# Record\n", "gdpr-art-30.json": b"{}\n"}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    fill(tmp_path, [made("clock.drift")])
    return tmp_path


def published(state: Path, contents: dict[str, bytes] = CONTENTS) -> Published:
    with open_ledger(state) as ledger:
        return publish(
            contents,
            parent=state / "documents",
            ledger=ledger,
            subject=SUBJECT,
            generated=NOW,
            tool_version="0.1.0",
        )


def found(state: Path) -> list[str | None]:
    return [each.file for each in audit(state).findings]


def test_the_ledger_has_the_digest_of_every_file(state: Path) -> None:
    made = published(state)
    entry = list(LedgerReader(state / "ledger").entries())[made.leaf_index].record
    assert (entry["type"], entry["folder"], entry["missing"]) == ("documents", made.folder.name, 3)
    names = {path.name for path in made.folder.iterdir()}
    assert names == {*entry["files"], "manifest.json", "documents.tlog-proof"}
    assert json.loads((made.folder / "manifest.json").read_bytes())["generated"] == "2026-11-28T12:00:00Z"
    assert found(state) == []


def test_a_second_folder_of_one_second_has_its_own_name_and_equal_documents(state: Path) -> None:
    first, second = published(state), published(state)
    assert second.folder.name == f"{first.folder.name}.2"
    for name in CONTENTS:
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
    assert found(state) == []


def test_the_audit_finds_altered_missing_and_added_files(state: Path) -> None:
    folder = published(state).folder
    place = f"documents/{folder.name}"
    for name in ("gdpr-art-30.md", "manifest.json", "checkpoint", "log.vkey", "documents.tlog-proof"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-2] + b"x\n")
        assert found(state) == [f"{place}/{name}"], name
        (folder / name).unlink()
        assert found(state) == [f"{place}/{name}"], name
        (folder / name).write_bytes(content)
    (folder / "more.md").write_text("x")
    assert found(state) == [f"{place}/more.md"]
    (folder / "more.md").unlink()
    folder.rename(folder.with_name("other"))
    assert found(state) == [place, "documents/other"]


def test_a_link_in_the_folder_is_found(state: Path) -> None:
    folder = published(state).folder
    content = (folder / "gdpr-art-30.md").rename(state / "elsewhere")
    (folder / "gdpr-art-30.md").symlink_to(content)
    assert f"documents/{folder.name}/gdpr-art-30.md" in found(state)


def test_a_proof_of_another_folder_is_found(state: Path) -> None:
    first, second = published(state).folder, published(state).folder
    (second / "documents.tlog-proof").write_bytes((first / "documents.tlog-proof").read_bytes())
    assert found(state) == [f"documents/{second.name}/documents.tlog-proof"]


def test_an_interrupted_folder_is_completed_if_logged_and_removed_otherwise(state: Path) -> None:
    folder = published(state).folder
    (folder / "documents.tlog-proof").unlink()
    folder.rename(folder.with_name(f".{folder.name}.1.new"))
    (state / "documents" / ".20261128T000000Z.2.new").mkdir()
    published(state)
    assert not list((state / "documents").glob(".*"))
    assert folder.is_dir()
    assert found(state) == []


def test_nothing_is_written_if_the_ledger_cannot_record_it(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[int]:
        raise OSError("disk full")

    monkeypatch.setattr(Ledger, "append", refuse)
    with pytest.raises(OSError, match="disk full"):
        published(state)
    assert list((state / "documents").iterdir()) == []
