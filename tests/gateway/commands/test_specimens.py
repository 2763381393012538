"""Every kind that the detector finds by itself has a specimen, and the specimen is of that kind alone."""

from __future__ import annotations

import pytest

from sovctl.gateway.commands.specimens import SPECIMENS
from sovctl.gateway.detect import make_detector
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings import DetectSettings

DETECTOR = make_detector(DetectSettings())


def test_every_built_in_kind_has_one_but_companies_and_categories() -> None:
    assert set(EntityType) - set(SPECIMENS) == {EntityType.ORG, EntityType.SPECIAL_CATEGORY, EntityType.CUSTOM}


@pytest.mark.parametrize("kind", SPECIMENS)
def test_a_specimen_is_of_its_kind_alone(kind: EntityType) -> None:
    found = DETECTOR.find(f"Please check {SPECIMENS[kind]} for us.")
    assert [finding.entity_type for finding in found] == [kind]
