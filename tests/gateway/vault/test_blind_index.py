"""The blind index: alike for spellings of one value, for nobody else, and never across tenants or vaults."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.tokenization.text import replace
from sovctl.gateway.tokens.token import TokenIssuer
from sovctl.gateway.vault.encryption.blind_index import BlindIndex, canonical

INDEX, OTHER = BlindIndex(bytes(32)), BlindIndex(bytes(31) + b"1")
RETAIL, GROUP = INDEX.tenant("retail"), INDEX.tenant("group")


@given(st.text(alphabet=st.characters(categories=("L", "N")), min_size=1), st.sampled_from([" ", "-", ". ", "/"]))
def test_case_and_what_stands_between_do_not_matter(value: str, between: str) -> None:
    assert canonical(between.join(value)) == canonical(value)
    assert canonical(value.lower()) == canonical(value)
    assert INDEX.subjects(RETAIL, [value, f" {value}."]) == INDEX.subjects(RETAIL, [value])


@given(st.text(), st.text())
def test_a_digest_says_nothing_to_other_tenants_and_vaults(one: str, two: str) -> None:
    mine = INDEX.subjects(RETAIL, [one])
    assert (mine == INDEX.subjects(RETAIL, [two])) == (canonical(one) == canonical(two))
    assert not mine & INDEX.subjects(GROUP, [one, two])
    assert not mine & OTHER.subjects(OTHER.tenant("retail"), [one, two])
    assert canonical(one) or not one


def test_names_differ_by_their_letters_and_marks() -> None:
    names = ["Müller", "Muller", "Иванов", "Иванова", "محمد", "रमेश", "रमश"]
    assert len({canonical(name) for name in names}) == len(names)
    assert canonical("MU\u0308LLER") == canonical("müller")


def test_a_scope_is_told_by_its_subjects_in_any_order() -> None:
    subjects = sorted(INDEX.subjects(RETAIL, ["a", "b", "c"]))
    assert INDEX.scope(RETAIL, subjects) == INDEX.scope(RETAIL, subjects[::-1])
    assert INDEX.scope(RETAIL, subjects) != INDEX.scope(RETAIL, subjects[:2])
    assert INDEX.scope(RETAIL, subjects) != INDEX.scope(GROUP, subjects)


def test_a_token_is_about_the_identifiers_in_it() -> None:
    issuer = TokenIssuer(bytes(32), tenant="retail", conversation="c")
    text = "To a@b.example, see https://x.example/?m=c@d.example and EMAIL_0123456789ABCDEF"
    findings = [
        Finding(text.index(mail), text.index(mail) + len(mail), EntityType.EMAIL, 1.0, mail.upper(), "TEST")
        for mail in ("a@b.example", "c@d.example")
    ]
    tokenized, issued, _ = replace(text, findings, issuer)
    about = {issued[token]: set(values) for token, values in issuer.about.items()}
    assert about == {
        "a@b.example": {"a@b.example", "A@B.EXAMPLE"},
        "https://x.example/?m=c@d.example": {"c@d.example", "C@D.EXAMPLE"},
    }
    assert tokenized.count("_") == 3
