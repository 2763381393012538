"""Findings that overlap: one stands, and nothing that was found goes bare."""

from __future__ import annotations

from cpu_time import least_cpu_s
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.findings.overlaps import resolve, resolve_whole
from sovctl.gateway.domain.entities import EntityType

TEXT = "Ola Nordmann, IBAN DE89 3704 0044 0532 0130 00."
IBAN = Finding(19, 46, EntityType.IBAN, 1.0, "DE89370400440532013000", "IBAN")


def name(start: int, end: int, text: str = TEXT) -> Finding:
    return Finding(start, end, EntityType.PERSON, 0.9, text[start:end].casefold(), "MODEL_X")


def shown(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(TEXT[each.start : each.end], each.value) for each in findings]


def test_of_a_name_with_half_a_number_behind_it_the_name_stands() -> None:
    found = resolve_whole([IBAN, name(0, 23)], TEXT)
    assert shown(found) == [
        ("Ola Nordmann, IBAN", "ola nordmann, iban"),
        ("DE89 3704 0044 0532 0130 00", IBAN.value),
    ]


def test_a_longer_name_takes_the_place_of_a_shorter_one_whole() -> None:
    assert resolve_whole([name(0, 3), name(0, 12)], TEXT) == [name(0, 12)]


def test_of_two_names_that_share_a_word_both_are_covered() -> None:
    assert shown(resolve_whole([name(0, 12), name(4, 18)], TEXT)) == [
        ("Ola", "ola"),
        ("Nordmann, IBAN", "nordmann, iban"),
    ]


def test_many_names_that_give_way_take_linear_time() -> None:
    def seconds(count: int) -> float:
        text = TEXT * count
        names = [name(12 * place, 12 * place + 9, text) for place in range(count)]
        others = [IBAN._replace(start=each.start + 4, end=each.end + 2) for each in names]
        return least_cpu_s(lambda: resolve_whole([*names, *others], text))

    assert seconds(4000) < 10 * max(seconds(1000), 0.02)  # quadratic: sixteenfold


@given(
    st.text(alphabet="ab ,1\n", min_size=20, max_size=20),
    st.lists(
        st.tuples(
            st.integers(0, 19), st.integers(1, 9), st.sampled_from([EntityType.PERSON, EntityType.IBAN, EntityType.ORG])
        ).map(lambda each: (each[0], min(each[0] + each[1], 20), each[2])),
        max_size=8,
    ),
)
def test_every_letter_that_was_found_is_covered_once(text: str, spans: list[tuple[int, int, EntityType]]) -> None:
    findings = [Finding(start, end, kind, 0.5, text[start:end], kind.value) for start, end, kind in spans]
    standing = resolve_whole(findings, text)
    assert set(resolve(findings)) <= set(standing)
    assert resolve(standing) == standing
    covered = {place for each in standing for place in range(each.start, each.end)}
    assert {place for start, end, _ in spans for place in range(start, end) if text[place].isalnum()} <= covered
    assert resolve_whole(reversed(findings), text) == standing
