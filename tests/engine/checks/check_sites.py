"""A small site on loopback as text, and the examples as check contexts."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sovctl.engine.checks.model.check_context import CheckContext, Controller
from sovctl.engine.plan.build import context_of
from sovctl.engine.validation.load import load

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


def check_context(name: str, *, today: date = TODAY) -> CheckContext:
    """An example site as checks see it."""
    file = EXAMPLES / name / "site.yaml"
    controller = Controller(
        program="/usr/bin/sovctl",
        site_file="/s/site.yaml",
        state="/s",
        ledger="/s/ledger",
        private_files=("/s/key",),
        private_patterns=(("/s/keys", "*"),),
        root_certificate="/s/pki/ca.pem",
    )
    return CheckContext(context_of(load(file, today=today).spec, file.parent), controller, today)
