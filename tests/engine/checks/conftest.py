"""A small real site on loopback whose nodes do not answer, and the lab preset as a check context."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from check_sites import SITE, check_context

from sovctl.engine.checks.model.check_context import CheckContext


@pytest.fixture
def lab_context() -> CheckContext:
    return check_context("lab")


@pytest.fixture
def quiet_site(tmp_path: Path) -> Iterator[Path]:
    """site.yaml of two nodes on loopback at a port where nobody listens."""
    access = tmp_path / "access"
    access.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", access / "key"], check=True)
    for name in ("known_hosts", "apt-key.asc"):
        (access / name).write_text("# invented\n")
    with socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))  # bound and not listening: the port stays closed
        file = tmp_path / "site.yaml"
        file.write_text(SITE.format(port=closed.getsockname()[1]))
        yield file
