"""Both verifiers find and name each way to tamper with a finished site, and have no finding on an honest one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from bench.tamper import CASES, tampered, untampered
from bench.tampering.expected import Expected
from bench.tampering.site import Site, build
from bench.tampering.untampered import STATES
from sovctl.compliance.report.verifier_archive import build as build_verifier


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verifier") / "sovctl-verify.pyz"
    path.write_bytes(build_verifier())
    return path


@pytest.mark.parametrize("name", CASES)
def test_both_verifiers_find_and_name(site: Site, verifier: Path, tmp_path: Path, name: str) -> None:
    assert tampered(site, tmp_path, name, Random(5), verifier) == []


@pytest.mark.parametrize("name", STATES)
def test_an_honest_site_has_no_finding(site: Site, verifier: Path, tmp_path: Path, name: str) -> None:
    assert untampered(site, tmp_path, name, Random(5), verifier) == []


def test_a_finding_elsewhere_does_not_name_the_place() -> None:
    expected = Expected(files=("a",), index=5)
    assert not expected.is_named([{"file": "b"}, {"first_index": 4}, {"first_index": 6, "last_index": 9}, {}])
    assert expected.is_named([{"file": "a"}])
    assert expected.is_named([{"first_index": 2, "last_index": 5}])
