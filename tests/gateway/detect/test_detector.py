"""The detector's seam: any finder reads the view, sees what was found before it, and may be the one that fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from sovctl.gateway.detect import Detector, Finding, make_detector
from sovctl.gateway.detect.schemes.table import in_page
from sovctl.gateway.detect.text.view import NormalizedText
from sovctl.gateway.domain.entities import LABELS, EntityType
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.tokens.token import TokenIssuer
from sovctl.support.secret_files import KEY_BYTES


class Words:
    """Finds one word; notes what it was shown."""

    rules = ("WORD",)

    def __init__(self, word: str) -> None:
        self._word = word
        self.shown: list[tuple[str, Sequence[Finding]]] = []

    def find(self, view: NormalizedText, found: Sequence[Finding]) -> Iterable[Finding]:
        self.shown.append((view.text, list(found)))
        start = view.text.find(self._word)
        return (
            [Finding(start, start + len(self._word), EntityType.PERSON, 0.5, self._word, "WORD")] if start >= 0 else []
        )


class Broken(Words):
    def find(self, view: NormalizedText, found: Sequence[Finding]) -> Iterable[Finding]:
        raise RuntimeError("broken")


def test_finders_read_the_view_in_order_and_spans_lead_back_to_the_original() -> None:
    first, second = Words("Ola"), Words("Nordmann")
    text = "\uff2fl\u200ba Nordmann"
    findings = Detector([first, second]).find(text)
    assert [text[f.start : f.end] for f in findings] == ["\uff2fl\u200ba", "Nordmann"]
    assert first.shown == [("Ola Nordmann", [])]
    assert second.shown == [("Ola Nordmann", [Finding(0, 3, EntityType.PERSON, 0.5, "Ola", "WORD")])]


def test_a_finder_that_fails_fails_the_whole_look() -> None:
    with pytest.raises(RuntimeError):
        Detector([Words("Ola"), Broken("")]).find("Ola")


def test_a_token_has_one_reading_because_no_label_begins_another() -> None:
    assert len(set(LABELS)) == len(LABELS)
    assert not [(a, b) for a in LABELS for b in LABELS if b.startswith(f"{a}_")]


def test_tokens_are_not_findings_with_any_suffix() -> None:
    detector = make_detector(DetectSettings())
    issuer = TokenIssuer(b"k" * KEY_BYTES, tenant="t", conversation="c")
    tokens = [
        "PHONE_RH5RP6A7DWW22ANA",
        *(issuer.token(EntityType.PHONE, str(number), str(number)) for number in range(1500)),
    ]
    assert [token for token in tokens if detector.find(f"by phone on {token} Today. From {token} END.")] == []


def test_the_documentation_lists_every_scheme() -> None:
    page = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text(encoding="utf-8")
    assert in_page(page) == page  # else: python -m sovctl.gateway.detect.schemes.table docs/gateway.md
