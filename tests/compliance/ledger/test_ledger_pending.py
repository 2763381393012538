"""Records of processes that cannot append reach the ledger by its writer, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.compliance.ledger import pending
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.signing import SigningKey
from sovctl.support.errors import InputError

ORIGIN = "sovctl.site/test"
KEY = SigningKey.generate()
READ = {"type": "audit-read", "operator": "ops"}


def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.key"
    path.write_bytes(KEY.pem())
    path.chmod(0o600)
    return path


def types(directory: Path) -> list[str]:
    return [str(entry.record["type"]) for entry in LedgerReader(directory).entries()]


def test_appends_at_once_without_a_writer(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "log", origin=ORIGIN, key=KEY).close()
    assert pending.record_or_leave(tmp_path / "log", READ, key_file=key_file(tmp_path))
    assert types(tmp_path / "log") == ["audit-read"]


def test_the_writer_appends_what_was_left_when_it_closes(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "log", origin=ORIGIN, key=KEY) as ledger:
        ledger.append([{"type": "node-event"}])
        assert not pending.record_or_leave(tmp_path / "log", READ, key_file=key_file(tmp_path))
        assert pending.count(tmp_path / "log") == 1
    assert types(tmp_path / "log") == ["node-event", "audit-read"]
    assert pending.count(tmp_path / "log") == 0
    assert verify_ledger(tmp_path / "log").is_whole


def test_without_the_key_the_next_writer_appends(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "log", origin=ORIGIN, key=KEY).close()
    assert not pending.record_or_leave(tmp_path / "log", READ, key_file=tmp_path / "absent")
    assert types(tmp_path / "log") == []
    Ledger.open(tmp_path / "log", origin=ORIGIN, key=KEY).close()
    assert types(tmp_path / "log") == ["audit-read"]


@pytest.mark.parametrize(
    "content",
    [b'{"type":"gateway.answer"}', b'{"type": "audit-read"}', b"no json", b"[]", b"\xff", b'{"type":"audit-read"' * 9],
)
def test_other_files_are_not_appended(tmp_path: Path, content: bytes) -> None:
    Ledger.open(tmp_path, origin=ORIGIN, key=KEY).close()
    (tmp_path / pending.FOLDER).mkdir()
    (tmp_path / pending.FOLDER / "1.json").write_bytes(content)
    (tmp_path / pending.FOLDER / "2.json").symlink_to("/etc/passwd")
    with Ledger.open(tmp_path, origin=ORIGIN, key=KEY) as ledger:
        assert ledger.size == 0


def test_an_access_that_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "log", origin=ORIGIN, key=KEY).close()
    (tmp_path / "log" / pending.FOLDER).write_text("a file")
    with pytest.raises(InputError, match="cannot leave a record"):
        pending.record_or_leave(tmp_path / "log", READ, key_file=tmp_path / "absent")
