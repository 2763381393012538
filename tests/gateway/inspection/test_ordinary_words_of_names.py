"""A part of a name that an article shows to be an ordinary word is found with a capital only (issue 15)."""

from __future__ import annotations

from sovctl.gateway.inspection.known_names import Aliases


def _found(name: str, text: str) -> list[str]:
    aliases = Aliases()
    aliases.learn(name)
    return [text[each.start : each.end] for each in aliases.find(text)]


def test_an_ordinary_word_is_no_name_in_lower_case() -> None:
    assert _found("Equity", "The equity is high; equity returns rose. Equity called.") == ["Equity"]
    assert _found("Playfield", "a playfield of wood, and each playfield has lamps") == []


def test_a_surname_in_lower_case_is_found() -> None:
    assert _found("Anna Kowalska", "is the kowalska file done") == ["kowalska"]
    assert _found("Anna Kowalska", "kowalska is right, said kowalska") == ["kowalska", "kowalska"]


def test_a_given_name_after_an_article_stays_a_name() -> None:
    assert _found("Thomas Kowalski", "your thomas came, and thomas left") == ["thomas", "thomas"]
