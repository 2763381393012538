"""sovctl-verify.pyz: equal bytes from equal sources, no package, and refusals without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.compliance.report import verifier_archive


def run(archive: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", "-S", archive, *arguments]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / verifier_archive.FILE_NAME
    path.write_bytes(verifier_archive.build())
    return path


def test_equal_sources_give_equal_bytes() -> None:
    first = verifier_archive.build()
    verifier_archive.build.cache_clear()
    assert verifier_archive.build() == first


def test_a_module_that_imports_a_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier_archive, "ENTRY", "sovctl.compliance.signing")
    with pytest.raises(ImportError, match="imports cryptography"):
        verifier_archive.modules()


def test_runs_without_packages_and_lists_its_exit_codes(archive: Path) -> None:
    result = run(archive, "--help")
    assert result.returncode == 0
    assert "8 no findings" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("absent",),
        ("--unknown",),
        (".", "--key", "/dev/zero"),
        (".", "--checkpoint", "/dev/null"),
        (".", "--witnesses", "1"),
    ],
)
def test_bad_input_ends_with_3_and_one_message(archive: Path, arguments: tuple[str, ...]) -> None:
    result = run(archive, *arguments)
    assert (result.returncode, result.stdout) == (3, "")
    assert "Traceback" not in result.stderr
    assert "sovctl-verify" in result.stderr


@pytest.mark.parametrize(
    "content", ["[" * 10**6, '{"format": ' + "9" * 10**6 + "}", '{"format": 1e999}', '{"a":1,"a":2}']
)
def test_a_report_with_deep_or_huge_values_is_a_finding(archive: Path, tmp_path: Path, content: str) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "report.json").write_text(content)
    result = run(archive, folder)
    assert result.returncode == 1
    assert "report.json: expected" in result.stdout
    assert result.stderr == ""


def test_a_sparse_file_larger_than_the_limit_is_not_read(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "report.json").touch()
    os.truncate(folder / "report.json", 1 << 40)
    result = run(archive, folder)
    assert result.returncode == 1
    assert "no readable file of at most" in result.stdout
