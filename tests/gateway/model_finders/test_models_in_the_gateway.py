"""A gateway with a model of the site's own: its names leave as tokens, and what it could not read stays."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from echo_upstream import EchoUpstream
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config
from name_model_givens import KAZAKH, OTHER, UNCUED, model_settings, save_pipeline
from waiting import until

from sovctl.gateway.commands.main import main
from sovctl.gateway.settings import check_settings
from sovctl.support.errors import SpecError


@pytest.fixture(name="sides", scope="module")
def sides_fixture() -> Iterator[tuple[EchoUpstream, EchoUpstream]]:
    with EchoUpstream() as pool, EchoUpstream() as cloud:
        yield pool, cloud


def configured(folder: Path, sides: tuple[EchoUpstream, EchoUpstream], **changes: Any) -> Path:
    pipeline = save_pipeline(folder / "kk", UNCUED, OTHER, f"{OTHER} DE89")
    pool, cloud = sides
    return write_loopback_config(
        folder,
        cloud_port=cloud.port,
        pool_port=pool.port,
        detect={"models": [model_settings(pipeline)]},
        **{"policy": {"name_languages": ["en", "kk"]}, "limits": {"max_body_bytes": 8 << 20}, **changes},
    )


@pytest.fixture(name="gateway", scope="module")
def gateway_fixture(
    tmp_path_factory: pytest.TempPathFactory, sides: tuple[EchoUpstream, EchoUpstream]
) -> Iterator[LoopbackGateway]:
    with running_gateway(configured(tmp_path_factory.mktemp("models"), sides, workers=2)) as gateway:
        yield gateway


def last_request(gateway: LoopbackGateway) -> dict[str, Any]:
    return [record for record in gateway.records() if record["type"] == "gateway.request"][-1]


def test_a_name_that_only_the_model_knows_leaves_as_a_token_and_comes_back(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    status, headers, answer = gateway.post(say(KAZAKH))
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert json.loads(answer)["choices"][0]["message"]["content"] == KAZAKH
    sent = sides[1].requests[-1]["messages"][0]["content"]
    assert "PERSON_" in sent
    assert "Қоңыр" not in sent
    record = last_request(gateway)
    assert record["looked_by"] == ["kk-names"]
    assert record["entity_types"] == {"PERSON": 1}


def test_a_name_that_the_model_took_half_a_number_for_leaves_as_a_token_too(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    text = f"Құрметті әріптестер, мына шотқа қараңыз: {OTHER} DE89 3704 0044 0532 0130 00, бүгін жауап күтеміз."
    _, headers, answer = gateway.post(say(text))
    assert headers["x-sovctl-route"] == "cloud"
    assert json.loads(answer)["choices"][0]["message"]["content"] == text
    sent = sides[1].requests[-1]["messages"][0]["content"]
    assert not any(word in sent for word in (*OTHER.split(), "DE89"))
    assert last_request(gateway)["entity_types"] == {"IBAN": 1, "PERSON": 1}


def test_a_model_is_not_asked_about_other_languages(gateway: LoopbackGateway) -> None:
    gateway.post(say("Please tell me how a letter of credit works and what it costs."))
    assert "looked_by" not in last_request(gateway)


def test_what_the_model_could_not_read_stays_on_prem(
    gateway: LoopbackGateway, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    before = len(sides[1].requests)
    long = "Құжат мәтіні мына жерден басталады және ол өте ұзақ. " * 20_000  # longer than spaCy reads
    status, headers, _ = gateway.post(say(long))
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    assert len(sides[1].requests) == before
    assert last_request(gateway)["reasons"] == ["detector-failed:kk-names"]
    assert '"cause":"ValueError"' in gateway.log().replace(" ", "")
    counted = 'sovctl_gateway_finder_failures_total{cause="ValueError",finder="kk-names"} 1.0'
    until(lambda: counted in gateway.get("/metrics")[1].decode(), "what every worker counted")


def test_check_and_explain_ask_the_model(
    gateway: LoopbackGateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "request.json").write_text(json.dumps(say(KAZAKH)))
    assert main(["explain", str(tmp_path / "request.json"), "--config", str(gateway.config), "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["entity_types"] == {"PERSON": 1}
    assert explained["looked_by"] == ["kk-names"]
    main(["check", "--config", str(gateway.config), "--json"])
    checks = {each["check"]: each for each in json.loads(capsys.readouterr().out)}
    assert checks["models"] == {
        "check": "models",
        "verdict": "PASS",
        "detail": "loaded and tried: kk-names (spacy: kk)",
    }


def test_a_gateway_does_not_start_with_another_model(
    tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream], capfd: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, sides)
    (tmp_path / "kk/more").write_text("x")
    assert main(["serve", "--config", str(config)]) != 0
    assert "expected SHA-256" in capfd.readouterr().err


def test_a_language_that_nobody_covers_is_refused_and_a_model_covers_its_own(
    tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    settings = yaml.safe_load(configured(tmp_path, sides).read_text())
    assert check_settings(settings, tmp_path)
    settings["policy"]["name_languages"] = ["kk", "tr"]
    with pytest.raises(SpecError) as caught:
        check_settings(settings, tmp_path)
    assert "got tr" in str(caught.value.problems[0])


def test_policy_may_name_the_models_rule(tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream]) -> None:
    blocks = {"entity_types": ["PERSON/MODEL_KK_NAMES"], "action": "block"}
    config = configured(tmp_path, sides, policy={"name_languages": ["en"], "rules": [blocks]})
    with running_gateway(config) as gateway:
        status, _, answer = gateway.post(say(KAZAKH))  # which would have stayed: its language is not accepted
    assert status == 403
    assert json.loads(answer)["error"]["code"] == "policy_blocked"


def test_another_model_comes_into_force_while_it_serves_and_a_wrong_one_does_not(
    tmp_path: Path, sides: tuple[EchoUpstream, EchoUpstream]
) -> None:
    config = configured(tmp_path, sides)
    settings = yaml.safe_load(config.read_text())
    other = model_settings(save_pipeline(tmp_path / "other", OTHER))

    def change(model: dict[str, Any], gateway: LoopbackGateway) -> None:
        beside = config.with_suffix(".new")
        beside.write_text(yaml.safe_dump({**settings, "detect": {"models": [model]}}))
        beside.replace(config)
        gateway.process.send_signal(signal.SIGHUP)

    with running_gateway(config) as gateway:
        change({**other, "sha256": "0" * 64}, gateway)
        until(lambda: b"expected SHA-256" in gateway.get("/readyz")[1], "what is wrong")
        gateway.post(say(KAZAKH))
        assert last_request(gateway)["entity_types"] == {"PERSON": 1}
        change(other, gateway)
        until(lambda: '"changed": ["detect"]' in gateway.log(), "the change")
        gateway.post(say(KAZAKH))
        assert last_request(gateway)["entity_types"] == {}
        assert last_request(gateway)["looked_by"] == ["kk-names"]
