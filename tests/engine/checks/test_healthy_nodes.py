"""Healthy nodes of every platform raise no alarm; `make bench-falsealarm` tries 200 rounds."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bench.falsealarm import QUIET, judged
from bench.healthy.answers import platforms
from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.registry import BY_ID, KNOWN_CHECKS


@pytest.mark.parametrize("name", platforms())
def test_no_check_alarms_on_healthy_nodes(name: str) -> None:
    found = list(judged(platforms()[name], random.Random(name)))
    assert [(check, each) for check, each in found if each.verdict not in QUIET] == []
    verdicts = Counter(each.verdict for _, each in found)
    assert verdicts[Verdict.PASS] > 10 * verdicts[Verdict.NOT_APPLICABLE]


def test_every_check_of_nodes_is_tried_on_some_platform() -> None:
    tried = {check for each in platforms().values() for check, _ in judged(each, random.Random(1))}
    of_the_site = {each for each in KNOWN_CHECKS if each.startswith(("fabric.", "plan.", "site."))}
    active = {each for each in KNOWN_CHECKS if BY_ID[each].is_active}
    assert KNOWN_CHECKS - of_the_site - active <= tried
