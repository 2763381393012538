"""The packs of sovctl: complete, with source and licence, and evidence only from checks that exist."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date
from pathlib import Path

import pytest

from sovctl.compliance.controls.framework import (
    Pack,
    builtin_pack,
    checks_without_objective,
    load_pack,
    pack_names,
    shipped_objectives,
)
from sovctl.engine.checks.model.check import Level
from sovctl.engine.checks.registry import CHECKS, FORMER_IDS, KNOWN_CHECKS

NAMES = pack_names()
INDEX = Path(__file__).parents[4] / "shared" / "oscal" / "nist-800-53r5" / "index.json"
COUNTS = {
    "nist-800-53-low": (149, 38),
    "nist-800-53-moderate": (287, 60),
    "nist-800-53-high": (370, 60),
    "nist-800-53-privacy": (96, 6),
    "nist-800-171r3": (97, 25),
    "nist-ai-rmf": (72, 17),
    "nist-csf-2.0": (106, 25),
    "iso-27001-2022": (93, 25),
    "iso-42001-2023": (38, 9),
    "soc-2": (61, 25),
    "pci-dss-4": (63, 25),
    "bsi-c5-2020": (121, 25),
    "gdpr": (66, 18),
    "dora": (127, 25),
    "nis2": (68, 25),
    "eu-ai-act": (76, 25),
    "hipaa-security": (65, 25),
    "residency-sa": (23, 14),
    "residency-ae": (7, 4),
    "residency-in": (17, 13),
    "residency-id": (10, 7),
    "residency-ru": (7, 5),
    "residency-kz": (4, 4),
    "residency-eu": (13, 9),
}
"""Number of controls of the source, and least number of controls with checks: 25, or all that checks can decide."""
FOREIGN = frozenset((Path(__file__).parent / "foreign_texts.txt").read_text().split())
"""Digests of titles of ISO and BSI, and of sequences of five words of AICPA and PCI SSC."""
OWN_WORDS = ("iso-27001-2022", "iso-42001-2023", "soc-2", "pci-dss-4", "bsi-c5-2020")


def loaded(name: str) -> Pack:
    return load_pack(builtin_pack(name), known_checks=KNOWN_CHECKS, former_ids=FORMER_IDS)


def test_every_pack_has_a_number_of_controls_to_compare_with() -> None:
    assert set(COUNTS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_is_complete_and_every_check_exists(name: str) -> None:
    pack = loaded(name)
    total, least = COUNTS[name]
    assert len(pack.controls) == len({control.id for control in pack.controls}) == total
    assert pack.decided() >= least
    assert all(control.family for control in pack.controls)


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_states_licence_source_and_dates(name: str) -> None:
    pack = loaded(name)
    assert pack.licence
    assert len(pack.source) > 10
    assert date.fromisoformat(pack.date) <= date.fromisoformat(pack.read) <= date(2026, 12, 31)
    assert pack.version
    assert pack.jurisdiction


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_never_states_that_a_rule_is_fulfilled(name: str) -> None:
    pack = loaded(name)
    texts = [control.mapping.because for control in pack.controls if control.mapping]
    assert all(text.endswith(".") and len(text.split()) <= 30 for text in texts), texts
    assert not [text for text in (*texts, pack.title, pack.note) if re.search(r"\bcomplian|\bconform", text.lower())]


def digests(text: str) -> set[str]:
    """The digests of a text and of every sequence of five words in it."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    parts = [words, *(words[start : start + 5] for start in range(len(words) - 4))]
    return {hashlib.sha256(" ".join(part).encode()).hexdigest()[:8] for part in parts}


@pytest.mark.parametrize("name", OWN_WORDS)
def test_a_pack_of_a_licensed_standard_has_no_text_of_it(name: str) -> None:
    pack = loaded(name)
    assert "no text of" in pack.licence
    copied = [control.title for control in pack.controls if digests(control.title) & FOREIGN]
    assert not copied


def test_a_copied_title_is_found() -> None:
    assert digests("Segregation of duties") & FOREIGN, "ISO/IEC 27001:2022 A.5.3"


def test_every_objective_is_used_and_states_what_people_do() -> None:
    objectives = shipped_objectives(known_checks=KNOWN_CHECKS)
    used = {each.name for name in NAMES for each in loaded(name).objectives()}
    assert used == set(objectives)
    for each in objectives.values():
        for text in (each.statement, each.supports, each.people):
            assert text.endswith(".")
            assert "complian" not in text.lower()


def test_every_check_is_in_an_objective_or_has_a_reason_not_to_be() -> None:
    mapped = {check for each in shipped_objectives().values() for check in each.all_checks()}
    excepted = checks_without_objective()
    assert mapped | excepted.keys() == KNOWN_CHECKS
    assert not mapped & excepted.keys()
    assert all(len(reason) > 20 for reason in excepted.values())


def test_a_run_of_quick_checks_leaves_no_control_undecided_because_of_a_test_under_load() -> None:
    under_load = {check.id for check in CHECKS if check.is_active or check.level is Level.BURN_IN}
    for name in NAMES:
        for control in loaded(name).controls:
            kinds = {
                bool(under_load & set(each.all_checks()))
                for each in (control.mapping.objectives if control.mapping else ())
            }
            assert len(kinds) < 2, f"{name} {control.id} needs quick checks and tests under load"


def test_entries_that_were_not_compared_with_the_primary_text_are_marked() -> None:
    unsure = {name: {c.id for c in loaded(name).controls if c.unsure} for name in ("eu-ai-act", "hipaa-security")}
    assert {f"annex-4.{number}" for number in range(3, 10)} <= unsure["eu-ai-act"]
    assert {"164.308(b)(2)", "164.314(a)(1)"} <= unsure["hipaa-security"]


def test_a_check_that_is_added_to_an_objective_reaches_all_packs() -> None:
    packs = [loaded(name) for name in NAMES]
    reached = [pack for pack in packs if "perimeter.no-way-out" in pack.checks()]
    naming = [pack for pack in packs if {"no-way-out", "data-stays-in-perimeter"} & {o.name for o in pack.objectives()}]
    assert reached == naming
    for pack in packs:
        for objective in pack.objectives():
            assert objective == shipped_objectives()[objective.name].with_check_ids(FORMER_IDS)


@pytest.mark.shared
@pytest.mark.skipif(not INDEX.exists(), reason="the public index is not at hand")
@pytest.mark.parametrize("baseline", ["low", "moderate", "high", "privacy"])
def test_a_baseline_is_the_public_one(baseline: str) -> None:
    public = {
        control["id"]: control["title"]
        for control in json.loads(INDEX.read_text())["controls"]
        if baseline.upper() in control["baselines"]
    }
    assert {control.id: control.title for control in loaded(f"nist-800-53-{baseline}").controls} == public
