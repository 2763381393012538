"""The certificate of a node: an edit, another part, a failed result and time end its validity."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import made

from sovctl.compliance.signing import SigningKey
from sovctl.engine.facts.inventory import Inventory, Part
from sovctl.engine.lifecycle import certificate_store
from sovctl.engine.lifecycle.node_certificate import certificate, changed_parts, problems, signed_by
from sovctl.engine.spec.verify import LimitWaiver
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
KEY = SigningKey.generate()
GPU = Part("gpu", "0000:1b:00.0", "NVIDIA H100 80GB HBM3", "1650000000001", "96.00.99.00.01")
PARTS = Inventory((GPU, Part("system", "", "NVIDIA DGXH100", "INVENTED-4", "1.6.7")))


def signed(verdict: str = "PASS") -> dict[str, Any]:
    document = certificate(
        site="bank", node="n1", platform="dgx-h100", level="verify", run="20261128T115900Z-0001",
        inventory=PARTS, evidence=[made("gpu.ecc", "n1", verdict)[0]], now=NOW, valid=timedelta(days=90),
    )  # fmt: skip
    value: dict[str, Any] = json.loads(json.dumps(signed_by(document, KEY)))
    return value


def test_a_certificate_is_valid_from_its_issue_to_its_expiry() -> None:
    assert problems(signed(), KEY.public, now=NOW) == []
    assert problems(signed(), KEY.public, now=NOW + timedelta(days=89)) == []
    assert "expired" in problems(signed(), KEY.public, now=NOW + timedelta(days=90))[0]
    assert "future" in problems(signed(), KEY.public, now=NOW - timedelta(seconds=1))[0]


@pytest.mark.parametrize(
    "edit",
    [
        lambda document: document.update(node="n2"),
        lambda document: document.update(level="burn-in"),
        lambda document: document.update(expires="2036-01-01T00:00:00Z"),
        lambda document: document.update(simulated=not document["simulated"]),
        lambda document: document["parts"][0].update(serial="1650000000002"),
        lambda document: document["results"][0].update(verdict="WARN"),
        lambda document: document["results"].append(dict(document["results"][0], check="gpu.count")),
    ],
)
def test_every_edit_is_found(edit: Callable[[dict[str, Any]], None]) -> None:
    changed = signed()
    edit(changed["certificate"])
    assert any("signature" in each for each in problems(changed, KEY.public, now=NOW))


def test_another_key_does_not_vouch_for_it() -> None:
    assert any("by key" in each for each in problems(signed(), SigningKey.generate().public, now=NOW))


@pytest.mark.parametrize("verdict", ["FAIL", "UNKNOWN"])
def test_a_signed_result_that_blocks_makes_it_invalid(verdict: str) -> None:
    assert problems(signed(verdict), KEY.public, now=NOW) == [f"gpu.ecc of n1: {verdict}"]


@pytest.mark.parametrize(
    "document",
    [{}, {"certificate": {}}, {"certificate": [], "signature": {}}, {"certificate": {"format": "x"}, "signature": {}}],
)
def test_another_document_is_an_error(document: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected a signed document"):
        problems(document, KEY.public, now=NOW)


def test_missing_results_are_an_error() -> None:
    empty = signed()
    empty["certificate"]["results"] = []
    with pytest.raises(InputError, match="expected results"):
        problems(empty, KEY.public, now=NOW)


def test_each_changed_part_is_named() -> None:
    moved = Inventory((replace(GPU, place="0000:43:00.0"), PARTS.parts[1]))
    repaired = Inventory((replace(GPU, serial="1650000000009", firmware="96.00.AA"), PARTS.parts[1]))
    assert list(changed_parts(PARTS, PARTS)) == []
    assert list(changed_parts(PARTS, moved)) == ["gpu 0000:1b:00.0: absent", "gpu 0000:43:00.0: new"]
    assert list(changed_parts(PARTS, repaired)) == [
        "gpu 0000:1b:00.0: serial 1650000000001 -> 1650000000009",
        "gpu 0000:1b:00.0: firmware 96.00.99.00.01 -> 96.00.AA",
    ]


def test_a_void_certificate_stays_void_until_the_next_one(tmp_path: Path) -> None:
    certificate_store.save(tmp_path, "n1", signed())
    assert certificate_store.problems_of(tmp_path, "n1", KEY.public, now=NOW) == []
    certificate_store.void(tmp_path, "n1", time="2026-11-29T00:00:00Z", run="r", changes=["gpu: absent"])
    certificate_store.void(tmp_path, "n1", time="2026-11-30T00:00:00Z", run="s", changes=[])
    found = certificate_store.problems_of(tmp_path, "n1", KEY.public, now=NOW)
    assert found == ["void since 2026-11-29T00:00:00Z: gpu: absent"]
    (tmp_path / "certificates" / "n1.void.json").write_text("{")
    assert certificate_store.problems_of(tmp_path, "n1", KEY.public, now=NOW) == ["void: unreadable record"]
    certificate_store.save(tmp_path, "n1", signed())
    assert certificate_store.problems_of(tmp_path, "n1", KEY.public, now=NOW) == []


def test_a_copied_certificate_of_another_node_does_not_count(tmp_path: Path) -> None:
    certificate_store.save(tmp_path, "n2", signed())
    assert certificate_store.problems_of(tmp_path, "n2", KEY.public, now=NOW) == ["certificate of node n1"]
    assert certificate_store.problems_of(tmp_path, "n3", KEY.public, now=NOW) == ["no certificate"]


def test_without_the_site_key_no_node_is_certified(tmp_path: Path) -> None:
    certificate_store.save(tmp_path, "n1", signed())
    assert certificate_store.uncertified(tmp_path, ["n1"], tmp_path / "absent.key", now=NOW) == {
        "n1": ["no certificate"]
    }


def test_a_certificate_names_the_waivers_of_the_site_and_ends_with_the_first() -> None:
    waiver = LimitWaiver(
        limit="disk.wear.nearly", reason="old disks until spring", requested_by="A. Example", approved_by="B. Example",
        reference="CHG-2", expires="2026-12-01",
    )  # fmt: skip
    document = certificate(
        site="bank", node="n1", platform="dgx-h100", level="verify", run="20261128T115900Z-0001", inventory=PARTS,
        evidence=[made("gpu.ecc", "n1", "PASS")[0]], now=NOW, valid=timedelta(days=90), waivers=[waiver],
    )  # fmt: skip
    assert [each["reference"] for each in document["waivers"]] == ["CHG-2"]
    of_waiver = json.loads(json.dumps(signed_by(document, KEY)))
    assert problems(of_waiver, KEY.public, now=NOW + timedelta(days=3)) == []
    assert problems(of_waiver, KEY.public, now=NOW + timedelta(days=4)) == ["expired on 2026-12-01T23:59:59Z"]
