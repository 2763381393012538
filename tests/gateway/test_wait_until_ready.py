"""The program by which `apply` waits for a gateway, as it lies in its role, against real gateways."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from echo_upstream import EchoUpstream

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.resources.context import ROLES

PROGRAM = ROLES / "gateway" / "files" / "wait_until_ready"


def waiting(port: int, ca_file: Path, limit_s: float) -> subprocess.Popen[str]:
    """The program at work."""
    command = [sys.executable, "-I", str(PROGRAM), f"https://127.0.0.1:{port}", str(ca_file), str(limit_s)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(program: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and its words; nothing is ever on standard output."""
    output, words = program.communicate(timeout=120)
    assert output == ""
    return program.returncode, words


def test_it_waits_for_a_gateway_that_is_not_there_yet(
    write_config: Callable[[Path], Path], start_from: Callable[..., Any], pki: Any, tmp_path: Path
) -> None:
    config = write_config(tmp_path)
    gateway = start_from(config, tmp_path / "log", wait=False)
    assert ended(waiting(gateway.port, pki.ca_file, 100)) == (0, "")
    assert gateway.request("GET", "/readyz")[0] == 200


def test_a_gateway_that_serves_and_is_not_ready_is_told_with_what_is_wrong(start: Callable[..., Any], pki: Any) -> None:
    with EchoUpstream(pki.certificate_file, pki.key_file) as gone:
        pass
    gateway = start(pool=gone)
    code, words = ended(waiting(gateway.port, pki.ca_file, 0))
    assert code == 1
    assert words.startswith("not ready after 0 s: status 503; failed components are in the log: journalctl")
    assert "routes: no upstream for inside" in gateway.log()


def test_a_server_that_the_sites_own_authority_does_not_know_is_not_believed(gateway: Any, tmp_path: Path) -> None:
    other = Authority(tmp_path / "pki", "test")
    other.ensure(now=datetime.now(UTC))
    code, words = ended(waiting(gateway.port, other.certificate_file, 0))
    assert code == 1
    assert "certificate verify failed" in words
