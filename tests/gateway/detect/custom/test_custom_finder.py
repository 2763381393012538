"""A site's own patterns: linear on every text, whatever the pattern, and no half of a value remains."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect.custom.checksums import CHECKSUMS
from sovctl.gateway.detect.custom.context_words import NearWords
from sovctl.gateway.detect.custom.finder import CustomFinder, CustomRule
from sovctl.gateway.detect.custom.patterns import LONGEST, problem_of
from sovctl.gateway.detect.text.scanner import Pattern, Scanner
from sovctl.gateway.detect.text.view import NormalizedText
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.work import Work
from sovctl.gateway.settings.detection.recognizer import ChecksumName

_UNITS_AT_THE_EDGES = 2 * LONGEST * 20  # of hits that one seam between two copies of a text adds
_COPIES = 8

_ATOMS = st.sampled_from(
    ["a", "b", "0", "-", " ", "é", "ж", "[ab]", "[0-9]", "[a-z0-9]", "[^b]", ".", r"\w", r"\s", "案"]
)
_REPEATS = st.sampled_from(
    ["", "", "?", "{2}", "{1,3}", "{0,8}", "{3,20}", "??", "{1,5}?"]
)  # unlimited ones are rejected
_BODIES = st.recursive(
    st.builds(lambda atom, repeat: atom + repeat, _ATOMS, _REPEATS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.builds(lambda each, repeat: f"(?:{each}){repeat}", inner, _REPEATS),
    ),
    max_leaves=6,
)
_PATTERNS = st.tuples(st.sampled_from(["a0-", "[ab]{3}", "[0-9]{3,9}", "жж", ".{3,9}"]), _BODIES).map("".join)
_TEXTS = st.text(st.sampled_from("aabb00--  éж案x\n\ud800\U0001f600"), min_size=1, max_size=30)


def rule(*patterns: str, **changes: Any) -> CustomRule:
    given_values: dict[str, Any] = {
        "name": "OWN",
        "entity_type": EntityType.CUSTOM,
        "score": 0.9,
        "patterns": patterns,
        "is_case_sensitive": False,
        "is_whole_word": True,
        "check": None,
        "near": None,
    }
    return CustomRule(**{**given_values, **changes})


def is_accepted(made: CustomRule) -> bool:
    plain = [Pattern(each, has_case=made.is_case_sensitive, is_unicode=True) for each in made.patterns]
    return not [each for each in zip(plain, made.scanned(), strict=True) if problem_of(*each)]


def found(finder: CustomFinder, text: str) -> list[str]:
    return [text[each.start : each.end] for each in finder.find(NormalizedText(text), ())]


def work_of(finder: CustomFinder, text: str) -> int:
    work = Work(limit=1 << 60)
    with work.current():
        finder.find(NormalizedText(text), ())
    return work.done


@given(_PATTERNS, _TEXTS, st.booleans(), st.booleans())
@examples(400)
def test_the_work_of_an_accepted_pattern_grows_with_the_text_and_no_faster(
    pattern: str, text: str, is_whole_word: bool, has_words: bool
) -> None:
    near = NearWords(["ab"], before=20, after=20) if has_words else None
    made = rule(pattern, is_whole_word=is_whole_word, near=near, check=CHECKSUMS["luhn"] if has_words else None)
    assume(is_accepted(made))
    finder = CustomFinder([made])
    once, often = text * _COPIES, text * (4 * _COPIES)
    assert work_of(finder, often) <= 4 * work_of(finder, once) + _UNITS_AT_THE_EDGES
    [pattern_of_scan] = made.scanned()
    plain = often.encode("utf-8", "replace").decode()
    hits = Scanner([pattern_of_scan]).scan(plain)
    assert len(hits) <= len(plain) + 1  # one for each end
    assert all(end - start <= LONGEST + 2 for end, start, _ in hits)


@given(_PATTERNS, _TEXTS)
@examples(200)
def test_findings_lie_in_the_text_and_do_not_overlap(pattern: str, text: str) -> None:
    made = rule(pattern, is_whole_word=False)
    assume(is_accepted(made))
    places = [(each.start, each.end) for each in CustomFinder([made]).find(NormalizedText(text), ())]
    ends = [0, *(place for span in places for place in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)
    assert all(start < end for start, end in places)


@given(st.lists(st.sampled_from(["K-123456", "k-12345678", " ", ", ", "x", "é", "案", "\ud800", "."]), max_size=12))
@examples(200)
def test_it_finds_what_a_regular_expression_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    wanted = [m.group() for m in re.finditer(r"(?<![0-9A-Za-z])K-[0-9]{6,8}(?![0-9A-Za-z])", text, re.IGNORECASE)]
    assert found(CustomFinder([rule("K-[0-9]{6,8}")]), text) == wanted


def test_values_that_overlap_are_one_finding() -> None:
    assert found(CustomFinder([rule("[0-9]{4}", is_whole_word=False)]), "x1234567y") == ["1234567"]


def test_letters_of_other_scripts_are_letters_in_classes() -> None:
    assert found(CustomFinder([rule("[а-я]{2}-[0-9]{4}")]), "дело АБ-1204 и аб1204") == ["АБ-1204"]
    assert found(CustomFinder([rule("[а-я]{2}-[0-9]{4}", is_case_sensitive=True)]), "дело АБ-1204") == []


@pytest.mark.parametrize("name", get_args(ChecksumName))
def test_every_checksum_accepts_its_specimen_and_no_wrong_character(name: ChecksumName) -> None:
    specimens = {
        "luhn": "7992-7398-713",
        "verhoeff": "2363",
        "mod-11": "8601.11.17947",
        "mod-97-10": "529900T8BM49AURSDO55",
        "mod-11-10": "33392005961",
        "mod-11-2": "0000-0002-1694-233X",
        "mod-37-36": "A1-2425G-ABC1234002-M",
    }
    check, specimen = CHECKSUMS[name], specimens[name]
    assert check(specimen)
    for place, character in enumerate(specimen):
        if character.isdigit():
            wrong = str((int(character) + 1) % 10)
            assert not check(f"{specimen[:place]}{wrong}{specimen[place + 1 :]}")
    assert not check("")
    assert not check("é")


def test_every_checksum_has_a_name_in_the_settings() -> None:
    assert set(CHECKSUMS) == set(get_args(ChecksumName))


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(a+)\1", "Back-references"),
        (r"(?=ab)abc", "Zero-width"),
        (r"(?>abc)d", "Atomic groups"),
        (r"(?:a|aa)+x", "at most 256 bytes"),
        ("[0-9]{1,99}", "at least 3 bytes"),
        ("[0-9]{200,999}", "256 bytes"),
        ("(?x)abc # text", "compiles"),
        ("abc[", "compiles"),
        ("(?:)", "compiles"),
    ],
)
def test_patterns_without_bounds_are_rejected(pattern: str, said: str) -> None:
    made = rule(pattern)
    [scanned] = made.scanned()
    problem = problem_of(Pattern(pattern, is_unicode=True), scanned)
    assert problem is not None
    assert said in problem.message
    assert problem.hint
