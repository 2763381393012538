"""Bills of materials of a site: locks, packages of nodes, files of models."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from document_sources import Made, capture, loaded, record, sources

from sovctl.compliance.bom.component import Bill, ComponentKind
from sovctl.compliance.bom.cyclonedx import bom_bytes
from sovctl.engine.checks.model.probe import CommandOutput, joined
from sovctl.engine.checks.model.result import raw_of
from sovctl.engine.documents.lock_file import parse_lock
from sovctl.engine.documents.model_bom import model_bom
from sovctl.engine.documents.read_site import read_licences, read_locks
from sovctl.engine.documents.software_bom import software_bom
from sovctl.engine.lab.artifacts.wheelhouse import LOCKS_FOLDER
from sovctl.support.errors import InputError

MODEL = "llama-70b"


def is_valid(bill: Bill) -> bool:
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom_bytes(bill).decode()) is None


def test_the_sbom_has_every_wheel_of_the_locks_with_digests() -> None:
    locks = read_locks(loaded().spec)
    assert set(locks) == {"vllm-0.32.0", "gateway", "installer"}
    bill = software_bom(sources(), locks, read_licences())
    assert is_valid(bill)
    wheels = {each.ref for each in bill.components}
    assert wheels == {f"pkg:pypi/{p.name}@{p.version}" for packages in locks.values() for p in packages}
    assert all(each.sha256 or each.permitted_sha256 for each in bill.components)
    assert len(bill.incomplete) == len(loaded().spec.nodes())


def test_the_sbom_has_the_packages_of_each_node_once() -> None:
    nodes = [node.name for _, node in loaded().spec.nodes()]
    captures = {name: capture(name, packages=f"bash\t5.2.{name == nodes[0]:d}\tamd64\tii \n") for name in nodes}
    bill = software_bom(sources(captures=dict(captures)), {}, {})
    assert is_valid(bill)
    assert bill.incomplete == ()
    found = {each.ref: dict(each.properties)["nodes"] for each in bill.components}
    assert found["pkg:deb/debian/bash@5.2.1?distro=debian-12"] == nodes[0]
    assert found["pkg:deb/debian/bash@5.2.0?distro=debian-12"] == ", ".join(nodes[1:])


def test_licences_are_of_exactly_the_locked_versions() -> None:
    known = {
        f"{package.name}=={package.version}"
        for locks in (read_locks(loaded().spec), read_locks(loaded("lab").spec))
        for packages in locks.values()
        for package in packages
    }
    for name in ("nixl-1.5.1.txt", "vllm-audio-0.32.0.txt"):
        added = parse_lock((LOCKS_FOLDER / name).read_text(), where=name)
        known |= {f"{package.name}=={package.version}" for package in added}
    licences = read_licences()
    assert licences.keys() <= known, "run .ci/wheel_licences.py"
    gateway = [f"{each.name}=={each.version}" for each in read_locks(loaded().spec)["gateway"]]
    assert set(gateway) <= licences.keys()
    assert all(re.fullmatch(r"(spdx:)?\S.{1,199}", each) for each in licences.values())


def checksum(verdict: str = "PASS") -> Made:
    manifest = f"{'1' * 64}  config.json\n{'2' * 64}  model-00001.safetensors\n"
    raw = raw_of(joined({"manifest": CommandOutput(0, manifest, "")}))
    return [record("model.checksum", f"dgx-1/{MODEL}", verdict, raw=raw)]


def test_the_ml_bom_has_the_files_of_the_manifest_with_digest_and_evidence() -> None:
    bill = model_bom(sources(checksum()))
    assert is_valid(bill)
    (model,) = [each for each in bill.components if each.ref == f"model:{MODEL}"]
    assert model.kind is ComponentKind.MODEL
    assert {each.name: each.sha256 for each in model.parts} == {
        f"{MODEL}/config.json": "1" * 64,
        f"{MODEL}/model-00001.safetensors": "2" * 64,
    }
    assert "ledger entry 0" in dict(model.properties)["files-evidence"]
    assert model.card is not None
    assert model.card.task == "text-generation"
    assert not any(MODEL in each for each in bill.incomplete)


@pytest.mark.parametrize("verdict", ["FAIL", "UNKNOWN", "N/A"])
def test_files_of_a_failed_comparison_are_not_listed(verdict: str) -> None:
    bill = model_bom(sources(checksum(verdict)))
    assert any(MODEL in each for each in bill.incomplete)
    assert all(not each.parts for each in bill.components)


def test_unverified_licences_are_unknown() -> None:
    made = sources()
    entry = made.catalog.models["llama-3.3-70b"]
    licence = entry.licence.model_copy(update={"verified": False})
    models = dict(made.catalog.models) | {"llama-3.3-70b": entry.model_copy(update={"licence": licence})}
    bill = model_bom(replace(made, catalog=replace(made.catalog, models=models)))
    value = json.loads(bom_bytes(bill))
    (model,) = [each for each in value["components"] if each["bom-ref"] == f"model:{MODEL}"]
    assert "licenses" not in model
    assert {"name": "sovctl:licence", "value": "unknown"} in model["properties"]


def test_equal_sites_have_equal_bytes() -> None:
    locks, licences = read_locks(loaded().spec), read_licences()
    assert bom_bytes(software_bom(sources(), locks, licences)) == bom_bytes(software_bom(sources(), locks, licences))


def test_a_lock_without_digests_is_refused() -> None:
    text = 'a-B.c[x]==1.0 ; python_version < "3.14" \\\n    --hash=sha256:' + "1" * 64 + "\n# comment\n"
    (package,) = parse_lock(text, where="lock")
    assert (package.name, package.version, package.sha256) == ("a-b-c", "1.0", ("1" * 64,))
    for wrong in ("a==1.0\n", "a>=1 --hash=sha256:" + "1" * 64, "-r other.txt\n", "a==1.0 --hash=md5:1\n"):
        with pytest.raises(InputError):
            parse_lock(wrong, where="lock")
