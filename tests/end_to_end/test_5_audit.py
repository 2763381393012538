"""What the auditor gets: a report and a ledger that verify; tampering is found; nothing raw is in any of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lab_site import EMAIL, IBAN, SENT, LabSite

from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def reported(site: LabSite) -> LabSite:
    """The site with a verify run and a report of it."""
    site.run_json("verify", str(site.file), "--check", "perimeter.*", "--check", "software.*")
    site.succeed("report", str(site.file))
    return site


def test_report_and_ledger_verify(reported: LabSite) -> None:
    kept = reported.state / "ledger" / "checkpoint"
    done = reported.succeed("audit", "verify", str(reported.state), "--checkpoint", str(kept))
    assert "OK: no findings" in done.stdout


def _ledger(state: Path) -> Path:
    return state / "ledger" / "entries"


def _evidence(state: Path) -> Path:
    return max((state / "evidence" / "raw").iterdir(), key=lambda path: path.stat().st_size)


def _report(state: Path) -> Path:
    return max((state / "reports").rglob("report.json"))


@pytest.mark.parametrize("file", [_ledger, _evidence, _report], ids=["ledger", "raw-evidence", "report"])
def test_a_flipped_byte_is_found(reported: LabSite, tmp_path: Path, file: Callable[[Path], Path]) -> None:
    state = reported.copy_state(tmp_path / "state")
    assert reported.run("audit", "verify", str(state)).returncode == ExitCode.UNPROVEN
    damaged = file(state)
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    done = reported.run("audit", "verify", str(state))
    assert done.returncode == ExitCode.FAILURE
    assert "FINDING" in done.stdout


def test_a_cut_tail_is_found_against_a_kept_checkpoint(reported: LabSite, tmp_path: Path) -> None:
    """An older copy of the ledger is whole in itself; only what somebody kept elsewhere shows that it ends early."""
    older = reported.copy_state(tmp_path / "older")
    reported.run_json("verify", str(reported.file), "--node", "n2", "--check", "perimeter.default-drop")
    kept = tmp_path / "kept"
    kept.write_bytes((reported.state / "ledger" / "checkpoint").read_bytes())
    alone = reported.run("audit", "verify", "--ledger", str(older / "ledger"))
    assert alone.returncode == ExitCode.UNPROVEN, alone.stdout
    done = reported.run("audit", "verify", "--ledger", str(older / "ledger"), "--checkpoint", str(kept))
    assert done.returncode == ExitCode.FAILURE
    assert "FINDING" in done.stdout


def test_raw_values_are_kept_nowhere_and_the_search_would_find_them(reported: LabSite) -> None:
    """Chats went by cloud and by pool, and failed in several ways, before this looks at everything that is kept."""
    assert reported.chat("assistant", SENT, stream=True) == {"text": SENT, "route": "cloud"}
    places = reported.searched([IBAN, EMAIL])
    assert [place.name for place in places if place.hits] == []
    assert [place.name for place in places if place.files == 0] == []
    planted = "planted-for-the-search@example.test"
    reported.on("s1", f"echo {planted} | sudo tee /var/tmp/planted >/dev/null")
    try:
        found = {place.name: place.hits for place in reported.searched([planted])}
    finally:
        reported.on("s1", "sudo rm -f /var/tmp/planted")
    assert {name for name, hits in found.items() if hits} == {"s1: logs, journal, state, settings"}
