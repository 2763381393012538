"""Clean texts are looked at once, others every time; nothing of them is kept."""

from __future__ import annotations

import pytest

from sovctl.gateway.clean_texts import CleanTexts
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.kinds import Kind

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
