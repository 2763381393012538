"""Inspection: what needs a decoder is seen whatever stands around it."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.labels import is_cue
from sovctl.gateway.detect.text.words import Words
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.obstacles import Obstacle
from sovctl.gateway.inspection.inspector import Inspector, _has_long_run
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.surfaces import SURFACES

DETECTOR = make_detector(DetectSettings(phone_regions=["DE"]))


@given(st.lists(st.one_of(st.integers(1, 400).map(lambda n: "x" * n), st.sampled_from([" ", "  ", "\n", "a\tb"]))))
def test_no_long_run_is_overlooked(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert _has_long_run(text) or not re.search(r"[A-Za-z0-9+/_-]{160,}", text)


def test_prose_has_none() -> None:
    assert not _has_long_run("The branch is open from nine to five, and on Saturdays until noon. " * 40)


class Counting:
    """The detector, and how often it was asked."""

    rule_names = ()
    is_cue = staticmethod(is_cue)

    def __init__(self) -> None:
        self.count = 0

    def find(self, text: str) -> list[Finding]:
        return self.scan(text)[0]

    def scan(self, text: str) -> tuple[list[Finding], Words | None]:
        self.count += 1
        return DETECTOR.scan(text)


def test_many_keys_and_numbers_are_read_together_and_none_is_overlooked() -> None:
    keys = {
        "write to anna@example.com": EntityType.EMAIL,
        "YW5uYUBleGFtcGxlLmNvbQ==": EntityType.EMAIL,
        "030 90 18 20": EntityType.PHONE,  # four groups
        "DE89\uff13704 0044 0532 0130 00": EntityType.IBAN,
    }
    numbers = [4111111111111111, 44051401359]
    rows = {f"row {row}": 7_000_001 + 10 * row for row in range(2_000)}
    finder = Counting()
    inspector = Inspector(CachedFinder(finder), SURFACES["/v1/chat/completions"], max_depth=8)
    inspection = inspector.inspect({"messages": [], "metadata": {**rows, **dict.fromkeys(keys), "numbers": numbers}})
    assert inspection.counts == {
        EntityType.EMAIL: 2,
        EntityType.PHONE: 1,
        EntityType.IBAN: 1,
        EntityType.CARD: 1,
        EntityType.NATIONAL_ID: 1,
    }
    assert {Obstacle.KEY, Obstacle.NUMBER} <= inspection.obstacles
    assert finder.count < 100


def test_more_values_of_keys_than_can_be_read_stay() -> None:
    call = {"name": "f", "arguments": json.dumps({"pin": list(range(1_000, 4_000))})}
    messages = [{"role": "assistant", "tool_calls": [{"type": "function", "function": call}]}]
    finder = Counting()
    inspector = Inspector(CachedFinder(finder), SURFACES["/v1/chat/completions"], max_depth=8)
    assert Obstacle.CROWD in inspector.inspect({"messages": messages}).obstacles
    assert finder.count < 200


def test_a_name_in_two_cells_has_the_initials_of_one() -> None:
    table, prose = "Nr\tOrt\n17\tAnna\tQuandt\t24103\n", "Please ask A. Quandt, or A.Q. herself."
    inspector = Inspector(CachedFinder(DETECTOR), SURFACES["/v1/chat/completions"], max_depth=64)
    inspector.inspect({"messages": [{"role": "user", "content": text} for text in (table, prose)]})
    first, second = (
        [leaf.text[f.start : f.end] for f in inspector.findings(leaf)]
        for leaf in inspector.leaves.texts
        if leaf.text in (table, prose)
    )
    assert first == ["Anna", "Quandt"]
    assert second == ["A. Quandt", "A.Q."]
