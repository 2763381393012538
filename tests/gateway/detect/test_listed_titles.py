"""A surname that is an everyday word is a name behind a title, however it is abbreviated, inflected or joined."""

from __future__ import annotations

import pytest
from listed_givens import finder_of, surfaces

from sovctl.gateway.detect.edm.matching.finder import EdmFinder

PEOPLE = [
    ("Odile", "Boulanger"),
    ("Fiorella", "Longo"),
    ("Захар", "Мороз"),
    ("Уляна", "Зелена"),
    ("سلمى", "الحداد"),
    ("Karim", "Al-Najjar"),
]


@pytest.fixture(scope="module", name="listed")
def listed_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    rows = [{"given_name": given, "surname": surname} for given, surname in PEOPLE]
    return finder_of(tmp_path_factory.mktemp("titles"), rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nous avons écrit à Mme. Boulanger hier.", "Boulanger"),
        ("Nous avons écrit à M. Boulanger hier.", "M. Boulanger"),
        ("Ho scritto alla sig.ra Longo ieri.", "Longo"),
        ("Ho scritto al dott. Longo ieri.", "Longo"),
        ("Ho scritto alla DOTT.SSA LONGO ieri.", "LONGO"),
        ("Ho scritto al geom. Longo ieri.", "Longo"),
        ("Допитали громадянина Мороза вчора.", "Мороза"),
        ("Ми писали лікарці Зеленій учора.", "Зеленій"),
        ("Ми писали панові Морозу вчора.", "Морозу"),
        ("اتصلت د. الحداد أمس.", "د. الحداد"),
        ("أرسلنا الرسالة للسيدة الحداد أمس.", "الحداد"),
        ("تحدثنا معها والدكتورة الحداد.", "الحداد"),
        ("اتصل م. النجار أمس.", "م. النجار"),
    ],
)
def test_a_word_is_a_name_behind_a_title(listed: EdmFinder, text: str, expected: str) -> None:
    assert expected in surfaces(listed, text)


@pytest.mark.parametrize(
    "text",
    [
        "On va chez Le Boulanger à midi.",
        "Il gruppo. Longo è lontano.",  # a sentence's end is no abbreviation
        "Bloc M, Boulanger et fils",
        "Настав Мороз.",
        "اشترى الحداد الحديد",
        "على بعد 10 م. النجار يعمل هناك",  # metres
    ],
)
def test_it_is_a_word_elsewhere(listed: EdmFinder, text: str) -> None:
    assert surfaces(listed, text) == []
