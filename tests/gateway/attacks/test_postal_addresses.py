"""Postal addresses leave as one token each; a street without a number is not one (issue 15)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from echo_upstream import EchoUpstream
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config

from bench.pii_sets.addresses import addresses, languages, streets
from sovctl.gateway.detect.recognizers.postal_address import AddressFinder
from sovctl.gateway.detect.text.deobfuscation import views

_ADDRESSES = [
    "Lindenstraße 12a, 10969 Berlin",
    "Unter den Linden 77, 10117 Berlin",
    "Flat 4, 17 Queen's Road, Bristol BS8 1QE",
    "1600 Pennsylvania Avenue NW, Washington, DC 20500",
    "45 Maple Drive, Austin, TX 78701",
    "8 bis, avenue des Tilleuls, 69003 Lyon",
    "calle Mayor, 12, 3º B, 28013 Madrid",
    "Via dei Mille 12, 00184 Roma",
    "Rua Augusta, 1500, apto 42, São Paulo - SP, 01304-001",
    "ul. Marszałkowska 104 m. 12, 00-017 Warszawa",
    "Keizersgracht 123, 1015 CJ Amsterdam",
    "Jl. Melati No. 5 RT 02 RW 05, Bandung 40123",
    "119019, г. Москва, ул. Арбат, д. 12, кв. 5",
    "050000, Алматы қ., Абай көшесі 12",
    "Atatürk Caddesi No:12 Daire 4, 34710 Kadıköy/İstanbul",
    "شارع الملك فهد 12، الرياض 12345",
    "Dlouhá 12, 110 00 Praha",
    "P.O. Box 1234, Dubai",
]
_CLEAN = [
    "We walked along Baker Street to the park in 12 minutes.",
    "Er kam auf Platz 3 und ging den Weg 2 km weiter.",
    "See Quandt et al. Smith 2004, sent via DHL 12 days ago.",
    "In 2024, 12000 Euro were paid, and 3 Supreme Court judges agreed.",
    "Am 12. Mai 2024 10115 Euro, Seite 12.",
]


def found(text: str) -> list[str]:
    """The addresses in a text."""
    return [text[each.start : each.end] for each in AddressFinder().find(views(text)[0], [])]


@pytest.fixture(scope="module", name="site")
def site_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LoopbackGateway, EchoUpstream]]:
    with EchoUpstream() as cloud:
        config = write_loopback_config(tmp_path_factory.mktemp("addresses"), cloud_port=cloud.port)
        with running_gateway(config) as gateway:
            yield gateway, cloud


def test_every_address_leaves_as_one_token(site: tuple[LoopbackGateway, EchoUpstream]) -> None:
    gateway, cloud = site
    for address in _ADDRESSES[:9]:
        text = f"Please send the new card to this customer at {address}."
        status, _, answer = gateway.post(say(text))
        assert status == 200
        sent = cloud.requests[-1]["messages"][-1]["content"]
        assert sent.startswith("Please send the new card to this customer at ADDRESS_")
        assert len(sent) < 80
        assert json.loads(answer)["choices"][0]["message"]["content"] == text


@pytest.mark.parametrize("address", _ADDRESSES, ids=range(len(_ADDRESSES)))
def test_an_address_is_found_whole(address: str) -> None:
    assert found(address) == [address]


@pytest.mark.parametrize("text", _CLEAN, ids=range(len(_CLEAN)))
def test_streets_and_numbers_alone_are_no_address(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("language", languages())
def test_the_generated_sets_keep_their_bars(language: str) -> None:
    positive, clean = addresses(language, documents=80, seed=23), streets(language, documents=80, seed=23)
    missed = sum(not found(document["text"]) for document in positive)
    assert missed <= 1  # 2 %
    texts = [document["text"] for document in clean]
    words = sum(len(text.split()) for text in texts)
    assert sum(len(found(text)) for text in texts) < 2 * words / 1000
