"""Identifiers in every disguise are found, and exactly where they stand in the text as it was written."""

from __future__ import annotations

import base64
import html
import quopri
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.structured_finder import StructuredFinder
from sovctl.gateway.detect.text.base64_hex import decoded_runs
from sovctl.gateway.detect.text.deobfuscation import _signs, plain, views
from sovctl.gateway.detect.text.escapes import UNDOINGS
from sovctl.gateway.detect.text.view import NormalizedText

DETECTOR = Detector([StructuredFinder(phone_regions=["DE", "GB", "US"])])

PLAIN = {
    "EMAIL": ("anna.kowalska@example.com", "anna.kowalska@example.com"),
    "IBAN": ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
    "CARD": ("4111 1111 1111 1111", "4111111111111111"),
    "PL_PESEL": ("44051401359", "44051401359"),
    "PHONE": ("+49 30 901820", "+4930901820"),
}

FULL_WIDTH = str.maketrans({chr(c): chr(c + 0xFEE0) for c in range(0x21, 0x7F)})
MATHEMATICAL = str.maketrans(
    {chr(48 + d): chr(0x1D7CE + d) for d in range(10)}
    | {chr(97 + c): chr(0x1D5BA + c) for c in range(26)}
    | {chr(65 + c): chr(0x1D5A0 + c) for c in range(26)}
)
CYRILLIC = str.maketrans("aeopcxyABEKMHOPCTX", "аеорсхуАВЕКМНОРСТХ")
GREEK = str.maketrans("oABEZHIKMNOPTYX", "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")


def digits_from(zero: str) -> Callable[[str], str]:
    return lambda text: text.translate({48 + d: chr(ord(zero) + d) for d in range(10)})


def percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


DISGUISES: dict[str, Callable[[str], str]] = {
    "zero-width space": "\u200b".join,
    "zero-width joiner": "\u200d".join,
    "soft hyphen": "\u00ad".join,
    "word joiner": "\u2060".join,
    "BiDi marks": lambda text: "\u202a" + "\u200e".join(text) + "\u202c",
    "variation selectors": "\ufe0f".join,
    "byte order mark": "\ufeff".join,
    "full width": lambda text: text.translate(FULL_WIDTH),
    "mathematical": lambda text: text.translate(MATHEMATICAL),
    "Arabic-Indic digits": digits_from("\u0660"),
    "Persian digits": digits_from("\u06f0"),
    "Devanagari digits": digits_from("\u0966"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "narrow spaces": lambda text: text.replace(" ", "\u202f"),
    "Cyrillic letters": lambda text: text.translate(CYRILLIC),
    "Greek letters": lambda text: text.translate(GREEK),
    "percent": percent,
    "percent, small": lambda text: percent(text).lower(),
    "percent twice": lambda text: percent(text).replace("%", "%25"),
    "HTML decimal": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "HTML hexadecimal": lambda text: "".join(f"&#x{ord(c):x};" for c in text),
    "HTML named": lambda text: text.replace("@", "&commat;").replace(".", "&period;").replace("+", "&plus;"),
    "HTML twice": lambda text: html.escape("".join(f"&#{ord(c)};" for c in text)),
    "percent in HTML": lambda text: percent(text).replace("%", "&percnt;"),
    "HTML without semicolons": lambda text: "".join(f"&#{ord(c):04}" for c in text),
    "octal": lambda text: "".join(f"\\{ord(c):03o}" for c in text),
    "CSS": lambda text: "".join(f"\\{ord(c):06x}" for c in text),
    "null bytes": "\x00".join,
    "colours of a terminal": lambda text: f"{text[:5]}\x1b[31m{text[5:9]}\x1b[0m{text[9:]}",
    "struck through": "\u0336".join,
    "JSON": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "JavaScript": lambda text: "".join(f"\\u{{{ord(c):x}}}" for c in text),
    "Python": lambda text: "".join(f"\\x{ord(c):02x}" for c in text),
    "quoted-printable": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "quoted-printable, at and digits": lambda text: (
        quopri.encodestring(text.replace("@", "\x01").encode()).decode().replace("=01", "=40")
    ),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a sentence": lambda text: base64.b64encode(f"please write to {text} today".encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(f"??>>~ {text}".encode()).decode().rstrip("="),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "JSON escapes, encoded twice": lambda text: "".join(f"\\\\u{ord(sign):04x}" for sign in text),
    "JSON escapes, encoded three times": lambda text: "".join(f"\\\\\\\\u{ord(sign):04x}" for sign in text),
    "base64 over lines": lambda text: base64.encodebytes(f"{'x' * 60} {text} {'x' * 60}".encode()).decode().strip(),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal pairs": lambda text: text.encode().hex(" "),
    "characters apart": lambda text: " ".join(text.replace(" ", "")),
    "characters on lines": lambda text: "\n".join(text.replace(" ", "")),
    "characters between hyphens": lambda text: "-".join(text.replace(" ", "")),
}


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguised_identifier_is_found_whole(name: str, kind: str) -> None:
    written, value = PLAIN[kind]
    disguised = DISGUISES[name](written)
    text = f"Please see {disguised} here."
    found = [f for f in DETECTOR.find(text) if f.value == value]
    assert found, name
    start, end = 11, 11 + len(disguised)
    # Marks at the ends are nobody's, so they need not be part of it; nor need padding.
    seen = text[found[0].start : found[0].end]
    assert start <= found[0].start
    assert found[0].end <= end
    assert disguised.strip("\u202a\u202c\u200e\ufe0f=") == seen.strip("\u202a\u202c\u200e\ufe0f=")


@pytest.mark.parametrize("before", ["?q=", "/", "/x/", "?a=b&q=", "#", "/id-", "token="])
@pytest.mark.parametrize("kind", PLAIN)
def test_base64_is_decoded_within_links(before: str, kind: str) -> None:
    written, value = PLAIN[kind]
    encoded = base64.b64encode(written.encode()).decode()
    assert value in [each.value for each in DETECTOR.find(f"see https://a.example{before}{encoded} here")]


@pytest.mark.parametrize(
    "written",
    [
        "4111.1111.1111.1111",
        "4111\t1111\t1111\t1111",
        "4111-1111\n1111-1111",
        "41 11 11 11 11 11 11 11",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1",
        "411111111111\n1111",
        "4111 - 1111 - 1111 - 1111",
        "4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1",
        "'4' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1' + '1'"[1:-1],
        "4111****1111****1111****1111",
        "4111<b>1111</b>1111<!-- -->1111",
        "4111\\,1111\\,1111\\,1111",
        "4111\u00b71111\u00b71111\u00b71111",
        '4111111" + "111111111',
        "4111111\n> 111111111",
        "\ufe0f\u20e3".join("4111111111111111"),
        "four one one one one one one one, one one one one one one one one",
        "vier " + "eins " * 14 + "eins",
        "четыре " + "один " * 14 + "один",
        "cuatro " + "uno " * 14 + "uno",
        "4\u03361\u03361\u03361\u0336 1111 1111 1111",
    ],
)
def test_digits_are_found_however_they_are_split(written: str) -> None:
    (finding,) = DETECTOR.find(f"the number {written}, see above")
    assert (finding.rule, finding.value) == ("CARD", "4111111111111111")
    assert (finding.start, finding.end) == (11, 11 + len(written))


@pytest.mark.parametrize(
    "written",
    [
        "anna (at) example.com",
        "anna [at] example [dot] com",
        "anna{at}example{dot}com",
        "anna at example dot com",
        "anna AT example DOT co DOT uk",
        "anna arroba example punto com",
        "anna chiocciola example punto com",
        "anna собака example точка com",
        "anna małpa example kropka com",
        "anna @ example . com",
        "anna@ example.com",
        "anna @ example.com",
        "anna(@)example.com",
        "anna@example\u3002com",
    ],
)
def test_spelled_out_addresses_are_found(written: str) -> None:
    (finding,) = DETECTOR.find(f"write to {written}, please")
    assert (finding.rule, finding.value[:4]) == ("EMAIL", "anna")
    assert (finding.start, finding.end) == (9, 9 + len(written))


@pytest.mark.parametrize(
    "text",
    [
        "Пожалуйста, подтвердите перевод в отдел IT-поддержки и сообщите клиенту о результатах проверки.",
        "meet me at home dot everything will be fine",
        "Das ist der Punkt. Er kommt at home an, punkt zwölf.",
        "El punto es que la reunión es a las diez.",
        "internationalization/of/electroencephalographically_named-things",
        "x=10&y=20;z=%zz &nosuchentity; \\u00zz \\x4 =ZZ",
        "100% sure, 50%25 off",
        "1 2 3 4 5 6 7 8 9 10 11 12",
        "a b c d e f g h i j k",
        "a, b, c, d, e, f, g, h and then 1, 2, 3, 4, 5, 6, 7, 8, 9",
        "one two three four: we count, and one of the two or three is **12** of <b>30</b>",
        "assert compute(326, x=4092.10) == 142609683",
    ],
)
def test_prose_that_resembles_a_disguise_is_left_alone(text: str) -> None:
    assert DETECTOR.find(text) == []


def test_russian_prose_keeps_its_letters() -> None:
    text = "Счёт ООО «Ромашка» в IT-отделе: версия x86-сервера, код СССР."
    assert [view.text for view in views(text)] == [text]


@pytest.mark.parametrize("undoing", UNDOINGS, ids=lambda undoing: undoing.name)
@given(text=st.text(st.sampled_from("%&#\\ux40;=@. anbcAE\u0430\u0415(at)dot1\n"), max_size=60))
@examples(60)
def test_what_undoes_a_disguise_gives_edits_in_order(undoing: object, text: str) -> None:
    edits = undoing.edits(text)  # type: ignore[attr-defined]
    assert edits == sorted(edits)
    position = 0
    for start, end, _ in edits:
        assert position <= start < end <= len(text)
        position = end


# Pieces of which disguises are made: digits, letters, marks, words for digits, runs.
PIECES = [
    *("4", "1", "a", "B", "@", ".", "+", " ", "  ", "\n", "-", ",", "_", "|", "'", '"', "=", "%40", "&#64;", "\\u0040"),
    *(
        "**",
        "<b>",
        "</b>",
        "<span class=x>",
        "<!-- x -->",
        "\\,",
        "\n> ",
        '" + "',
        "\u00b7",
        "\u3002",
        "\x07",
        "\x1b[1m",
    ),
    *("one ", "Six, ", "ACHT ", "f\u00fcnf-", "\u0434\u0432\u0430 ", "um\n", "(at)", "[ dot ]", " dot ", "com"),
    *("\u0430", "\u0415", "YW5uYUBleGFtcGxlLmNvbQ==", "YW5uYUBhLmNvbQ==", "616e6e61406578616d706c652e636f6d", "0x"),
    *("61 6e 6e 61 40 78 2e 64", "61:6e:6e:61:40:78:2e:64", "identification", "DE36150367245457070922"),
]


# Undone only in a text that has a sign of an identifier as well: a digit beside the mark, a byte that spells one.
CHOOSY = {"markup in a number", "look-alike letters", "quoted-printable"}


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
@example("61 6e 6e 61 40 78 2e 64@0x")
@examples(400)
def test_no_undoing_and_no_run_is_missed_by_the_scan_before_it(text: str) -> None:
    view = NormalizedText(text)
    wanted, places, _ = _signs(view)
    needed = {index for index, undoing in enumerate(UNDOINGS) if undoing.edits(text)}
    assert {index for index in needed if UNDOINGS[index].name not in CHOOSY} <= wanted
    assert decoded_runs(text, places) == decoded_runs(text, range(len(text)))


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    text = draw(st.text(min_size=1, max_size=40))
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    return text, [(start, end, draw(st.text(max_size=3))) for start, end in pairs]


@given(edited(), st.data())
def test_a_view_knows_where_every_character_comes_from(
    case: tuple[str, list[tuple[int, int, str]]], data: st.DataObject
) -> None:
    text, edits = case
    view = NormalizedText(text).replaced(edits)
    expected: list[tuple[int, int]] = []
    shown: list[str] = []
    position = 0
    for start, end, new in [*edits, (len(text), len(text), "")]:
        expected += [(place, place + 1) for place in range(position, start)]
        shown += text[position:start]
        expected += [(start, end)] * len(new)
        shown += new
        position = end
    assert view.text == "".join(shown)
    if view.text:
        first = data.draw(st.integers(0, len(view.text) - 1))
        last = data.draw(st.integers(first, len(view.text) - 1))
        assert view.span(first, last + 1) == (expected[first][0], expected[last][1])
        again = view.replaced([(first, last + 1, "??")])
        at = again.text.index("??", first)
        assert again.span(at, at + 2) == view.span(first, last + 1)


@given(st.text(max_size=80))
@examples(300)
def test_every_view_leads_back_into_the_text(text: str) -> None:
    for view in views(text):
        for place in range(len(view.text)):
            start, end = view.span(place, place + 1)
            assert 0 <= start < end <= len(text)


@given(st.text(max_size=80))
def test_a_plain_view_is_plain(text: str) -> None:
    view = plain(NormalizedText(text))
    assert plain(NormalizedText(view.text)).text == view.text


def test_what_is_encoded_hides_nothing_of_what_is_encoded_elsewhere() -> None:
    card, other = (base64.b64encode(each).decode() for each in (b"5533 1626 1242 8055", b"DE73 2890 8471 2853 44"))
    assert "5533162612428055" in [finding.value for finding in DETECTOR.find(f"{card} and {other}")]


@pytest.mark.parametrize("blank", ["%20", "&#32;", "\\u0020", "\\x20"])
@pytest.mark.parametrize("iban", ["IT98 S005 1045 8597 7257 4276 426", "IT70 I162 5021 2887 6285 9764 164"])
def test_letters_of_an_escaped_iban_are_not_read_as_digits(iban: str, blank: str) -> None:
    written = iban.replace(" ", blank)
    found = DETECTOR.find(f"sent to {written} today")
    assert [(f.value, f.start, f.end) for f in found] == [(iban.replace(" ", ""), 8, 8 + len(written))]
