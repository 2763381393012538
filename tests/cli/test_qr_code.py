"""Checkpoints and cosignatures as QR codes: the text of an independent decoder is accepted by witness and site."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import everywhere, fill

from sovctl.cli.views.qr_code import show_qr_code
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.witness import request
from sovctl.support.errors import InputError, MissingTool

zxingcpp = pytest.importorskip("zxingcpp", reason="an environment older than the lock")
Image = pytest.importorskip("PIL.Image", reason="an environment older than the lock")
pytest.importorskip("segno", reason="an environment older than the lock")
BLOCKS = {" ": (0, 0), "▀": (255, 0), "▄": (0, 255), "█": (255, 255)}


def sovctl(*arguments: str | Path, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "sovctl.cli", "audit", *map(str, arguments)]
    return subprocess.run(words, cwd=cwd, input=stdin, capture_output=True, check=False)


def scanned(image: Any) -> str:
    """The text of the only code in an image."""
    (found,) = zxingcpp.read_barcodes(image)
    return str(found.text)


def on_screen(text: str) -> Any:
    """The picture that a terminal shows, with black background and 4 pixels for each module."""
    lines = [line for line in text.split("\n") if line and set(line) <= BLOCKS.keys()]
    width = max(map(len, lines))
    rows = [bytes(BLOCKS[c][half] for c in line.ljust(width)) for line in lines for half in (0, 1)]
    small = Image.frombytes("L", (width, len(rows)), b"".join(rows))
    return small.resize((width * 4, len(rows) * 4), Image.Resampling.NEAREST)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    fill(tmp_path / ".sovctl", everywhere("clock.synchronized"))
    return tmp_path


def test_a_checkpoint_and_its_cosignature_cross_by_screen_and_camera(site: Path) -> None:
    asked = sovctl("checkpoint", "--qr", "ask.png", cwd=site)
    assert (asked.returncode, asked.stdout) == (0, b""), asked.stderr
    with Image.open(site / "ask.png") as image:
        text = scanned(image)
    assert text == request(LedgerReader(site / ".sovctl" / "ledger"), old_size=0)
    words = ("witness", "-", "--folder", "w", "--log-key", ".sovctl/ledger/log.vkey", "--qr", "terminal")
    signed = sovctl(*words, cwd=site, stdin=text.encode())
    assert signed.returncode == 0, signed.stderr
    cosignature = scanned(on_screen(signed.stdout.decode()))
    added = sovctl("add-cosignatures", "-", cwd=site, stdin=cosignature.encode())
    assert added.stdout == b"3 entries cosigned by witness\n", added.stderr


def test_the_frame_that_scanners_change_is_restored_and_a_changed_digit_is_refused(site: Path) -> None:
    text = request(LedgerReader(site / ".sovctl" / "ledger"), old_size=0)
    words = ("--folder", "w", "--log-key", ".sovctl/ledger/log.vkey")
    framed = b"\xef\xbb\xbfQR-Code:" + text.rstrip("\n").replace("\n", "\r\n").encode()
    assert sovctl("witness", "-", *words, cwd=site, stdin=framed).returncode == 0
    refused = sovctl(
        "witness", "-", "--folder", "v", *words[2:], cwd=site, stdin=framed.replace(b"\r\n3\r", b"\r\n4\r")
    )
    assert refused.returncode == 1
    assert not (site / "v" / "logs" / "sovctl.site_test" / "checkpoint").exists()


@pytest.mark.parametrize("data", [b"", b"\xff", b"x" * 70_000])
def test_a_scan_of_something_else_is_bad_input(site: Path, data: bytes) -> None:
    for command in ("witness", "add-cosignatures"):
        done = sovctl(command, "-", cwd=site, stdin=data)
        assert done.returncode == 3, done.stderr
        assert b"Traceback" not in done.stderr


def test_an_svg_has_no_reference_to_another_resource(tmp_path: Path) -> None:
    show_qr_code("text — ü\n", str(tmp_path / "code.svg"))
    content = (tmp_path / "code.svg").read_text()
    assert "<path" in content
    assert "href" not in content


def test_other_targets_and_long_texts_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected terminal, FILE\.svg or FILE\.png, got code\.gif"):
        show_qr_code("text", "code.gif")
    show_qr_code("x" * 2951, str(tmp_path / "code.png"))
    with Image.open(tmp_path / "code.png") as image:
        assert scanned(image) == "x" * 2951
    with pytest.raises(InputError, match="at most 2951 bytes in a QR code, got 2952"):
        show_qr_code("x" * 2952, str(tmp_path / "code.png"))


def test_the_message_about_the_missing_extra_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "segno", None)
    with pytest.raises(MissingTool) as error:
        show_qr_code("text", "terminal")
    assert error.value.hint == "pip install 'sovctl[qr]'"
