"""The detector: every kind with its checksum, disguises, and what must be left alone.

Specimens are published test values or made for this file; none belongs to a person.
"""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from cpu_time import least_cpu_s
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect import Finding, make_detector
from sovctl.gateway.detect.findings.overlaps import resolve
from sovctl.gateway.detect.text.deobfuscation import plain
from sovctl.gateway.detect.text.view import NormalizedText
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings import DetectSettings

DETECTOR = make_detector(DetectSettings(phone_regions=["AE", "DE", "FR", "GB", "IN", "US"]))


def found(text: str) -> list[tuple[str, str]]:
    return [(finding.entity_type.value, text[finding.start : finding.end]) for finding in DETECTOR.find(text)]


NATIONAL = {
    "AE Emirates ID": "784-1985-0000004-1",
    "BE register": "85.07.30-033.28",
    "BR CPF": "529.982.247-25",
    "CA SIN": "130-692-544",
    "CH AHV": "756.9217.0769.85",
    "CZ birth number": "736028/5163",
    "DE social security": "15070649C103",
    "DE tax id": "86095742719",
    "ES NIE": "X1234567L",
    "ES NIF": "12345678Z",
    "FI": "131052-308T",
    "FR NIR": "2 55 08 14 168 025 38",
    "ID NIK": "3171014502850001",
    "IN Aadhaar": "2341 2341 2346",
    "IN PAN": "ABCPE1234F",
    "IT fiscal code": "RSSMRA85T10A562S",
    "KR RRN": "900101-1234568",
    "KZ IIN": "850607300006",
    "NO": "01028500110",
    "PL PESEL": "44051401359",
    "RO CNP": "1800101221144",
    "RU INN": "500100732259",
    "RU SNILS": "112-233-445 95",
    "SE": "811218-9876",
    "SG NRIC": "S1234567D",
    "TH": "1-1017-00230-70-8",
    "TR": "10000000146",
    "UK NINO": "AB 12 34 56 C",
    "US ITIN": "900-70-0000",
    "US SSN": "536-90-4399",
    "ZA": "8001015009087",
}


@pytest.mark.parametrize("name", NATIONAL)
def test_national_ids_are_found_and_told_from_their_neighbours(name: str) -> None:
    value = NATIONAL[name]
    for text in (f"Please see {value}, thank you", f"({value})", f"id={value}\nnext", value):
        assert ("NATIONAL_ID", value) in found(text)


@pytest.mark.parametrize(
    "name",
    sorted(set(NATIONAL) - {"IN PAN", "UK NINO", "US ITIN", "US SSN", "KR RRN", "ID NIK"}),  # these have no check digit
)
def test_a_national_id_with_a_wrong_check_digit_is_not_one(name: str) -> None:
    value = NATIONAL[name]
    last = value[-1]
    (rule,) = {finding.rule for finding in DETECTOR.find(f"Please see {value} now")}
    for other in ("0123456789" if last.isdigit() else "ABCDEFGHJKLMNPQRSTUVWXYZ").replace(last, ""):
        # Another scheme may happen to fit.
        assert rule not in {finding.rule for finding in DETECTOR.find(f"Please see {value[:-1]}{other} now")}


@pytest.mark.parametrize(
    ("word", "number", "kind"),
    [
        ("NHS", "943 476 5919", "HEALTH_ID"),
        ("BSN", "111222333", "NATIONAL_ID"),
        ("INN", "7707083893", "TAX_ID"),
        ("iqama", "1023456708", "NATIONAL_ID"),
        ("SIN", "130692544", "NATIONAL_ID"),
        ("ID card", "1101700230708", "NATIONAL_ID"),
    ],
)
def test_weak_numbers_need_their_word(word: str, number: str, kind: str) -> None:
    assert (kind, number) in found(f"the {word} is {number}")
    assert found(f"the amount is {number}") == []


@pytest.mark.parametrize(
    "text",
    [
        "schedule of section 2.2. hey, quick one, is DEUTDEFF still the right BIC for them",
        "le passeport est désormais AB2607686. La commande 65725071 attend",
    ],
)
def test_an_order_speaks_of_one_number_and_in_one_sentence(text: str) -> None:
    assert len(found(text)) == 1


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("pay DE89370400440532013000 now", "IBAN", "DE89370400440532013000"),
        ("pay DE89 3704 0044 0532 0130 00 now", "IBAN", "DE89 3704 0044 0532 0130 00"),
        ("pay de89 3704 0044 0532 0130 00", "IBAN", "de89 3704 0044 0532 0130 00"),
        ("BE68539007547034 thank you", "IBAN", "BE68539007547034"),
        ("GB82-WEST-1234-5698-7654-32 ok", "IBAN", "GB82-WEST-1234-5698-7654-32"),
        ("AE070331234567890123456 and", "IBAN", "AE070331234567890123456"),
        ("card 4111111111111111", "CARD", "4111111111111111"),
        ("card 4111 1111 1111 1111 123", "CARD", "4111 1111 1111 1111"),
        ("4000 4111-1111-1111-1111", "CARD", "4111-1111-1111-1111"),
        ("amex 3782 822463 10005 exp", "CARD", "3782 822463 10005"),
        ("mc 2223003122003222", "CARD", "2223003122003222"),
        ("to anna@example.com.", "EMAIL", "anna@example.com"),
        ("<anna.o'neil+x@mail.example.org>", "EMAIL", "anna.o'neil+x@mail.example.org"),
        ("anna@bank.internal", "EMAIL", "anna@bank.internal"),
        ("anna@bücher.example", "EMAIL", "anna@bücher.example"),
        ("mail=anna@example.com&x=1", "EMAIL", "anna@example.com"),
        ("ip 192.0.2.17:443", "IP", "192.0.2.17"),
        ("ip 2001:db8::8a2e:370:7334 up", "IP", "2001:db8::8a2e:370:7334"),
        ("call +49 30 901820", "PHONE", "+49 30 901820"),
        ("call (212) 555-0123 today", "PHONE", "(212) 555-0123"),
        ("call 020 7946 0958", "PHONE", "020 7946 0958"),
        ("call 030 901820", "PHONE", "030 901820"),
        ("01.23.45.67.89 06.12.34.56.78", "PHONE", "06.12.34.56.78"),
        ("030 901820\t12\t7", "PHONE", "030 901820"),
        ("030\t901820", "PHONE", "030\t901820"),
        ("key AKIAIOSFODNN7EXAMPLE", "SECRET", "AKIAIOSFODNN7EXAMPLE"),
        ("password: hunter2hunter", "SECRET", "hunter2hunter"),
        ("postgres://app:s3cr3tpw@db", "SECRET", "s3cr3tpw"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "SECRET", "abcdefghijklmnopqrstuvwxyz"),
        ("Dear Mr. Ola Nordmann,", "PERSON", "Ola Nordmann"),
        ("my name is Kari van der Berg and", "PERSON", "Kari van der Berg"),
        ('{"customer_name": "Kari Nordmann"}', "PERSON", "Kari Nordmann"),
        ("Best regards,\nPer Hansen", "PERSON", "Per Hansen"),
    ],
)
def test_identifiers_are_found_whole(text: str, kind: str, value: str) -> None:
    assert (kind, value) in found(text)


def test_a_private_key_is_one_secret() -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"] * 20)
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    assert found(f"use {key} here") == [("SECRET", key)]


@pytest.mark.parametrize(
    ("label", "headers"),
    [
        ("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF"),
        ("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\nComment: made on a work-station"),
    ],
)
def test_a_private_key_with_headers_is_one_secret(label: str, headers: str) -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"] * 20)
    key = f"-----BEGIN {label}-----\n{headers}\n\n{body}\n-----END {label}-----"
    assert found(f"use {key} here") == [("SECRET", key)]


@pytest.mark.parametrize(
    "text",
    [
        "order 9280345612 and invoice no. 20240117 of build 4815162342",
        "version 1.2.3.4, released 2024-11-21 at 10:30:00",
        "call main.py with foo@bar and @property",
        "It costs 1,234,567.89 EUR or 12 500 000 in total",
        "std::vector<int> a; x::y::z(1)",
        "Hello World. Dear Sir or Madam, Hi Team, thank you. Best regards",
        "The pass rate was 95 percent; the key point is the token ring.",
        "Chapter 12, section 3.4.5, page 1024 of 2048",
        "It is 3 o'clock: 15:00:00 UTC",
        "757.98 568.83 998.42 887.53 336.76\n586.19 955.85 497.60 679.02 144.13",
        "947\t573\t882\t456\t20\n433\t993\t221\t178\t26",
        "",
        " \n\t",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "disguised",
    [
        "anna\u200b@exa\u2060mple.com",
        "anna@exam\u00adple.com",
        "\uff41nna\uff20example.com",
        "anna\\u0040example.com",
        "anna%40example.com",
        "anna&#64;example.com",
        "anna&#x40;example.com",
        "anna&commat;example.com",
    ],
)
def test_disguised_addresses_are_found_where_they_stand(disguised: str) -> None:
    (finding,) = DETECTOR.find(f"to {disguised} now")
    assert (finding.start, finding.end) == (3, 3 + len(disguised))
    assert finding.value == "anna@example.com"


@pytest.mark.parametrize(
    "digits",
    ["\uff14\uff11\uff11\uff11" + "\uff11" * 12, "\u0664" + "\u0661" * 15, "4111\u00a01111\u20091111\u202f1111"],
)
def test_digits_of_any_script_and_odd_spaces_are_digits(digits: str) -> None:
    (finding,) = DETECTOR.find(digits)
    assert (finding.entity_type, finding.value) == (EntityType.CARD, "4111111111111111")


@given(st.text(max_size=200))
@examples(300)
def test_any_text_gives_sorted_spans_that_do_not_overlap(text: str) -> None:
    findings = DETECTOR.find(text)
    assert findings == DETECTOR.find(text)
    for before, after in itertools.pairwise(findings):
        assert before.end <= after.start
    assert all(0 <= f.start < f.end <= len(text) for f in findings)


@given(st.text(max_size=60))
def test_a_view_leads_back_to_the_original(text: str) -> None:
    view = plain(NormalizedText(text))
    spans = [view.span(index, index + 1) for index in range(len(view.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    for character, (start, end) in zip(view.text, spans, strict=True):
        if end - start == 1 and text[start] < "\x7f":
            assert character == text[start]


@given(st.permutations(range(6)), st.data())
def test_overlaps_are_settled_the_same_in_any_order(order: list[int], data: st.DataObject) -> None:
    spans = data.draw(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10)), min_size=6, max_size=6))
    kinds = data.draw(st.lists(st.sampled_from(list(EntityType)), min_size=6, max_size=6))
    findings = [Finding(s, s + n, k, 0.5, "v", str(i)) for i, ((s, n), k) in enumerate(zip(spans, kinds, strict=True))]
    kept = resolve(findings)
    assert kept == resolve([findings[index] for index in order])
    assert max(f.end - f.start for f in findings) == max(f.end - f.start for f in kept)


def test_findings_never_show_their_value() -> None:
    (finding,) = DETECTOR.find("anna@example.com")
    assert "anna" not in repr(finding)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "1",
            "@",
            "a@",
            "1 ",
            ".",
            "-",
            "a.",
            "1-",
            ":",
            "a:",
            "<a",
            "Aa ",
            "Mr ",
            "= ",
            "\n",
            "ey",
            "A.b@",
            "%40",
        ),
        *(
            "\\u0040",
            "DE89 ",
            "0 ",
            "12 ",
            "123 ",
            "+1",
            "(",
            "name:",
            "pass:",
            "é",
            "\u200b",
            "https://",
            "://a:b",
            "eyJa.",
            "Aa-",
            "12345678Z ",
        ),
        *(
            "12,",
            "12.34 ",
            "1-2-3-",
            "1234 5678 ",
            "+1 ",
            "1.2.3.4 ",
            "12\n",
            "12 345 6789\n",
            "tel 12\n1 234 5 ",
            "1:2:3:",
        ),
        *(
            "(12) 34 ",
            "00 00 ",
            "12\t345\t",
            "\u0661\u0662 ",
            "\uff11\uff12 ",
            "6c c4 d2 17 ",
            "a1 b2 ",
            "1/2/2024 ",
            "@ ",
        ),
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        return least_cpu_s(lambda: DETECTOR.find(text), rounds=1)

    assert seconds(40_000) < 10 * max(seconds(10_000), 0.05)  # quadratic: sixteenfold, cubic: sixty-four


def test_the_detector_cannot_reach_the_network() -> None:
    program = """
import socket, sys
def refuse(*args, **kwargs):
    print("reached out", args[0] if args else "", flush=True)
    raise OSError("no network")
socket.getaddrinfo = refuse
socket.socket.connect = refuse
from sovctl.gateway.detect import make_detector
from sovctl.gateway.settings import DetectSettings
make_detector(DetectSettings(phone_regions=["US"])).find("to anna@example.com and anna@bank.co.uk, 4111 1111 1111 1111")
heavy = {"spacy", "numpy", "httpx", "requests", "tldextract", "presidio_analyzer"} & set(sys.modules)
assert not heavy, heavy
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
