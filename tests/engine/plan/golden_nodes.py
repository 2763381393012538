"""Sites of one node and its synthetic capture, from the figures of a case in tests/cases/plans."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planned_nodes import empty
from strategies import TODAY

from sovctl.engine.facts.node import NodeFacts, parse_node
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.validation.load import load

SITE = """\
version: 1
site: {{name: golden, jurisdiction: DE}}
access: {{user: ops, key_file: access/key, known_hosts_file: access/known_hosts}}
artifacts:
  apt_url: http://192.0.2.5:8080/apt
  apt_key_file: access/apt-key.asc
  wheels_url: http://192.0.2.5:8080/wheels
  models_url: http://192.0.2.5:8080/models
perimeter: {{management: [192.0.2.2/32]}}
clock: {{servers: [192.0.2.5]}}
node_groups:
  - {{name: gpu, platform: {platform}, nodes: [{{name: node-1, address: 192.0.2.11}}]}}
software: {{lock: {lock}}}
models:
  - {{name: gpt, catalog: gpt-oss-120b, manifest_sha256: "{zeros}"}}
pools:
  - {{name: chat, model: gpt, node_group: gpu, tensor_parallel_size: 4, max_model_len: 65536}}
"""
UNITS = "Id=chrony.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\nActiveEnterTimestamp=\n"
ENABLED_TIMER = (
    "\nId={timer}\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nActiveEnterTimestamp=@1763700000\n"
)


def site(case: Mapping[str, Any], folder: Path) -> Context:
    """The site of a case as the kinds see it."""
    file = folder / "site.yaml"
    file.write_text(SITE.format(platform=case["platform"], lock=case["lock"], zeros="0" * 64))
    return context_of(load(file, today=TODAY).spec, folder)


def capture(case: Mapping[str, Any]) -> dict[str, Any]:
    """What the probe prints on the node of a case."""
    is_rpm = case["os_release"].startswith("ID=rhel")
    packages = "".join(f"{name}\t{version}\tamd64\tii \n" for name, version in case["installed"].items())
    absent = {"exit_code": None, "stdout": "", "stderr": "command not found"}
    bare = empty("node-1")
    commands = dict(bare.answers)
    for name, text in {
        "kernel": f"{case['kernel']}\n",
        "architecture": f"{case['architecture']}\n",
        "virtualization": "none\n",
        "secure-boot": f"SecureBoot {case['secure_boot']}\n",
        "rpm-packages" if is_rpm else "packages": packages,
        "versionlock" if is_rpm else "holds": "",
        "sysctl": "",
        "units": UNITS + ENABLED_TIMER.format(timer="dnf-automatic.timer" if is_rpm else "apt-daily-upgrade.timer"),
    }.items():
        commands[name] = {"exit_code": 0, "stdout": text, "stderr": ""}
    for name in ("packages", "holds") if is_rpm else ("rpm-packages", "versionlock"):
        commands[name] = absent
    return {
        "node": "node-1",
        "captured": "2026-11-21T09:00:00Z",
        "commands": commands,
        "files": {},
        "texts": {**bare.texts, "/etc/os-release": case["os_release"], "/etc/dgx-release": case.get("dgx_release")},
    }


def facts(case: Mapping[str, Any]) -> dict[str, NodeFacts]:
    """Facts of the node of a case, by name."""
    return {"node-1": parse_node(capture(case))}
