"""The index of listed people: no name in it, whole or not at all, and refused when anything about it is wrong."""

from __future__ import annotations

import base64
import hashlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from anyascii import anyascii
from hypothesis import example, given
from hypothesis import strategies as st
from listed_givens import BUILT_AT, KEY, finder_of, listed_people, surfaces, write_list

from examples import examples
from sovctl.gateway.detect.edm.forms.keys import listed_keys
from sovctl.gateway.detect.edm.index.build import build_index
from sovctl.gateway.detect.edm.index.index import Index
from sovctl.support.errors import InputError, SpecError

ROWS = [
    {
        "id": f"KD-{100_000 + number}",
        "given_name": person.given,
        "surname": person.surname,
        "birth_date": f"19{50 + number}-03-17",
        "account": f"4471-220-{100 + number}",
        "email": f"somebody{number}@example.com",
        "address": f"Lindenallee {100 + number}",
    }
    for number, person in enumerate(listed_people())
]
_CODECS = ("utf-8", "utf-16-le", "utf-16-be", "cp1251", "cp1256", "iso8859-2", "iso8859-9", "koi8-r")


@pytest.fixture(scope="module", name="index")
def index_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    build_index(write_list(folder / "list.csv", ROWS), folder / "listed.edm", KEY, built_at=BUILT_AT)
    return folder / "listed.edm"


def _spellings(value: str) -> set[str]:
    plain = {value, anyascii(value), "".join(c for c in value if c.isalnum())}
    sounds = {key[1:] for word in value.split() for key in listed_keys(word, is_arabic_name=True, is_given=False)}
    every = {form for each in (*plain, *sounds) for form in (each, each.lower(), each.upper(), each.title())}
    return {each for each in every if len(each) >= 5}


def test_no_value_of_the_list_is_in_the_file_in_any_spelling_or_encoding(index: Path) -> None:
    content = index.read_bytes()
    searched = 0
    for row in ROWS:
        for value in row.values():
            for spelling in _spellings(value):
                data = spelling.encode()
                encoded = [spelling.encode(codec, "ignore") for codec in _CODECS]
                encoded += [base64.b64encode(data).rstrip(b"="), data.hex().encode()]
                encoded += [hashlib.new(name, data).digest()[:8] for name in ("md5", "sha1", "sha256", "blake2b")]
                found = [each for each in encoded if len(each) >= 5 and each in content]
                assert not found, f"row {ROWS.index(row)}"
                searched += 1
    assert searched > 1_000


def test_the_same_list_under_another_key_has_other_hashes(index: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.edm"
    build_index(write_list(tmp_path / "list.csv", ROWS), other, bytes(32), built_at=BUILT_AT)
    end = 4096 + 8 * Index.open(index, KEY).header["sizes"]["keys"]
    ours, theirs = ({path.read_bytes()[at : at + 8] for at in range(4096, end, 8)} for path in (index, other))
    assert not ours & theirs


@examples(200)
@given(place=st.integers(0, 2**20), flip=st.integers(1, 255))
@example(place=13, flip=ord(" ") ^ ord("\t"))  # a space of the header: JSON takes either
def test_any_changed_byte_is_found(index: Path, place: int, flip: int) -> None:
    content = bytearray(index.read_bytes())
    content[place % len(content)] ^= flip
    damaged = index.with_name("damaged.edm")
    damaged.write_bytes(content)
    with pytest.raises(InputError, match="expected"):
        Index.open(damaged, KEY)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_shortened_file_is_refused(index: Path, tmp_path: Path, share: float) -> None:
    content = index.read_bytes()
    (tmp_path / "short.edm").write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="expected"):
        Index.open(tmp_path / "short.edm", KEY)


def test_a_file_of_another_key_and_one_that_is_absent_are_refused_by_name(index: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another key"):
        Index.open(index, bytes(32))
    with pytest.raises(InputError, match=r"absent\.edm.*No such file"):
        Index.open(tmp_path / "absent.edm", KEY)


BAD = """id,given_name,surname,birth_date
1,Solveig,Haraldsdottir,1985-02-03
2,Kwabena,Mensah-Boateng,1985-02-03,more
3,Ottilie,,1985-02-03
4,Tamsin,Quimbleby,the third of May
5,Annegret,Öztürkmen,1985-02-03
"""


def test_bad_rows_are_told_by_line_and_never_by_content(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(BAD)
    with pytest.raises(SpecError) as caught:
        build_index(tmp_path / "list.csv", tmp_path / "listed.edm", KEY, built_at=BUILT_AT)
    told = [f"{problem} {problem.hint}" for problem in caught.value.problems]
    assert [line for line in ("line 3", "line 4", "line 5") if any(line in each for each in told)] == [
        "line 3",
        "line 4",
        "line 5",
    ]
    assert not [each for each in told if "line 2:" in each or "line 6" in each]
    for word in ("Kwabena", "Mensah", "Ottilie", "Tamsin", "Quimbleby", "third of May"):
        assert word not in " ".join(told)
    assert not (tmp_path / "listed.edm").exists()


def test_bad_rows_are_left_out_only_when_somebody_says_so(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(BAD)
    out = tmp_path / "listed.edm"
    built = build_index(tmp_path / "list.csv", out, KEY, built_at=BUILT_AT, skip_invalid_rows=True)
    assert [line for line, _ in built.bad] == [3, 4, 5]
    assert built.header["people"] == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"colour,size\nred,9\n", "surnames, full names or companies"),
        (b"surname\n\n\n", "expected rows with names"),
    ],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "list.csv").write_bytes(content)
    with pytest.raises(InputError, match=told):
        build_index(tmp_path / "list.csv", tmp_path / "listed.edm", KEY, built_at=BUILT_AT)


@pytest.mark.parametrize(
    "text",
    [
        "Vorname;Nachname\nAnnegret;Öztürkmen\n",
        'name\n"Öztürkmen, Annegret"\n',
        "ФИО\tномер клиента\nAnnegret Öztürkmen\t1\n",
        "\ufeffgiven name,surname\r\nAnnegret,Öztürkmen\r\n",
    ],
)
def test_headers_of_several_languages_and_delimiters_are_understood(tmp_path: Path, text: str) -> None:
    (tmp_path / "list.csv").write_text(text, encoding="utf-8", newline="")
    build_index(tmp_path / "list.csv", tmp_path / "listed.edm", KEY, built_at=BUILT_AT)
    assert Index.open(tmp_path / "listed.edm", KEY).header["people"] == 1


def test_columns_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("a,b\nAnnegret,Öztürkmen\n", encoding="utf-8")
    columns = {"given_name": "a", "surname": "b"}
    build_index(tmp_path / "list.csv", tmp_path / "listed.edm", KEY, built_at=BUILT_AT, columns=columns)
    with pytest.raises(InputError, match="expected a column c"):
        build_index(tmp_path / "list.csv", tmp_path / "x", KEY, built_at=BUILT_AT, columns={"surname": "c"})


def test_a_build_that_is_killed_leaves_the_old_index_whole(tmp_path: Path) -> None:
    finder_of(tmp_path, [{"given_name": "Annegret", "surname": "Öztürkmen"}])
    before = (tmp_path / "listed.edm").read_bytes()
    (tmp_path / "edm.key").write_text(KEY.hex())
    (tmp_path / "edm.key").chmod(0o600)
    rows = "".join(f"Solveig,Haraldsdottir{number}\n" for number in range(60_000))
    (tmp_path / "large.csv").write_text(f"given_name,surname\n{rows}")
    command = [sys.executable, "-P", "-m", "sovctl.gateway", "edm", "build", "--out", str(tmp_path / "listed.edm")]
    command += ["--key-file", str(tmp_path / "edm.key"), str(tmp_path / "large.csv")]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"20000 rows\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / "listed.edm").read_bytes() == before


def test_readers_of_the_old_index_keep_it_when_a_new_one_takes_its_place(tmp_path: Path) -> None:
    old = finder_of(tmp_path, [{"given_name": "Annegret", "surname": "Öztürkmen"}])
    new = finder_of(tmp_path, [{"given_name": "Tamsin", "surname": "Quimbleby"}])
    text = "Annegret Öztürkmen met Tamsin Quimbleby."
    assert (surfaces(old, text), surfaces(new, text)) == (["Annegret Öztürkmen"], ["Tamsin Quimbleby"])
