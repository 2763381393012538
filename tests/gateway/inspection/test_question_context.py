"""An answer is read with the question before it, also when both are messages of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.inspection.question_context import answers
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.surfaces import SURFACES

FINDER = CachedFinder(make_detector(DetectSettings(phone_regions=["US"])))


def found(*messages: str) -> list[tuple[EntityType, str]]:
    """Kinds and values in the last message of a chat."""
    body = {"model": "m", "messages": [{"role": "user", "content": message} for message in messages]}
    inspector = Inspector(FINDER, SURFACES["/v1/chat/completions"], max_depth=64)
    inspector.inspect(body)
    last = inspector.leaves.texts[-1]
    return [(finding.entity_type, last.text[finding.start : finding.end]) for finding in inspector.findings(last)]


@pytest.mark.parametrize(
    ("question", "answer", "kind", "value"),
    [
        ("Of course. What is your account number?", "20481632", EntityType.ACCOUNT, "20481632"),
        ("Could you give me your phone number?", "sure, it's 416 60 039", EntityType.PHONE, "416 60 039"),
        ("Wie lautet Ihre Ausweisnummer?", "T2200012X9", EntityType.NATIONAL_ID, "T2200012X9"),
        ("And your full name?", "Zorka Blurp", EntityType.PERSON, "Zorka Blurp"),
        ("Какой у вас номер паспорта?\n", "750012345", EntityType.PASSPORT, "750012345"),
        ("What is the PIN?", "4821", EntityType.SECRET, "4821"),
    ],
)
def test_an_answer_is_what_was_asked_for(question: str, answer: str, kind: EntityType, value: str) -> None:
    assert found(question, answer) == [(kind, value)]


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("How many pages does it have?", "20481632"),
        ("Your account number is known.", "20481632"),
        ("What is your order number?", "20481632"),
    ],
)
def test_a_number_that_nobody_asked_for_is_nobodys(before: str, text: str) -> None:
    assert found(before, text) == []


@given(st.lists(st.text(max_size=120)))
def test_only_short_texts_behind_a_question_are_answers(texts: list[str]) -> None:
    for text, question in answers(texts):
        place = texts.index(text)
        assert len(text) <= 96
        assert len(question) <= 74
        assert place or texts.count(text) > 1
