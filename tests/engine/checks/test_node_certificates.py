"""Certificates from the evidence of a run: complete parts are required, and another part voids them."""

from __future__ import annotations

import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from check_cases.case import answer
from check_cases.node import SAMPLES
from check_sites import EXAMPLES
from evidence_specimens import fill, made

from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.compliance.signing import load as load_key
from sovctl.engine.checks.model.result import raw_of
from sovctl.engine.checks.runner import repair_packet
from sovctl.engine.checks.runner.node_certificates import Issuer
from sovctl.engine.lifecycle import certificate_store
from sovctl.engine.lifecycle.node_certificate import problems
from sovctl.engine.validation.load import load
from sovctl.support.errors import InputError

SPEC = load(EXAMPLES / "lab" / "site.yaml").spec
GOOD = SAMPLES["node.inventory"].good
RUN = "20261128T101500Z-0001"


def issuer(state: Path) -> Issuer:
    return Issuer(SPEC, state, frozenset({"n1", "n2"}))


def run_of(state: Path, run_id: str = RUN, verdict: str = "PASS", **odd: str) -> list[StoredEvidence]:
    """A run with the inventory of n1, in which texts are replaced."""
    parts = {name: str(text) for name, text in GOOD.items()}
    for old, new in (each.split(">") for each in odd.values()):
        parts = {name: text.replace(old, new) for name, text in parts.items()}
    raw = raw_of(answer(parts))
    items = [
        made("node.inventory", "n1", verdict, raw=raw),
        made("gpu.ecc", "n1", raw=b"10.77.0.11 INVENTED-1, services of a GPU\n"),
    ]
    return fill(state, items, run_id)


def test_a_certificate_names_the_parts_and_results_of_the_run(tmp_path: Path) -> None:
    issued = issuer(tmp_path)
    (path,) = issued.store(issued.prepare(["n1"], RUN, run_of(tmp_path)))
    document = certificate_store.read(path)["certificate"]
    assert {part["kind"] for part in document["parts"]} == {"system", "gpu", "nic", "nvme"}
    assert [each["check"] for each in document["results"]] == ["gpu.ecc", "node.inventory"]
    assert certificate_store.uncertified(tmp_path, ["n1"], tmp_path / "keys/ledger.key", now=_now(document)) == {}


def test_without_a_complete_inventory_there_is_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a result of node.inventory of n1"):
        issuer(tmp_path).prepare(["n1"], RUN, run_of(tmp_path, verdict="UNKNOWN"))


def test_a_replaced_part_voids_the_certificate(tmp_path: Path) -> None:
    issued = issuer(tmp_path)
    issued.store(issued.prepare(["n1"], RUN, run_of(tmp_path)))
    assert issued.void_changed("r2", run_of(tmp_path, "20261128T111500Z-0002")) == {}
    changes = issued.void_changed("r3", run_of(tmp_path, "20261128T121500Z-0003", gpu="INVENTED-3>INVENTED-9"))
    assert list(changes) == ["n1"]
    assert "serial INVENTED-3 -> INVENTED-9" in changes["n1"][0]
    assert certificate_store.void_reasons(tmp_path, "n1")


def test_a_damaged_certificate_does_not_end_a_verification(tmp_path: Path) -> None:
    issued = issuer(tmp_path)
    (path,) = issued.store(issued.prepare(["n1"], RUN, run_of(tmp_path)))
    path.write_text("{")
    assert issued.void_changed("r2", run_of(tmp_path, "20261128T111500Z-0002")) == {}


def test_a_packet_has_no_original_value_and_a_valid_copy(tmp_path: Path) -> None:
    issued, out = issuer(tmp_path), tmp_path / "n1.zip"
    stored = run_of(tmp_path)
    issued.store(issued.prepare(["n1"], RUN, stored))
    assert repair_packet.write(issued, "n1", RUN, stored, out) == 2
    with zipfile.ZipFile(out) as packed:
        texts = {name: packed.read(name).decode() for name in packed.namelist()}
    assert set(texts) == {"certificate.json", "results.json", "outputs/node.inventory.txt", "outputs/gpu.ecc.txt"}
    for text in texts.values():
        assert not any(original in text for original in ("INVENTED", "10.77.0", "GPU-0000", '"n1"'))
    assert "services of a GPU" in texts["outputs/gpu.ecc.txt"], "words of the tools that are names of groups too"
    copy = json.loads(texts["certificate.json"])
    assert copy["certificate"]["is_sanitized"]
    key = load_key(tmp_path / "keys/ledger.key").public
    assert problems(copy, key, now=_now(copy["certificate"])) == []


def _now(document: dict[str, str]) -> datetime:
    return datetime.fromisoformat(document["issued"])
