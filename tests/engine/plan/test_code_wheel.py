"""The wheel of this very sovctl: the same bytes every time, installable, and only what a gateway needs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sovctl.engine.plan import code_wheel


def names() -> list[str]:
    with zipfile.ZipFile(io.BytesIO(code_wheel.build())) as archive:
        assert archive.testzip() is None
        return archive.namelist()


def test_the_same_code_gives_the_same_bytes() -> None:
    assert code_wheel.build() == code_wheel.build()
    assert code_wheel.digest() == code_wheel.digest()
    assert code_wheel.digest(("roles",)) != code_wheel.digest(("playbooks",)) != code_wheel.digest()


def test_a_file_written_since_the_last_digest_changes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_wheel, "PACKAGE", tmp_path)
    monkeypatch.setattr(code_wheel, "_TOP", f"{tmp_path}/")
    (tmp_path / "roles").mkdir()
    file = tmp_path / "roles" / "main.yml"
    file.write_text("a: 1\n")
    seen = [code_wheel.digest(("roles",))]
    status = file.stat()
    file.write_text("a: 2\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if nothing was written
    seen.append(code_wheel.digest(("roles",)))
    file.rename(file.with_name("other.yml"))
    seen.append(code_wheel.digest(("roles",)))
    file.with_name("unused.pyc").write_bytes(b"compiled")
    assert code_wheel.digest(("roles",)) == seen[-1]
    assert len(set(seen)) == 3


def test_it_holds_the_gateway_and_its_ledger_and_no_engine() -> None:
    found = names()
    assert "sovctl/gateway/runtime/server.py" in found
    assert "sovctl/support/canonical_json.py" in found
    assert not [name for name in found if name.startswith(("sovctl/engine/", "sovctl/roles/")) or name.endswith(".pyc")]
    assert len(set(found)) == len(found)


def test_an_installer_takes_it_and_it_is_importable(tmp_path: Path) -> None:
    wheel = tmp_path / code_wheel.file_name()
    wheel.write_bytes(code_wheel.build())
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(target), str(wheel)], check=True, capture_output=True)
    code = "import sovctl, sovctl.support.canonical_json as c; print(sovctl.__version__, c.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(target)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    version, file = done.stdout.split()
    assert version == code_wheel.version()
    assert file.startswith(str(target))
