"""Arabic names are found in the letters and spellings of other countries than the list's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_givens import finder_of, surfaces

from sovctl.gateway.detect.edm.forms.arabic_given_names import is_arabic_given
from sovctl.gateway.detect.edm.forms.romanization import romanised, transcribed, unvowelled
from sovctl.gateway.detect.edm.matching.finder import EdmFinder

NAMES = [
    "زهير السامرائي",
    "ليلى قباني",
    "مصطفى أبو زيد",
    "Muadh Alalawi",
    "Wesam Boudyaf",
    "Khadija Darwish",
    "فيصل الزهراوي",
    "رقية شرقاوي",
    "وليد بنعمار",
    "Abdullah Al-Senussi",
]


@pytest.fixture(scope="module", name="listed")
def listed_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    return finder_of(tmp_path_factory.mktemp("arabic"), [{"full_name": name} for name in NAMES])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We asked Zuhair Al-Samarrai today.", "Zuhair Al-Samarrai"),
        ("we asked zohair el samarraee today.", "zohair el samarraee"),
        ("We asked Z. Al-Samarrai today.", "Z. Al-Samarrai"),
        ("We asked Laila Qabbani today.", "Laila Qabbani"),
        ("We asked Leila Kabbani today.", "Leila Kabbani"),
        ("We asked LAYLĀ QABBĀNĪ today.", "LAYLĀ QABBĀNĪ"),
        ("We asked Moustafa Abou Zeid today.", "Moustafa Abou Zeid"),
        ("We asked Moaz El Alaoui today.", "Moaz El Alaoui"),
        ("وقّع معاذ العلوي العقد", "معاذ العلوي"),
        ("وقّع وسام بوضياف العقد", "وسام بوضياف"),
        ("تم الاتفاق لوسام بوضياف", "لوسام بوضياف"),
        ("We asked Ouissam Boudiaf today.", "Ouissam Boudiaf"),
        ("We asked Mr Derwish today.", "Derwish"),
        ("According to Darweesh it is late.", "Darweesh"),
        ("According to Al-Samarrae it is late.", "Al-Samarrae"),
        # A surname alone of a list in Arabic script, in any country's spelling.
        ("According to Alzahrawi it is late.", "Alzahrawi"),
        ("Selon Ezzahraoui, il est tard.", "Ezzahraoui"),
        ("Selon Cherkaoui, il est tard.", "Cherkaoui"),
        ("We heard that Benammar left.", "Benammar"),
        ("ask roukaya cherkaoui please", "roukaya cherkaoui"),
        ("assigned to @falzahrawi yesterday", "falzahrawi"),
        ("login=walidbenammar", "walidbenammar"),
        ("see f.alzahrawi@", "f.alzahrawi"),
        # In Arabic script those by whose shape it is a name, and servants in one word or two.
        ("رفض شرقاوي الطلب", "شرقاوي"),
        ("رفض بنعمار الطلب", "بنعمار"),
        ("رفض أبو زيد الطلب", "أبو زيد"),
        ("رفض السنوسي الطلب", "السنوسي"),
        ("وقع عبد الله السنوسي العقد", "عبد الله السنوسي"),
        ("أرسل لعبد الله السنوسي العقد", "لعبد الله السنوسي"),
    ],
)
def test_a_listed_arabic_name_is_found_in_other_spellings(listed: EdmFinder, text: str, expected: str) -> None:
    assert expected in surfaces(listed, text)


@pytest.mark.parametrize(
    "text",
    [
        "The drawish line, a dervish dance and mud.",
        "Seit Jahren sind Liter und Wende bekannt.",
        "زهير جميل في البيت",
        "A Zohri wine, the Sharqi wind and Zahir.",
        "login=zahrawix85, walidally and falafel",
        "التراث السنوسية قديم",
    ],
)
def test_similar_sounding_word_is_not_a_listed_name(listed: EdmFinder, text: str) -> None:
    assert surfaces(listed, text) == []


@pytest.mark.parametrize(
    "spellings",
    [
        "Mohamed Muhammad Mouhamed Muhamad",
        "Darweesh Darwish Derwich",
        "Najla Nagla Nadjla",
        "Obeidi Ubaydi Oubeidi",
        "Alaoui Alawi Alalawi",
        "Khatib Hatib Khateeb",
        "Jundi Gundi Djoundi",
    ],
)
def test_spellings_of_one_name_meet(spellings: str) -> None:
    first, *others = (set(romanised(each.casefold())) for each in spellings.split())
    assert all(first & other for other in others)


@pytest.mark.parametrize(
    ("written", "spellings"),
    [
        ("الزهراوي", "Alzahrawi Zahraoui Ezzahraoui"),
        ("قحطاني", "Qahtani Gahtani Kahtany"),
        ("المصري", "Almasri Elmasry Masri"),
        ("عثمان", "Othman Osman Uthman"),
        ("صالح", "Saleh Salih"),
        ("بلحاج", "Belhadj Bilhaj"),
    ],
)
def test_a_name_in_arabic_script_meets_its_latin_spellings(written: str, spellings: str) -> None:
    assert all(transcribed(written) & unvowelled(each.casefold()) for each in spellings.split())


@pytest.mark.parametrize(
    ("written", "other"), [("الزهراوي", "Zahra"), ("الحارثي", "Harte"), ("التازي", "Tazio"), ("العطار", "Avatar")]
)
def test_words_with_different_long_vowels_do_not_match(written: str, other: str) -> None:
    assert not transcribed(written) & unvowelled(other.casefold())


@given(st.text(max_size=60))
def test_any_word_can_be_read(word: str) -> None:
    assert not (transcribed(word) and unvowelled(word))
    assert all(each.isascii() and "e" not in each for each in romanised(word.casefold()))
    assert is_arabic_given(word) in (True, False)


@given(st.text("الذثظقي", max_size=14).map("ال{}ي".format), st.text("aeiouthdkgj", max_size=30))
def test_no_word_is_read_in_more_ways_than_a_name(written: str, spelled: str) -> None:
    assert len(transcribed(written)) <= 16
    assert len(unvowelled(spelled)) <= 4 * 2**5  # with its article and final h, and without
