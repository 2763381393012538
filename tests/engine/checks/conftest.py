"""A small real site on loopback whose nodes do not answer, and the lab preset as an estate."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from sovctl.engine.checks.estate import Controller, Estate
from sovctl.engine.plan.build import context_of
from sovctl.engine.spec_file import load

EXAMPLES = Path(__file__).parents[3] / "examples"
TODAY = date(2026, 11, 21)

SITE = """\
version: 1
site: {{name: quiet, jurisdiction: DE}}
access: {{user: ops, port: {port}, key_file: access/key, known_hosts_file: access/known_hosts, connect_timeout_s: 2}}
artifacts:
  apt_url: http://127.0.0.1:9/apt
  apt_key_file: access/apt-key.asc
  wheels_url: http://127.0.0.1:9/wheels
  models_url: http://127.0.0.1:9/models
perimeter: {{management: [127.0.0.1/32]}}
clock: {{servers: [127.0.0.1]}}
node_groups:
  - name: services
    platform: service
    nodes: [{{name: a1, address: 127.0.0.2}}, {{name: a2, address: 127.0.0.3}}]
software: {{lock: nvidia-580.126.20}}
"""


def estate(name: str, *, today: date = TODAY) -> Estate:
    """An example site as checks see it."""
    file = EXAMPLES / name / "site.yaml"
    controller = Controller(
        program="/usr/bin/sovctl",
        site_file="/s/site.yaml",
        state="/s",
        ledger="/s/ledger",
        private_files=("/s/key",),
        private_patterns=(("/s/keys", "*"),),
    )
    return Estate(context_of(load(file, today=today).spec, file.parent), controller, today)


@pytest.fixture
def lab_estate() -> Estate:
    return estate("lab")


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
