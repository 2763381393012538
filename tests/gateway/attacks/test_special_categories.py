"""Special categories of personal data next to an identified person stay on-prem, unless policy names another action."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config

from bench.pii_sets.special_categories import languages, mentions, nameless, others
from sovctl.gateway.commands.explain import explain, in_words
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.special_categories.lexicon import CATEGORIES
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.settings import DetectSettings, load_settings
from sovctl.gateway.surfaces import SURFACES

_CHAT = SURFACES["/v1/chat/completions"]
_FINDER = CachedFinder(make_detector(DetectSettings()))
_ABOUT_A_PERSON = {
    "HEALTH": "Mr. Thomas Harwood was diagnosed with epilepsy last year.",
    "UNION": "Mr. Thomas Harwood is a member of the trade union since 2019.",
    "RELIGION": "Mr. Thomas Harwood is one of the Jehovah's Witnesses in our town.",
    "POLITICS": "The political views of Mr. Thomas Harwood are known to the manager.",
    "SEX_LIFE": "The sexual orientation of Mr. Thomas Harwood is known to the manager.",
    "ETHNIC_ORIGIN": "The ethnic background of Mr. Thomas Harwood was recorded in the file.",
    "GENETIC": "The genetic test of Mr. Thomas Harwood is in the file of the laboratory.",
    "BIOMETRIC": "The iris scan of Mr. Thomas Harwood was taken at the gate this morning.",
    "CRIMINAL": "Mr. Thomas Harwood has a criminal record, as the manager told us.",
}
_BY_IDENTIFIER = "The customer with the e-mail address anna@example.com asked for a leave because she has epilepsy."
_NO_PERSON = "Epilepsy is a disease, and the trade union asked for better treatment of the people that have it."


@pytest.fixture(scope="module", name="site")
def site_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LoopbackGateway, EchoUpstream]]:
    with EchoUpstream() as cloud:
        policy = {
            "name_languages": ["en"],
            "entity_types": {"IP": "allow"},
            "rules": [
                {"entity_types": ["SPECIAL_CATEGORY/UNION"], "action": "allow"},
                {"entity_types": ["SPECIAL_CATEGORY/CRIMINAL"], "action": "block"},
            ],
        }
        folder = tmp_path_factory.mktemp("special")
        with running_gateway(write_loopback_config(folder, cloud_port=cloud.port, policy=policy)) as gateway:
            yield gateway, cloud


def _found(body: dict[str, Any]) -> dict[str, int]:
    inspection = Inspector(_FINDER, _CHAT, max_depth=64).inspect(body)
    return {rule: n for (kind, rule), n in inspection.found.items() if kind is EntityType.SPECIAL_CATEGORY}


def _in(*messages: Any) -> dict[str, int]:
    return _found({"model": "m", "messages": [{"role": "user", "content": each} for each in messages]})


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_next_to_a_person_follows_the_policy(
    site: tuple[LoopbackGateway, EchoUpstream], category: str
) -> None:
    gateway, cloud = site
    before = len(cloud.requests)
    status, _, answer = gateway.post(say(_ABOUT_A_PERSON[category]))
    record = [each for each in gateway.records() if each["type"] == "gateway.request"][-1]
    assert record["entity_types"]["SPECIAL_CATEGORY"] >= 1
    if category == "UNION":
        assert status == 200
        assert len(cloud.requests) == before + 1
        return
    assert len(cloud.requests) == before
    if category == "CRIMINAL":
        assert status == 403
        assert json.loads(answer)["error"]["code"] == "policy_blocked"
        assert record["reasons"] == ["entity-type-blocked:SPECIAL_CATEGORY/CRIMINAL"]
    else:
        assert status == 503  # the pool of this gateway is not there
        assert record["reasons"] == ["entity-type-on-prem:SPECIAL_CATEGORY"]


def test_text_without_a_person_leaves(site: tuple[LoopbackGateway, EchoUpstream]) -> None:
    gateway, cloud = site
    assert gateway.post(say(_NO_PERSON))[0] == 200
    assert cloud.requests[-1]["messages"][-1]["content"] == _NO_PERSON


def test_an_identifier_of_a_person_counts_as_a_person(site: tuple[LoopbackGateway, EchoUpstream]) -> None:
    gateway, cloud = site
    before = len(cloud.requests)
    assert gateway.post(say(_BY_IDENTIFIER))[0] == 503
    assert len(cloud.requests) == before


def test_explain_shows_category_and_rule(site: tuple[LoopbackGateway, EchoUpstream], tmp_path: Path) -> None:
    gateway, _ = site
    request = tmp_path / "request.json"
    request.write_text(json.dumps(say(_ABOUT_A_PERSON["HEALTH"])))
    shown = "\n".join(
        in_words(explain(load_settings(gateway.config), request, client="loopback", path="/v1/chat/completions"))
    )
    assert "SPECIAL_CATEGORY/HEALTH: on-prem, by the default of SPECIAL_CATEGORY" in shown
    assert "epilepsy" not in shown


def test_parts_of_a_message_and_its_keys_are_read_together() -> None:
    parts = [{"type": "text", "text": "The file of Mr. Thomas Harwood."}, {"type": "text", "text": "He has epilepsy."}]
    assert _in(parts) == {"HEALTH": 1}
    assert _in("The file of Mr. Thomas Harwood.", "This patient has epilepsy.") == {}
    call = {"name": "save", "arguments": json.dumps({"customer_name": "Anna Kowalska", "religion": "Hindu"})}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    assert _found({"model": "m", "messages": [message]}) == {"RELIGION": 1}


def test_a_name_that_is_a_word_of_a_category_is_no_mention() -> None:
    assert _in("Sehr geehrte Frau Monika Brustkrebs, vielen Dank für Ihren Brief.") == {}


@pytest.mark.parametrize("language", languages())
def test_the_generated_sets_keep_their_bars(language: str) -> None:
    positive = list(mentions(language, documents=120, seed=31))
    assert sum(each["categories"][0] in _in(each["text"]) for each in positive) >= 0.9 * len(positive)
    for make in (others, nameless):
        texts = [each["text"] for each in make(language, documents=60, seed=31)]
        words = sum(len(text.split()) for text in texts)
        assert sum(sum(_in(text).values()) for text in texts) < 2 * words / 1000
