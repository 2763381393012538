"""Rows of listed people, joint surnames, lower case, glued prefixes: no part of a listed name leaves (issue 15)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from echo_upstream import EchoUpstream
from listed_givens import write_list
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config

from sovctl.gateway.commands.main import main
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.findings.overlaps import around_names
from sovctl.gateway.domain.entities import EntityType

_PEOPLE = [
    ("Callum", "Pemberley"), ("Nigel", "Pemberley"), ("Nigel", "Thistlewood"), ("Imogen", "Quillfeather"),
    ("Rupert", "Quillfeather"), ("Harriet", "Abernathy"), ("Dewi", "Lestari"), ("Peter", "White"),
    ("Тихон", "Заборский"), ("Айгерим", "Сейткалиева"), ("Бекзат", "Сейткалиев"), ("نادر", "البرغوثي"),
]  # fmt: skip
_ROWS = [
    ("Callum T. Pemberley, Nigel B. Thistlewood, Harriet K. Abernathy", ("Callum", "Nigel B.", "Thistlewood")),
    ("Unknown M. Pemberley, Nigel B. Thistlewood, Rupert N. Quillfeather", ("Pemberley", "Thistlewood", "Rupert")),
    ("C. Pemberley, N. Thistlewood, H. Abernathy", ("Pemberley", "Thistlewood", "Abernathy")),
    ("the report of peter white is late with dewi lestari", ("peter white", "dewi lestari")),
    ("We wrote to Imogen and Rupert Quillfeather about the roof.", ("Imogen", "Rupert", "Quillfeather")),
    ("Our guests are Callum, Imogen and Rupert Quillfeather.", ("Callum", "Imogen", "Rupert")),
    ("Please tell them: Фёкла и Тихон Заборские.", ("Тихон", "Заборск")),
    ("Please tell them: Бекзат пен Айгерим Сейткалиевтер.", ("Бекзат", "Айгерим", "Сейткалиев")),
    ("Please tell them: وللبرغوثي نادر.", ("برغوثي", "نادر")),
]


@pytest.fixture(scope="module", name="site")
def site_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LoopbackGateway, EchoUpstream]]:
    folder = tmp_path_factory.mktemp("rows")
    source = write_list(folder / "list.csv", [{"given name": given, "surname": surname} for given, surname in _PEOPLE])
    files = {"index_file": str(folder / "listed.edm"), "key_file": str(folder / "edm.key")}
    command = ["edm", "build", "--out", files["index_file"], "--key-file", files["key_file"], str(source)]
    assert main(command) == 0
    languages = {"name_languages": ["en", "ru", "kk", "ar", "id"]}
    with EchoUpstream() as cloud:
        detect = {"exact_data_match": files}
        with running_gateway(
            write_loopback_config(folder, cloud_port=cloud.port, detect=detect, policy=languages)
        ) as gateway:
            yield gateway, cloud


@pytest.mark.parametrize(("row", "parts"), _ROWS, ids=range(len(_ROWS)))
def test_no_part_of_a_listed_name_leaves(
    site: tuple[LoopbackGateway, EchoUpstream], row: str, parts: tuple[str, ...]
) -> None:
    gateway, cloud = site
    text = f"Please check this for the meeting of the board, and then send it to me.\n{row}"
    status, _, answer = gateway.post(say(text))
    assert (status, json.loads(answer).get("error")) == (200, None)
    sent = cloud.requests[-1]["messages"][-1]["content"]
    assert [part for part in parts if part in sent] == []
    assert json.loads(answer)["choices"][0]["message"]["content"] == text


def test_a_full_name_is_one_token_whatever_is_before_it(site: tuple[LoopbackGateway, EchoUpstream]) -> None:
    gateway, cloud = site
    assert (
        gateway.post(say("Please write to the board: Unknown M. Pemberley, Nigel B. Thistlewood, or to me."))[0] == 200
    )
    assert cloud.requests[-1]["messages"][-1]["content"].count("PERSON_") == 2


def test_a_weaker_reading_keeps_only_the_words_outside_full_names() -> None:
    text = "Anna B. Kowalska, Peter J. Harwood"
    standing = [Finding(0, 16, EntityType.PERSON, 0.95, "a", "R"), Finding(18, 34, EntityType.PERSON, 0.95, "b", "R")]
    weaker = [Finding(8, 26, EntityType.PERSON, 0.5, "c", "W"), Finding(0, 34, EntityType.PERSON, 0.5, "d", "W")]
    assert list(around_names(standing, weaker, text)) == []
    assert [(f.start, f.end) for f in around_names(standing[1:], weaker[:1], text)] == [(8, 16)]
    assert [(f.start, f.end) for f in around_names([], weaker, text)] == [(8, 26), (0, 34)]
