"""Clean texts are looked at once, others every time; nothing of them is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.labels import is_cue
from sovctl.gateway.detect.language.language import languages
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.surfaces import SURFACES

CHAT = SURFACES["/v1/chat/completions"]

DETECTOR = make_detector(DetectSettings(phone_regions=["DE"]))
CLEAN, OTHER = "nothing in here " * 20, "write to anna@example.com " * 10


class Counting:
    rule_names = ("EMAIL",)
    is_cue = staticmethod(is_cue)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def scan(self, text: str) -> tuple[list[Finding], None]:
        self.asked.append(text)
        if "broken" in text:
            raise RuntimeError
        found = [Finding(9, 25, EntityType.EMAIL, 1.0, "anna@example.com", "EMAIL")]
        return (found if "@" in text else []), None


def test_only_a_clean_text_is_remembered() -> None:
    inner = Counting()
    finder = CachedFinder(inner)
    for _ in range(3):
        assert finder.find(CLEAN) == []
        assert finder.find(OTHER)
    assert inner.asked == [CLEAN, OTHER, OTHER, OTHER]


def test_a_failure_is_not_remembered_as_clean() -> None:
    finder = CachedFinder(Counting())
    for _ in range(2):
        with pytest.raises(RuntimeError):
            finder.find("broken " * 40)


def test_one_character_makes_another_text() -> None:
    inner = Counting()
    finder = CachedFinder(inner)
    finder.find(CLEAN)
    assert finder.find(CLEAN + "anna@example.com")
    finder.find(CLEAN + "\ud800")  # half a surrogate pair, as JSON may hold one
    assert len(inner.asked) == 3


class OfOneHash(str):
    """A text with the hash of another one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 1


def test_texts_of_one_hash_are_not_taken_for_each_other() -> None:
    inner = Counting()
    finder = CachedFinder(inner)
    english, german = OfOneHash(CLEAN), OfOneHash("Bitte bestätigen Sie die Überweisung noch heute. " * 5)
    assert finder.find(english) == []
    assert finder.languages(english) == {"en"}
    assert finder.find(OfOneHash(OTHER))
    assert finder.find(german) == []
    assert finder.scan(german) == ([], None, None)
    assert finder.languages(german) == {"de"}
    assert finder.scan(german) == ([], {"de"}, None)
    assert len(inner.asked) == 3


def test_several_texts_are_read_as_one_and_each_is_remembered() -> None:
    inner = Counting()
    finder = CachedFinder(inner)
    finder.find(CLEAN)
    assert finder.are_clean([CLEAN, "a", "b"])
    assert len(inner.asked) == 2
    assert finder.are_clean(["b", "a"])
    assert finder.find("a") == []
    assert len(inner.asked) == 2
    assert not finder.are_clean(["a", "c", OTHER])
    assert not finder.are_clean(["c", OTHER])
    with pytest.raises(RuntimeError):
        finder.are_clean(["d", "broken"])
    assert len(inner.asked) == 5


def test_of_many_texts_those_that_hold_something_are_named() -> None:
    texts = [f"row {number}" for number in range(200)]
    texts[70], texts[71] = "anna@example.com", "YW5uYUBleGFtcGxlLmNvbQ=="
    finder = CachedFinder(DETECTOR)
    assert finder.suspects([*texts, *texts]) == texts[70:72]
    assert finder.find("row 69") == []
    assert finder.find(texts[70])


def test_finding_across_joined_texts_makes_all_of_them_suspect() -> None:
    inner = Counting()
    assert CachedFinder(inner).suspects(["a", OTHER]) == [
        "a",
        OTHER,
    ]  # what is found there begins and ends between them
    assert len(inner.asked) == 1


_PIECES = st.sampled_from(
    [
        "DE89370400440532013000",
        "to anna@example.com",
        "4111 1111 1111",
        "1111",
        "call 030",
        "901820",
        "his BSN is",
        "111222333",
        "Dear Mr.",
        "Nordmann, thank you",
        "Best regards,",
        "Ola Nordmann",
        "name:",
        "born on",
        "1980-02-29",
        "YW5uYUBleGFt",
        "NTUzMyAxNjI2IDEyNDIgODA1NQ==",
        "REU3MyAyODkwIDg0NzEgMjg1MyA0NDMz",
        "cGxlLmNvbQ==",
        "anna%40",
        "example.com",
        "9 4 3 4 7 6",
        "5 9 1 9",
        "password:",
        "hunter2hunter",
        "plain words",
        "Phone",
        "2026-00417",
    ]
)


@examples(300)
@given(st.lists(st.lists(_PIECES, min_size=1, max_size=3).map(" ".join), min_size=2, max_size=5))
def test_nothing_is_overlooked_in_texts_that_are_read_as_one(texts: list[str]) -> None:
    suspects = CachedFinder(DETECTOR).suspects(texts)
    assert set(suspects).issuperset(text for text in texts if DETECTOR.find(text))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sovctl.gateway.detect.clean_text_cache._MOST_KNOWN", 3)
    inner = Counting()
    finder = CachedFinder(inner)
    for number in range(5):
        finder.find(f"{number} {CLEAN}")
    finder.find(f"4 {CLEAN}")
    assert len(inner.asked) == 5
    finder.find(f"0 {CLEAN}")
    assert len(inner.asked) == 6


def test_nothing_of_a_text_is_kept() -> None:
    finder = CachedFinder(Counting())
    finder.find(CLEAN)
    assert "nothing" not in repr(vars(finder))


def test_languages_of_clean_texts_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def tell(text: str) -> frozenset[str]:
        told.append(text)
        return languages(text)

    monkeypatch.setattr("sovctl.gateway.detect.clean_text_cache.languages", tell)
    finder = CachedFinder(Counting())
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
    finder = CachedFinder(Counting())
    body = {"messages": [{"role": "system", "content": "Antworten Sie bitte immer auf Deutsch, kurz und höflich."}]}
    for _ in range(3):
        inspector = Inspector(finder, CHAT, max_depth=8)
        assert inspector.inspect(body).languages == {"de"}
