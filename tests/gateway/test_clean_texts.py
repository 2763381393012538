"""Clean texts are looked at once, others every time; nothing of them is kept."""

from __future__ import annotations

import pytest

from sovctl.gateway.clean_texts import CleanTexts
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.language import languages
from sovctl.gateway.inspection import Inspector
from sovctl.gateway.kinds import Kind
from sovctl.gateway.surfaces import SURFACES

CHAT = SURFACES["/v1/chat/completions"]

CLEAN, OTHER = "nothing in here " * 20, "write to anna@example.com " * 10


class Counting:
    rule_names = ("EMAIL",)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find(self, text: str) -> list[Finding]:
        self.asked.append(text)
        if "broken" in text:
            raise RuntimeError
        return [Finding(9, 25, Kind.EMAIL, 1.0, "anna@example.com", "EMAIL")] if "@" in text else []


def test_only_a_clean_text_is_remembered() -> None:
    inner = Counting()
    finder = CleanTexts(inner)
    for _ in range(3):
        assert finder.find(CLEAN) == []
        assert finder.find(OTHER)
    assert inner.asked == [CLEAN, OTHER, OTHER, OTHER]


def test_a_failure_is_not_remembered_as_clean() -> None:
    finder = CleanTexts(Counting())
    for _ in range(2):
        with pytest.raises(RuntimeError):
            finder.find("broken " * 40)


def test_one_character_makes_another_text() -> None:
    inner = Counting()
    finder = CleanTexts(inner)
    finder.find(CLEAN)
    assert finder.find(CLEAN + "anna@example.com")
    finder.find(CLEAN + "\ud800")  # half a surrogate pair, as JSON may hold one
    assert len(inner.asked) == 3


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sovctl.gateway.clean_texts._MOST_KNOWN", 3)
    inner = Counting()
    finder = CleanTexts(inner)
    for number in range(5):
        finder.find(f"{number} {CLEAN}")
    finder.find(f"4 {CLEAN}")
    assert len(inner.asked) == 5
    finder.find(f"0 {CLEAN}")
    assert len(inner.asked) == 6


def test_nothing_of_a_text_is_kept() -> None:
    finder = CleanTexts(Counting())
    finder.find(CLEAN)
    assert "nothing" not in repr(vars(finder))


def test_languages_of_clean_texts_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def tell(text: str) -> frozenset[str]:
        told.append(text)
        return languages(text)

    monkeypatch.setattr("sovctl.gateway.clean_texts.languages", tell)
    finder = CleanTexts(Counting())
    german = "Bitte bestätigen Sie die Überweisung noch heute, und zwar an alle. " * 3
    finder.find(CLEAN)
    finder.find(german)
    for _ in range(3):
        assert finder.languages(CLEAN) == {"en"}
        assert finder.languages(german) == {"de"}
        finder.languages(OTHER)
    assert told == [CLEAN, german, OTHER, OTHER, OTHER]
    assert finder.find(CLEAN) == []


def test_a_remembered_language_counts_in_every_request() -> None:
    finder = CleanTexts(Counting())
    body = {"messages": [{"role": "system", "content": "Antworten Sie bitte immer auf Deutsch, kurz und höflich."}]}
    for _ in range(3):
        inspector = Inspector(finder, CHAT, max_depth=8, languages_of=finder.languages)
        assert inspector.inspect(body).languages == {"de"}
