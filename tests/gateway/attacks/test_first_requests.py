"""The first requests of a newcomer: text without a sentence leaves if no word of it could be a name (issue 15)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_processes
import yaml
from echo_upstream import EchoUpstream
from hypothesis import given
from hypothesis import strategies as st
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config

from sovctl.gateway.detect.names.given_names import GIVEN_NAMES
from sovctl.gateway.detect.names.nameless import is_nameless

_LEAVE = [
    "test",
    "ping",
    "Hello!",
    "PESEL 44051401359",
    "print('x')",
    "IBAN DE89370400440532013000 EUR 300",
    '{"id": 7}',
]
_STAY = ["Kowalska", "Quandt 4711", "test Quimbleby", "Rose", "J K", "Guten Quandt"]


@pytest.fixture(scope="module", name="site")
def site_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LoopbackGateway, EchoUpstream]]:
    with EchoUpstream() as cloud:
        config = write_loopback_config(
            tmp_path_factory.mktemp("first"),
            cloud_port=cloud.port,
            routes=[{"model": "assistant", "cloud": "cloud"}],
            policy={"name_languages": ["en"]},
        )
        with running_gateway(config) as gateway:
            yield gateway, cloud


@pytest.mark.parametrize("text", _LEAVE, ids=range(len(_LEAVE)))
def test_text_without_a_name_like_word_leaves(site: tuple[LoopbackGateway, EchoUpstream], text: str) -> None:
    gateway, cloud = site
    assert gateway.post(say(text))[0] == 200
    sent = cloud.requests[-1]["messages"][-1]["content"]
    assert all(number not in sent for number in ("44051401359", "DE89370400440532013000"))


@pytest.mark.parametrize("text", _STAY, ids=range(len(_STAY)))
def test_text_with_a_name_like_word_stays_and_the_message_is_of_help(
    site: tuple[LoopbackGateway, EchoUpstream], text: str
) -> None:
    gateway, cloud = site
    before = len(cloud.requests)
    status, _, answer = gateway.post(say(text))
    assert (status, len(cloud.requests)) == (403, before)
    assert b"language" in answer
    assert b"write a whole sentence" in answer or b"policy.name_languages" in answer


@given(st.sampled_from(sorted(GIVEN_NAMES)), st.sampled_from(["", "test ", "IBAN: ", "id 4 "]))
def test_no_given_name_is_nameless(name: str, before: str) -> None:
    assert not is_nameless(before + name.title())


def test_init_turns_the_check_of_answers_on(tmp_path: Path) -> None:
    made = warm_processes.gateway("init", tmp_path / "a", "--cloud", "https://cloud.example/v1")
    assert made.returncode == 0, made.stderr
    route = yaml.safe_load((tmp_path / "a" / "gateway.yaml").read_text())["routes"][0]
    assert route["release"]["identifiers"]["default"] == "mask"
