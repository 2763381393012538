"""What was found in a text is remembered for its tenant, without the text; and it is forgotten in time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from identifier_strategies import texts

from examples import examples
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.findings_memory import FindingsMemory
from sovctl.gateway.detect.text.words import Words
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings import DetectSettings

DETECTOR = make_detector(DetectSettings(phone_regions=["DE"]))
TEXT = "Dear Mr. Ola Nordmann, the IBAN is DE89 3704 0044 0532 0130 00, your mail anna@example.com, born on 3 May 1981."


class Counting:
    """The detector, and the texts that it was given."""

    rule_names = ()
    is_cue = staticmethod(DETECTOR.is_cue)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find(self, text: str) -> list[Finding]:
        return self.scan(text)[0]

    def scan(self, text: str) -> tuple[list[Finding], Words | None]:
        self.asked.append(text)
        return DETECTOR.scan(text)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def memory_of(max_bytes: int = 1 << 20, max_age_s: float = 100, clock: Any = Clock()) -> FindingsMemory:
    return FindingsMemory(max_bytes=max_bytes, max_age_s=max_age_s, clock=clock)


@examples(300)
@given(texts)
def test_remembered_findings_are_equal_to_those_of_the_detector(text: str) -> None:
    finder = CachedFinder(DETECTOR, memory_of())
    expected = DETECTOR.find(text)
    assert finder.of("retail").find(text) == expected
    assert finder.of("retail").find(text) == expected
    assert set(finder.of("retail").suspects([text, "nothing"])) == ({text} if expected else set())


def test_text_with_findings_is_scanned_once() -> None:
    inner = Counting()
    finder = CachedFinder(inner, memory_of())
    for _ in range(3):
        assert finder.of("retail").find(TEXT)
        assert finder.of("retail").suspects([TEXT]) == [TEXT]
    assert inner.asked == [TEXT]


def test_another_tenant_does_not_get_what_was_found() -> None:
    inner = Counting()
    finder = CachedFinder(inner, memory_of())
    for tenant in ("retail", "private", "retail", "private"):
        assert finder.of(tenant).find(TEXT)
    assert inner.asked == [TEXT, TEXT]


class OfOneHash(str):
    """A text with the hash of another one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 1


def test_texts_of_one_hash_are_not_confused() -> None:
    finder = CachedFinder(DETECTOR, memory_of())
    one, other = OfOneHash("to anna@example.com"), OfOneHash("to bob@example.com, please")
    for _ in range(2):
        for text in (one, other):
            assert finder.of("retail").find(text) == DETECTOR.find(str(text))


def test_languages_are_remembered_with_the_findings() -> None:
    finder = CachedFinder(DETECTOR, memory_of()).of("retail")
    assert finder.scan(TEXT)[1] is None
    finder.add_languages(TEXT, frozenset({"en", "de"}))
    assert finder.scan(TEXT)[:2] == (DETECTOR.find(TEXT), {"en", "de"})


def test_least_recently_used_record_goes_first_when_the_bytes_are_used_up() -> None:
    inner, clock = Counting(), Clock()
    memory = memory_of(max_bytes=3_000, clock=clock)
    finder = CachedFinder(inner, memory)
    letters = [f"letter {number}: {TEXT}" for number in range(8)]
    for letter in letters:
        clock.now_s += 10
        finder.of("retail").find(letter)
        finder.of("retail").find(letters[0])
    assert memory.size_bytes <= 3_000
    assert 1 < len(memory) < 8
    inner.asked.clear()
    finder.of("retail").find(letters[0])
    finder.of("retail").find(letters[-1])
    assert inner.asked == []
    finder.of("retail").find(letters[1])
    assert inner.asked == [letters[1]]


def test_unused_record_is_forgotten_in_time() -> None:
    clock = Clock()
    memory = memory_of(clock=clock)
    finder = CachedFinder(DETECTOR, memory)
    finder.of("retail").find(TEXT)
    finder.of("retail").find("to anna@example.com")
    clock.now_s = 90
    finder.of("retail").find(TEXT)
    clock.now_s = 110
    memory.purge()
    assert len(memory) == 1
    assert TEXT in memory.of("retail")


def test_clear_forgets_everything() -> None:
    inner, memory = Counting(), memory_of()
    finder = CachedFinder(inner, memory)
    finder.of("retail").find(TEXT)
    memory.clear()
    assert (len(memory), memory.size_bytes) == (0, 0)
    assert finder.of("retail").find(TEXT)
    assert inner.asked == [TEXT, TEXT]


def test_value_that_cannot_be_encoded_is_not_remembered() -> None:
    memory = memory_of()
    memory.of("retail").put("\ud800", [Finding(0, 1, EntityType.PERSON, 1.0, "\ud800", "NAME")])
    assert len(memory) == 0


def reachable(root: object) -> Iterator[object]:
    """Every object that can be reached from `root` over references, except modules and classes."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type) or type(each).__name__ in ("module", "function"):
            continue
        seen.add(id(each))
        yield each
        waiting += gc.get_referents(each)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-le"])
def test_no_text_and_no_value_can_be_reached_from_the_memory(encoding: str) -> None:
    memory = memory_of()
    finder = CachedFinder(DETECTOR, memory)
    found = finder.of("retail").find(TEXT)
    finder.of("retail").add_languages(TEXT, frozenset({"en"}))
    assert len(found) > 3
    secrets = {TEXT, *(each.value for each in found), *(TEXT[each.start : each.end] for each in found)}
    words = {word for secret in secrets for word in [secret, *secret.split()] if len(word) > 3}
    assert any(isinstance(each, bytes) and len(each) > 100 for each in reachable(memory)), "the record itself"
    for each in reachable(memory):
        held = each.encode(encoding) if isinstance(each, str) else each if isinstance(each, bytes | bytearray) else b""
        assert not [word for word in words if word.encode(encoding) in held]
        assert not isinstance(each, Finding)
