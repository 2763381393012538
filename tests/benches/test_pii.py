"""The judge of detection: what it calls a leak, what it refuses, and sets that are what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.judging.documents import Document, Span, read_documents
from bench.judging.leaks import Replacement, judge, normalise
from bench.pii_sets import europe, names, world
from bench.pii_sets.documents import LANGUAGES, clean, disguised, structured
from bench.pii_sets.write import write_sets
from examples import examples
from sovctl.support.errors import SpecError

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Write to anna@example.com, or ANNA@EXAMPLE.COM."
FIRST, SECOND = Span(9, 25, "EMAIL"), Span(30, 46, "EMAIL")


def document(text: str, *spans: Span) -> Document:
    return Document(text, "en", spans)


def replaced(*intervals: tuple[int, int]) -> Replacement:
    return Replacement(intervals, ["EMAIL"] * len(intervals))


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.pii", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_value_elsewhere_in_any_form_counts_as_leak() -> None:
    assert judge(document(TEXT, FIRST, SECOND), replaced((9, 25), (30, 46))).leaked == [False, False]
    assert judge(document(TEXT, FIRST, SECOND), replaced((9, 25))).leaked == [True, True]
    for disguise in ("a n n a @ example . com", "ａｎｎａ@example.com", "anna@exam\u200bple.com", "ANNA@example-com"):
        text = f"{TEXT[:25]} {disguise}"
        assert judge(document(text, FIRST), replaced((9, 25))).leaked == [True], disguise


def test_a_rest_is_a_partial_leak_and_separators_are_none() -> None:
    outcome = judge(document(TEXT, FIRST), replaced((9, 24), (30, 46)))
    assert (outcome.leaked, outcome.partial) == ([False], [True])
    number = "+49 30 901820."
    assert judge(document(number, Span(0, 14, "PHONE")), replaced((1, 13))).partial == [False]


def test_tokens_are_separated_from_adjacent_text() -> None:
    outcome = judge(document("ab XX cd", Span(0, 2, "A")), replaced((0, 2), (3, 5)))
    assert outcome.leaked == [False]
    assert judge(document("4 1 x 1 1 411", Span(10, 13, "N")), replaced((4, 5), (10, 13))).leaked == [False]


def test_hits_beside_every_span_are_false_and_words_are_counted() -> None:
    outcome = judge(document(TEXT, FIRST), replaced((0, 5), (9, 25), (30, 46)))
    assert outcome.false_types == ["EMAIL", "EMAIL"]
    assert (outcome.words, outcome.predicted_exact, outcome.over_masked) == (5, 1, 5 + 14)


@examples(200)
@given(st.text(st.one_of(st.characters(), st.sampled_from("\0a\u0300ß１"))), st.data())
def test_replacing_all_leaks_nothing_and_replacing_nothing_leaks_all(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    if not normalise(text[cuts[0] : cuts[1]].replace("\0", "")):
        return
    span = Span(cuts[0], cuts[1], "X")
    everything = judge(document(text, span), replaced((0, len(text))))
    assert (everything.leaked, everything.partial) == ([False], [False])
    assert judge(document(text, span), replaced()).leaked == [True]


def test_every_bad_line_is_named_and_none_is_quoted(tmp_path: Path) -> None:
    good = {"text": "ab", "language": "en", "spans": []}
    lines = [
        json.dumps(good),
        "secret value",
        json.dumps({**good, "text": 1}),
        json.dumps({**good, "spans": [{"start": 1, "end": 9, "type": "A"}, {"start": 0, "end": 1}]}),
        "[" * 100_000,
        "",
    ]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(SpecError) as caught:
        read_documents(path)
    places = [str(problem).partition(": ")[0] for problem in caught.value.problems]
    assert [place.rpartition(":")[2] for place in places] == ["2", "3", "4", "4", "5"]
    done = run("--data", str(path), "--output", str(tmp_path / "out.json"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "secret value" not in done.stderr
    assert "Traceback" not in done.stderr


def test_missed_target_exits_with_1_and_is_in_the_json_document(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    spans = [{"start": 9, "end": 25, "type": "EMAIL"}, {"start": 0, "end": 5, "type": "SHOE_SIZE"}]
    path.write_text(json.dumps({"text": TEXT[:26], "language": "en", "spans": spans}) + "\n")
    arguments = ["--data", str(path), "--json", "--output", str(tmp_path / "out.json")]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    rates = {row["type"]: row["leak_rate"] for row in result["leaks"]}
    assert (rates["EMAIL"], rates["SHOE_SIZE"]) == (0.0, 1.0)
    assert result["missed"] == ["SHOE_SIZE in en: 1 of 1 leaked, 100.0% (at most 1%)"]
    assert "anna" not in done.stdout
    assert run(*arguments, "--check").returncode == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_sets_are_the_same_for_the_same_seed_and_spans_hold_identifiers(language: str) -> None:
    for make in (structured, disguised):
        documents = list(make(language, per_type=2, seed=5))
        assert documents == list(make(language, per_type=2, seed=5))
        assert documents != list(make(language, per_type=2, seed=6))
        for each in documents:
            assert each["spans"]
            for span in each["spans"]:
                assert each["text"][span["start"] : span["end"]].strip(), span
            assert "{" not in each["text"].replace('{"', "").replace("{ total", ""), each["text"]
    assert not any(each["spans"] for each in clean(language, documents=20, seed=5))


def _presidio(recognizer: Any, value: str) -> bool:
    return any(found.score > 0 for found in recognizer.analyze(value, [recognizer.supported_entities[0]]))


def test_numbers_are_valid_to_somebody_else() -> None:
    from presidio_analyzer import predefined_recognizers as theirs

    judges = {
        "DE_STEUER_ID": theirs.DeTaxIdRecognizer(),
        "ES_DNI": theirs.EsNifRecognizer(),
        "ES_NIE": theirs.EsNieRecognizer(),
        "PL_PESEL": theirs.PlPeselRecognizer(),
        "IT_CODICE_FISCALE": theirs.ItFiscalCodeRecognizer(),
        "IT_PARTITA_IVA": theirs.ItVatCodeRecognizer(),
        "UK_NHS": theirs.NhsRecognizer(),
        "UK_NINO": theirs.UkNinoRecognizer(),
        "TR_KIMLIK": theirs.TrNationalIdRecognizer(),
        "IN_AADHAAR": theirs.InAadhaarRecognizer(),
        "IN_PAN": theirs.InPanRecognizer(),
        "SG_NRIC": theirs.SgFinRecognizer(),
        "US_SSN": theirs.UsSsnRecognizer(),
        "ZA_ID": theirs.ZaIdNumberRecognizer(),
        "CARD": theirs.CreditCardRecognizer(),
        "BITCOIN": theirs.CryptoRecognizer(),
    }
    dice = world.Random(3)
    for kind, recognizer in judges.items():
        for _ in range(40):
            value = {**europe.NUMBERS, **world.NUMBERS}[kind](dice)
            if kind != "CARD" or value[:1] in "45":  # Presidio's pattern knows neither Mir nor the twos of Mastercard
                assert _presidio(recognizer, value), (kind, value)
    for country in ("DE", "FR", "GB", "NL", "PL", "ES", "IT", "TR", "PT", "AE", "SA", "KZ", "BE", "AT", "CH", "IE"):
        for _ in range(20):
            assert _presidio(theirs.IbanRecognizer(), world.iban(country)(dice)), country


@pytest.mark.parametrize("language", LANGUAGES)
def test_phone_numbers_can_be_dialled(language: str) -> None:
    from bench.pii import REGIONS

    dice = world.Random(3)
    for _ in range(60):
        number = world.phone(language)(dice)
        parsed = [phonenumbers.parse(number, region) for region in REGIONS[language]]
        assert any(map(phonenumbers.is_valid_number, parsed)), number


@pytest.mark.parametrize("language", names.LANGUAGES)
def test_listed_people_stand_in_their_sentences_in_every_form(language: str) -> None:
    people = names.people(language, seed=5)
    assert len(people) > 15
    documents = list(names.named(language, seed=5))
    assert documents == list(names.named(language, seed=5))
    forms = {span["type"] for each in documents for span in each["spans"]}
    assert {"PERSON~full", "PERSON~reversed", "PERSON~initials", "PERSON~surname"} <= forms
    for each in documents:
        for span in each["spans"]:
            assert (
                span["type"] != "PERSON~full"
                or tuple(each["text"][span["start"] : span["end"]].split(" ", 1)) in people
            )
    assert any(not each["spans"] for each in documents)
    listed = {(row["given_name"], row["surname"]) for row in names.customers(seed=5)}
    assert set(people) <= listed


def test_listed_people_are_judged_only_with_their_list_and_keep_the_bars(tmp_path: Path) -> None:
    paths = {path.stem: path for path in write_sets(tmp_path / "sets", seed=5, per_type=2)}
    output = tmp_path / "pii.json"
    files = ["--data", str(paths["names"]), "--output", str(output)]
    without = run(*files, "--json")
    assert without.returncode == 0, without.stderr
    leaked = json.loads(without.stdout)
    assert leaked["missed"] == []
    assert [row["leak_rate"] for row in leaked["leaks"] if row["language"] == "all"][-1] > 0.5
    with_list = run(*files, "--listed", str(tmp_path / "sets" / "customers.csv"), "--json", "--check")
    result = json.loads(with_list.stdout)
    assert [row["leak_rate"] for row in result["leaks"] if row["language"] == "all"][-1] <= 0.02
    assert result["false_hits"]["documents without spans"]["per_1000"] < 3


def test_unseen_spellings_keep_the_bars(tmp_path: Path) -> None:
    paths = {path.stem: path for path in write_sets(tmp_path / "sets", seed=11, per_type=20)}
    result = json.loads(run("--data", str(paths["unseen"]), "--output", str(tmp_path / "pii.json"), "--json").stdout)
    of_all = next(row for row in result["leaks"] if (row["type"], row["language"]) == ("all", "all"))
    assert of_all["leak_rate"] <= 0.02
    assert result["false_hits"]["documents without spans"]["per_1000"] < 2
