"""Invented sources of documents: the example site with chosen evidence and facts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from evidence_specimens import RUN_ID, made, stored

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.evidence.runs import EvidenceRun
from sovctl.engine.documents.node_facts import facts_of
from sovctl.engine.documents.run_evidence import run_evidence
from sovctl.engine.documents.site_values import Sources
from sovctl.engine.validation.load import LoadedSpec, load

EXAMPLES = Path(__file__).parents[1] / "examples"
UNITS = "Id=chrony.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\nMainPID=0\n"
Made = list[tuple[Evidence, bytes]]


@cache
def loaded(example: str = "bank-hybrid") -> LoadedSpec:
    return load(EXAMPLES / example / "site.yaml", is_draft=True)


def sources(records: Made | None = None, captures: dict[str, bytes | str] | None = None) -> Sources:
    site = loaded()
    run = None if records is None else EvidenceRun(RUN_ID, tuple(stored(records)), (), 0)
    raw = {evidence.raw_sha256: data for evidence, data in records or []}
    nodes = {node.name: "no facts were captured" for _, node in site.spec.nodes()}
    return Sources(
        spec=site.spec,
        catalog=site.catalog,
        evidence=run_evidence(run, spec_sha256=site.spec_sha256, read_raw=raw.__getitem__),
        facts=facts_of(nodes | (captures or {})),
        applies=(),
        tool_version="0.1.0",
        text_sha256=site.text_sha256,
    )


def record(check_id: str, target: str, verdict: str = "PASS", **fields: object) -> tuple[Evidence, bytes]:
    return made(check_id, target, verdict, spec_sha256=loaded().spec_sha256, **fields)


def capture(node: str, *, packages: str = "bash\t5.2.15-2\tamd64\tii \n", simulated: str | None = None) -> bytes:
    ruleset = (
        "table inet sovctl {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n"
        '\tchain output {\n\t\ttype filter hook output priority filter; policy drop;\n\t\toif "lo" accept\n\t}\n}\n'
    )
    texts = {
        "kernel": "6.8.0\n", "architecture": "x86_64\n", "virtualization": "none\n", "secure-boot": "",
        "holds": "", "packages": "nftables\t1.0.6\tamd64\tii \n" + packages, "units": UNITS, "ruleset": ruleset,
    }  # fmt: skip
    commands = {name: {"exit_code": 0, "stdout": text, "stderr": ""} for name, text in texts.items()}
    value = {"node": node, "captured": "2026-11-28T10:00:00Z", "commands": commands, "files": {}, "texts": {}}
    value["texts"] = {"/etc/os-release": "ID=debian\nVERSION_ID=12\n", "/etc/sovctl-simulated": simulated}
    return json.dumps(value).encode()
