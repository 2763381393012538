"""Listed names in lists, tables, code, addresses and sentences: covered whole, and the words beside them are not."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from listed_givens import finder_of, found_in, surfaces

from examples import sample_bytes
from sovctl.gateway.detect.edm.matching.finder import EdmFinder

_ROWS = (Path(__file__).parents[1] / "data" / "listed_in_texts.txt").read_text(encoding="utf-8").splitlines()
_MARK = re.compile("([⟦⟧])")
_REST = re.compile(r"[^\W\d_]{3,}")
PEOPLE = [row.split(" | ") for row in _ROWS if " | " in row and "⟦" not in row and not row.startswith("#")]
TEXTS = [row.partition(": ")[2] for row in _ROWS if re.match("[a-z]{2}: ", row)]


@pytest.fixture(scope="module", name="listed")
def listed_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    rows = [{"given_name": given, "surname": surname} for given, surname in PEOPLE]
    return finder_of(tmp_path_factory.mktemp("listed"), rows)


def named(marked: str) -> tuple[str, set[int]]:
    """The text without its marks, and the places of every name."""
    text, places, is_name = "", set[int](), False
    for piece in _MARK.split(marked.replace("\\n", "\n").replace("\\t", "\t")):
        if piece in ("⟦", "⟧"):
            is_name = piece == "⟦"
            continue
        places |= set(range(len(text), len(text) + len(piece))) if is_name else set()
        text += piece
    return text, places


@pytest.mark.parametrize("marked", TEXTS, ids=lambda marked: str(TEXTS.index(marked)))
def test_a_listed_name_is_covered_wherever_it_stands_and_nothing_else(listed: EdmFinder, marked: str) -> None:
    text, names = named(marked)
    covered = {place for finding in found_in(listed, text) for place in range(finding.start, finding.end)}
    assert not _REST.findall("".join(text[place] if place in names - covered else " " for place in range(len(text))))
    assert not [text[place] for place in sorted(covered - names) if text[place].isalpha()]


def test_people_of_one_surname_in_a_row_keep_their_own_values(listed: EdmFinder) -> None:
    text = "Vera Klein and Grace May, Will Hope or Piotr Zieliński; Budi Santoso\nDewi Kusumaningrum"
    found = found_in(listed, text)
    assert [text[finding.start : finding.end] for finding in found] == re.split(r" and | or |, |; |\n", text)
    assert len({finding.value for finding in found}) == len(found)


GLUED = [
    {"given_name": "Anna", "surname": "Kowalczykowa"},
    {"given_name": "Анна", "surname": "Ковальчинская"},
    {"given_name": "Ramón", "surname": "Albarracín Benavides"},
    {"given_name": "عائشة", "surname": "القحطاني"},
]


@pytest.fixture(scope="module", name="glued")
def glued_fixture(tmp_path_factory: pytest.TempPathFactory) -> EdmFinder:
    return finder_of(tmp_path_factory.mktemp("glued"), GLUED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see scan_AnnaKowalczykowa_2.pdf", "AnnaKowalczykowa"),
        ("thanks to #KowalczykowaAnna for this", "KowalczykowaAnna"),
        ("спасибо #АннаКовальчинская за это", "АннаКовальчинская"),
        ("login anna.kowalczykowa failed", "anna.kowalczykowa"),
        ("/home/anna_kowalczykowa/loan", "anna_kowalczykowa"),
        ("user=a_kowalczykowa ok", "a_kowalczykowa"),
        ("user=kowalczykowa.a ok", "kowalczykowa.a"),
        ("from A n n a   K o w a l c z y k o w a today", "A n n a   K o w a l c z y k o w a"),
        ("from A n n a K o w a l c z y k o w a today", "A n n a K o w a l c z y k o w a"),
        ("спросили с А н н о й   К о в а л ь ч и н с к о й об этом", "А н н о й   К о в а л ь ч и н с к о й"),
        ("told **Anna** **Kowalczykowa** so", "Anna** **Kowalczykowa"),
        ("Albarracín Benavides, Ramón", "Albarracín Benavides, Ramón"),
        ("ملف القحطاني، عائشة جاهز", "القحطاني، عائشة"),
    ],
)
def test_a_name_is_found_however_its_words_are_joined(glued: EdmFinder, text: str, expected: str) -> None:
    assert surfaces(glued, text) == [expected]


@pytest.mark.parametrize(
    "text", ["camelCase and HashMap, iPhone", "user=b_kowalczykowaxyz_table", "a b c d e f g h", "x.y.z e.g. this_one"]
)
def test_what_only_looks_joined_is_no_name(glued: EdmFinder, text: str) -> None:
    assert not surfaces(glued, text)


BOMBS = {
    "a listed word": ("longo. ", ("Fiorella", "Longo")),
    "a listed name": ("Fiorella Longo ", ("Fiorella", "Longo")),
    "titles": ("sig.ra Longo ", ("Fiorella", "Longo")),
    "servants": ("عبد الرحمن ", ("عبد الله", "الحداد")),
    "one long word": ("ق", ("عبد الله", "الحداد")),
    "user names": ("f.longo_", ("Fiorella", "Longo")),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_time_grows_with_size_and_no_faster(tmp_path: Path, bomb: str) -> None:
    piece, (given_name, surname) = BOMBS[bomb]
    finder = finder_of(tmp_path, [{"given_name": given_name, "surname": surname}])

    def spend(size: int) -> float:
        text = piece * (size // len(piece))
        begun = time.process_time()
        surfaces(finder, text)
        return time.process_time() - begun

    small = spend(sample_bytes(64 << 10))
    # Four times the text: four times the time if linear, sixteen if quadratic; the rest is for a busy machine.
    assert spend(sample_bytes(256 << 10)) < 9 * small + 0.3
