"""The PDF of a report: equal bytes, no request, marked on every page, protected by the ledger entry."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import everywhere, fill, made, open_ledger

from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.report import pdf
from sovctl.compliance.report.document import Subject
from sovctl.compliance.report.pdf import render_pdf
from sovctl.compliance.report.publish import Published, publish
from sovctl.support.errors import ExitCode, MissingTool

try:
    pdf.require_weasyprint()
except MissingTool as error:
    pytest.skip(f"{error}", allow_module_level=True)
HEAD = "SIMULATED HARDWARE · NOT EVIDENCE ABOUT A REAL SITE"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Published:
    state = tmp_path_factory.mktemp("state")
    failed = made("perimeter.no-way-out", "gpu-1", "FAIL", others=["gpu-1", "gpu-2"], simulated=True)
    fill(state, [*everywhere("clock.synchronized"), failed])
    with open_ledger(state) as ledger:
        return publish(
            evidence=state / "evidence",
            reports=state / "reports",
            ledger=ledger,
            pack=load_pack(builtin_pack("residency-ae")),
            subject=Subject("test-site"),
            generated=datetime(2026, 11, 21, 10, 30, tzinfo=UTC),
            tool_version="0.1.0",
            pdf=True,
        )


def pages(data: bytes) -> list[str]:
    """Text of each page."""
    if not (program := shutil.which("pdftotext")):
        pytest.skip("pdftotext (poppler-utils) is not installed")
    done = subprocess.run([program, "-layout", "-", "-"], input=data, capture_output=True, check=True)
    return done.stdout.decode().split("\f")[:-1]


def verify(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", "-S", folder / "sovctl-verify.pyz", folder]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)


def test_equal_documents_give_equal_bytes(reported: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = (reported.folder / "report.pdf").read_bytes()
    names = [path.relative_to(reported.folder).as_posix() for path in reported.folder.rglob("*") if path.is_file()]
    later = time.time() + 86400
    monkeypatch.setattr(time, "time", lambda: later)  # the clock that fontTools and the standard library read
    unlisted = ("report.pdf", "report.tlog-proof")
    files = sorted(name for name in names if name not in unlisted and not name.startswith("raw/"))
    assert render_pdf(reported.document, files=files) == render_pdf(reported.document, files=files) == stored
    assert "SOURCE_DATE_EPOCH" not in os.environ


def test_every_page_has_the_mark_the_site_the_time_and_its_number(reported: Published) -> None:
    texts = pages((reported.folder / "report.pdf").read_bytes())
    assert len(texts) > 2
    for number, text in enumerate(texts, start=1):
        first = [line.strip() for line in text.splitlines() if line.strip()]
        assert first[0] == HEAD
        assert re.fullmatch(r"test-site · .+ +2026-11-21T10:30:00Z", first[1])
        assert first[-1].replace(" ", "") == f"{number}/{len(texts)}"


def test_closed_parts_of_the_page_are_open_on_paper(reported: Published) -> None:
    text = "".join(pages((reported.folder / "report.pdf").read_bytes()))
    item = next(i for i in reported.document["evidence"] if i["record"]["verdict"] == "PASS")
    assert item["sha256"] in re.sub(r"\s", "", text)
    for interactive in ("Reset", "Open all", "Skip to the findings"):
        assert interactive not in text


def test_many_records_give_tables_and_the_details_of_problems(
    reported: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "MAX_RECORDS_WITH_DETAILS", 3)
    text = "".join(pages(render_pdf(reported.document)))
    digests = {i["record"]["verdict"]: i["sha256"] for i in reported.document["evidence"]}
    bare = re.sub(r"\s", "", text)
    assert digests["FAIL"] in bare
    assert digests["PASS"] not in bare
    assert "4recordsaretoomanyforpaper" in bare
    assert "clock.synchronized" in text


def test_the_renderer_requests_nothing(reported: Published) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x.png"
        figure = {"title": "t", "records": [], "svg": f'<img src="{address}">'}
        document: dict[str, Any] = json.loads(json.dumps(reported.document)) | {"figures": [figure]}
        with pytest.raises(AssertionError, match="external resources"):
            render_pdf(document)
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_the_verifier_finds_an_altered_and_a_missing_pdf(reported: Published, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(reported.folder, tmp_path / reported.folder.name))
    assert "report.pdf" not in verify(folder).stdout
    (folder / "report.pdf").write_bytes((folder / "report.pdf").read_bytes() + b"\n")
    altered = verify(folder)
    assert altered.returncode == ExitCode.FAILURE
    assert "report.pdf: expected the content that was logged, got another" in altered.stdout
    (folder / "report.pdf").unlink()
    assert "report.pdf: expected the content that was logged, got no file" in verify(folder).stdout


def test_the_message_about_the_missing_extra_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingTool) as error:
        pdf.require_weasyprint()
    assert (error.value.exit_code, error.value.hint) == (ExitCode.MISSING, "pip install 'sovctl[pdf]'")
