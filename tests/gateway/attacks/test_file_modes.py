"""A gateway does not use a vault, key or ledger that other users can read or change; it names file and remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from surface_givens import PROMPT, post

from sovctl.gateway.storage.permissions import problem_with

# File of the gateway's folder, mode, words of the refusal.
OPEN = [
    ("vault/vault.db", 0o644, "readable by others (mode 0644)"),
    ("vault/vault.db", 0o620, "readable by others (mode 0620)"),
    ("vault/vault.db-wal", 0o604, "readable by others (mode 0604)"),
    ("vault", 0o777, "writable by others (mode 0777)"),
    ("vault.kek", 0o640, "readable by others (mode 0640)"),
    ("token.key", 0o604, "readable by others (mode 0604)"),
    ("ledger.key", 0o644, "readable by others (mode 0644)"),
    ("ledger", 0o775, "writable by others (mode 0775)"),
    ("ledger/*", 0o666, "writable by others (mode 0666)"),
]


@pytest.fixture(name="used", scope="module")
def used_fixture(start: Callable[..., Any]) -> Path:
    """The settings of a gateway that has stored a value and stopped."""
    gateway = start()
    body = {"model": "assistant", "messages": [{"role": "user", "content": PROMPT}]}
    assert post(gateway, "/v1/chat/completions", body)[0] == 200
    gateway.stop()
    config: Path = gateway.config
    return config


@pytest.mark.parametrize(("name", "mode", "words"), OPEN, ids=[f"{name} {mode:o}" for name, mode, _ in OPEN])
def test_a_file_that_others_can_use_is_refused_at_the_start(used: Path, name: str, mode: int, words: str) -> None:
    if name.endswith("-wal"):
        (used.parent / name).touch(mode=0o600)
    path = next(each for each in sorted(used.parent.glob(name)) if each.is_file() or "*" not in name)
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        command = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(used)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    finally:
        path.chmod(before & 0o777)
    assert done.returncode != 0
    assert f"{path}: {words}" in done.stderr
    assert f"chmod {'go-rwx' if 'readable' in words else 'go-w'} {path}" in done.stderr


def test_the_gateway_starts_with_what_it_created(used: Path, start_from: Callable[..., Any], tmp_path: Path) -> None:
    assert start_from(used, tmp_path / "log").request("GET", "/healthz")[0] == 200


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vault.db"
    path.touch(mode=0o600)
    assert problem_with(path, 0o077) is None
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    if path.stat().st_uid == 0:
        os.chown(path, 4242, -1)
    found = problem_with(path, 0o077)
    assert found is not None
    assert found.message.startswith(f"owned by user {path.stat().st_uid}")
    assert str(path) in found.hint
