"""Orders, versions, prices, dates, hashes and logs in many languages: numbers that are nobody's are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.structured_finder import StructuredFinder
from sovctl.gateway.domain.entities import LABELS, EntityType
from sovctl.gateway.tokens.token import TokenIssuer

REGIONS = "AE AT AU BE BR CA CH CZ DE DK ES FI FR GB GR HU ID IE IN IT KZ MX NL NO PL PT RO RU SA SE SG TR UA US ZA"
DETECTOR = Detector([StructuredFinder(phone_regions=REGIONS.split())])
TEXTS = [
    line.partition(": ")[::2]
    for line in (Path(__file__).parents[1] / "data" / "nobodys_numbers.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_texts_without_identifiers_have_none(language: str, text: str) -> None:
    assert [(f.rule, text[f.start : f.end]) for f in DETECTOR.find(text)] == []


def test_there_are_such_texts_in_many_languages() -> None:
    assert len({language for language, _ in TEXTS}) > 14


@given(
    st.lists(st.tuples(st.sampled_from(list(EntityType)), st.text(min_size=1, max_size=20)), min_size=1, max_size=12)
)
def test_nothing_is_found_in_our_own_tokens(values: list[tuple[EntityType, str]]) -> None:
    issuer = TokenIssuer(bytes(32), tenant="retail", conversation="c1")
    tokens = [issuer.token(kind, value, value) for kind, value in values]
    for text in (" ".join(tokens), "password: " + ", ".join(tokens), "\n".join(tokens).lower(), tokens[0]):
        assert DETECTOR.find(text) == []
    assert all(token.rpartition("_")[0] in LABELS for token in tokens)
