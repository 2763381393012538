"""Results of ClamAV: only files that it read completely count. The output is one of clamscan 1.4.6 (Debian 12)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sovctl.engine.bundle.intake import clamav
from sovctl.engine.bundle.intake.policy import Scanner
from sovctl.engine.bundle.trust import Refused

OUTPUT = """/q/bad: test.UNOFFICIAL FOUND
/q/good: OK
/q/empty: Empty file
WARNING: /q/absent: Can't access file
/q/big: Heuristics.Limits.Exceeded.MaxFileSize FOUND
"""


def test_findings_and_exceeded_limits_are_findings() -> None:
    files = [Path("/q") / name for name in ("bad", "good", "empty", "big")]
    assert clamav.findings_in(OUTPUT, files) == (
        (Path("/q/bad"), "test.UNOFFICIAL"),
        (Path("/q/big"), "Heuristics.Limits.Exceeded.MaxFileSize"),
    )


@pytest.mark.parametrize("name", ["absent", "unlisted"])
def test_a_skipped_file_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="did not read a file: skipped"):
        clamav.findings_in(OUTPUT, [Path("/q") / name])


@pytest.mark.skipif(not clamav.is_installed(), reason="ClamAV is not installed")
def test_definitions_without_a_date_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own.ndb").write_text("test:0:*:736f7663746c2d746573742d7669727573\n")
    with pytest.raises(Refused, match="no virus definitions with a date"):
        clamav.scan([], Scanner(database=tmp_path), now=datetime.now(UTC))
