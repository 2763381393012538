"""A person who was named once is covered in every other form, and nobody and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from echo_upstream import EchoUpstream
from hypothesis import given
from hypothesis import strategies as st
from loopback_gateway import running_gateway, say, write_loopback_config

from sovctl.gateway.detect.edm.index.people import JOINTS
from sovctl.gateway.detect.findings.overlaps import resolve
from sovctl.gateway.detect.names.cues import PARTICLES, TITLES
from sovctl.gateway.inspection.known_names import Aliases


def found(text: str, *names: str) -> list[str]:
    """What is found in `text` once these are known."""
    aliases = Aliases()
    for name in names:
        aliases.learn(name)
    return [text[each.start : each.end] for each in resolve(aliases.find(text))]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Anna Kowalska", "Kowalska pisze, a Anna czeka.", ["Kowalska", "Anna"]),
        ("Anna Kowalska", "Pismo Kowalskiej, dla Anny.", ["Kowalskiej", "Anny"]),
        ("Anna Kowalska", "A. Kowalska oraz Kowalska A. z banku", ["A. Kowalska", "Kowalska A."]),
        ("Anna Kowalska", "Kowalska, Anna i KOWALSKA ANNA", ["Kowalska, Anna", "KOWALSKA ANNA"]),
        ("Anna Kowalska", "napisz do kowalskiej dzisiaj", ["kowalskiej"]),
        ("Jürgen Müller", "sagt Mueller, oder Muller, und Müllers Konto", ["Mueller", "Muller", "Müllers"]),
        ("Friederike Großmann", "für Grossmann und Großmanns Hund", ["Grossmann", "Großmanns"]),
        ("Françoise Lefèvre", "a vu Lefevre et Francoise", ["Lefevre", "Francoise"]),
        ("Inés Rodríguez Peña", "con Rodriguez y luego Pena", ["Rodriguez", "Pena"]),
        ("Emily O'Connor", "with O’Connor, for O'Connor's card", ["O’Connor", "O'Connor's"]),
        ("Agnieszka Wróbel", "dla Wróblowi, bez Wróbla", ["Wróblowi", "Wróbla"]),
        ("Павел Воробей", "нет Воробья, для Павла", ["Воробья", "Павла"]),
        ("خالد القحطاني", "spoke with Alqahtani, then Khalid", ["Alqahtani", "Khalid"]),
        ("Anna Kowalska", "signed A.K. in the end", ["A.K."]),
        ("Аглая Добронравова", "Звонок Добронравовой Аглаи", ["Добронравовой Аглаи"]),
        ("Добронравовой Аглае", "Добронравова пришла", ["Добронравова"]),
        ("Аглая Добронравова", "Dobronravova called, and A. Dobronravova wrote", ["Dobronravova", "A. Dobronravova"]),
        ("Dobronravova Aglaia", "Пришла Добронравова.", ["Добронравова"]),
        ("Matthias Rübenack", "Rübenacks Konto; Herr Rübenack.", ["Rübenacks", "Rübenack"]),
        ("Tamsin Quimbleby", "Quimbleby's card, tamsin said", ["Quimbleby", "tamsin"]),
        ("Mehmet Yıldırımoğlu", "Yıldırımoğlu'nun hesabı", ["Yıldırımoğlu"]),
        ("محمد القحطاني", "اتصل القحطاني وللقحطاني حساب", ["القحطاني"]),
        ("Grace Baker", "Baker called about Grace.", ["Baker", "Grace"]),
        ("Ben Quimbleby", "so Ben said", ["Ben"]),
    ],
)
def test_other_forms_of_a_known_name_are_found(name: str, text: str, expected: list[str]) -> None:
    assert found(text, name)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Will Smith", "Will you come? The smith will."),
        ("Grace Baker", "the baker has a grace period"),
        ("Mark Bank", "the Bank of Spain; a bank; 20 marks"),
        ("Ursula Schmidt", "the U.S. and others"),
        ("Anna Kowalska", "Annapolis, Kowalewo, annas and kowalstwo"),
        ("Слава Волк", "слава труду, а волк ушёл в лес"),
        ("Jan de Vries", "de bank, Januar, January"),
        ("Anna Kowalska", "x_Kowalska1 and Kowalska2"),
        ("Roman Paris", "Romania and Parisians, romance"),
    ],
)
def test_ordinary_words_and_other_names_are_not(name: str, text: str) -> None:
    assert found(text, name) == []


def test_initials_of_somebody_else_are_left_alone() -> None:
    assert found("B. Kowalska and A. Nowak", "Anna Kowalska") == ["Kowalska"]


def test_all_cases_of_a_part_have_one_value_and_two_people_of_a_surname_keep_their_names() -> None:
    aliases = Aliases()
    aliases.learn("Anna Kowalska")
    aliases.learn("Piotr Kowalski")
    text = "Kowalska, Kowalskiej. Anna Kowalska. Piotr Kowalski."
    values = [each.value for each in resolve(aliases.find(text))]
    assert values == ["kowalska", "kowalska", "anna kowalska", "piotr kowalski"]


def test_nothing_is_found_where_nobody_is_known() -> None:
    assert found("Anna Kowalska") == []


NAMES = (
    st.text(st.sampled_from("abcdeklmnorstuwzабвгдеклмн"), min_size=3, max_size=12)
    .map(str.capitalize)
    .filter(lambda name: name.casefold() not in PARTICLES | TITLES | JOINTS)
)


@given(name=NAMES, text=st.text(max_size=80))
def test_a_name_is_found_as_it_was_written_in_any_text(name: str, text: str) -> None:
    whole = f"{text} x {name}-\n"
    aliases = Aliases()
    aliases.learn(name)
    spans = [(each.start, each.end) for each in aliases.find(whole)]
    assert all(0 <= start < end <= len(whole) for start, end in spans)
    place = len(text) + 3
    assert any(start <= place and place + len(name) <= end for start, end in spans)


def test_who_was_named_in_an_earlier_turn_of_a_named_conversation_is_covered_in_a_later_one(tmp_path: Path) -> None:
    with EchoUpstream() as cloud, running_gateway(write_loopback_config(tmp_path, cloud_port=cloud.port)) as gateway:

        def ask(text: str, conversation: str) -> str:
            status, _, answer = gateway.post(say(text), headers={"x-sovctl-conversation": conversation})
            assert status == 200
            assert json.loads(answer)["choices"][0]["message"]["content"] == text
            return str(cloud.requests[-1]["messages"][-1]["content"])

        first = ask("Please write to Mr. Tamsin Quimbleby about the transfer.", "one")
        assert "Quimbleby" not in first
        later = "What did Quimbleby say, and has T. Quimbleby signed?"
        assert "Quimbleby" not in ask(later, "one")
        assert ask(later, "another") == later
