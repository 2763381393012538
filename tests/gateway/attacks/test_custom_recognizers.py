"""A site's own recognizers, from gateway.yaml and a file: findings leave as tokens, in every worker (issue 15)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from echo_upstream import EchoUpstream
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config
from waiting import until

from sovctl.gateway.commands.main import main

CUSTOMER = {
    "name": "CUSTOMER_NUMBER",
    "patterns": ["K-[0-9]{6,8}"],
    "examples": {"match": ["our customer K-204816"], "no_match": ["the K-20 summit", "AK-204816"]},
}
CASE = {
    "name": "CASE_NUMBER",
    "patterns": ["[0-9]{4}/[0-9]{3}"],
    "context": {"words": ["Aktenzeichen", "file no", "дело", "案号"], "within": 40},
    "examples": {"match": ["Aktenzeichen 2204/118"], "no_match": ["in 2204/118 cases"]},
}
MEMBER = {
    "name": "MEMBER_CARD",
    "entity_type": "ACCOUNT",
    "patterns": ["M[0-9]{8}"],
    "checksum": "luhn",
    "examples": {"match": ["card M79927398"], "no_match": ["card M79927391"]},
}
_MASKED = [{"entity_types": ["CUSTOM/CASE_NUMBER"], "action": "mask"}]
_POLICY = {"entity_types": {"PERSON": "allow"}, "rules": _MASKED}  # the language does not matter then


@pytest.fixture(scope="module", name="cloud")
def cloud_fixture() -> Iterator[EchoUpstream]:
    with EchoUpstream() as cloud:
        yield cloud


def configured(folder: Path, cloud: EchoUpstream, *recognizers: dict[str, Any], **changes: Any) -> Path:
    (folder / "own.yaml").write_text(yaml.safe_dump({"recognizers": [CASE]}))
    detect = {"recognizers": [CUSTOMER, MEMBER, *recognizers], "recognizer_files": [str(folder / "own.yaml")]}
    return write_loopback_config(
        folder, cloud_port=cloud.port, **{"detect": detect, "policy": _POLICY, "workers": 2, **changes}
    )


@pytest.fixture(scope="module", name="gateway")
def gateway_fixture(tmp_path_factory: pytest.TempPathFactory, cloud: EchoUpstream) -> Iterator[LoopbackGateway]:
    with running_gateway(configured(tmp_path_factory.mktemp("own"), cloud)) as gateway:
        yield gateway


def sent(cloud: EchoUpstream) -> str:
    content: str = cloud.requests[-1]["messages"][-1]["content"]
    return content


def answered(gateway: LoopbackGateway, body: dict[str, Any]) -> str:
    status, _, answer = gateway.post(body)
    assert status == 200, answer
    content: str = json.loads(answer)["choices"][0]["message"]["content"]
    return content


def last_request(gateway: LoopbackGateway) -> dict[str, Any]:
    return [record for record in gateway.records() if record["type"] == "gateway.request"][-1]


def test_a_value_leaves_as_a_token_and_comes_back(gateway: LoopbackGateway, cloud: EchoUpstream) -> None:
    text = "Please call the owner of k-2048163 about the open invoice."
    for _ in range(8):  # with two workers
        assert answered(gateway, say(text)) == text
        assert sent(cloud).startswith("Please call the owner of CUSTOM_")
        assert "2048163" not in sent(cloud)
    record = last_request(gateway)
    assert record["entity_types"] == {"CUSTOM": 1}
    assert record["rules"] == {"CUSTOM/CUSTOMER_NUMBER": 1}
    assert record["reasons"][0] == "tokenized:CUSTOM"


@pytest.mark.parametrize(
    "text",
    [
        "Please look at AKTENZEICHEN: 2204/118 again.",
        "Please look at 2204/118, which is our file  no.",
        "Please look at the case 2204/118 (дело).",
        "Please look at 案号2204/118 again.",
        "Please look at Akten\u00adzeichen 2204/118 again.",
        "Please look at Aktenzeichen 2204&#47;118 again.",
    ],
    ids=range(6),
)
def test_context_words_count_in_any_case_and_script(gateway: LoopbackGateway, cloud: EchoUpstream, text: str) -> None:
    answered(gateway, say(text))
    assert "[CUSTOM]" in sent(cloud)
    assert "118" not in sent(cloud)
    assert last_request(gateway)["reasons"][0] == "masked:CUSTOM/CASE_NUMBER"


@pytest.mark.parametrize(
    "text",
    [
        "Please look at 2204/118 again.",
        "Please look at the Aktenzeichens, and at 2204/118 too.",
        f"The Aktenzeichen is {'very ' * 8}hard to find in 2204/118 again.",
        "Please look at Aktenzeichen X2204/118 again.",
    ],
    ids=range(4),
)
def test_without_its_context_a_number_is_no_finding(gateway: LoopbackGateway, cloud: EchoUpstream, text: str) -> None:
    assert answered(gateway, say(text)) == text
    assert sent(cloud) == text


def test_a_checksum_decides(gateway: LoopbackGateway, cloud: EchoUpstream) -> None:
    answered(gateway, say("Please check M79927398 for us today."))
    assert sent(cloud).startswith("Please check ACCOUNT_")
    assert last_request(gateway)["rules"] == {"ACCOUNT/MEMBER_CARD": 1}
    answered(gateway, say("Please check M79927391 for us today."))
    assert sent(cloud) == "Please check M79927391 for us today."


def test_keys_of_json_and_questions_are_context(gateway: LoopbackGateway, cloud: EchoUpstream) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "open", "arguments": '{"fileNo": "2204/118"}'}}
    messages = [
        {"role": "user", "content": "Please open it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"aktenzeichen": "3305/229"}'},
        {"role": "assistant", "content": "Which file no?"},
        {"role": "user", "content": "4406/330"},
    ]
    gateway.post({"model": "assistant", "messages": messages})
    everything = cloud.raw[-1].decode()
    assert not [number for number in ("2204/118", "3305/229", "4406/330") if number in everything]


def test_explain_and_check_name_the_rules(
    gateway: LoopbackGateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "request.json").write_text(json.dumps(say("Please look at K-2048163, file no 2204/118.")))
    assert main(["explain", str(tmp_path / "request.json"), "--config", str(gateway.config), "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert [(each["entity"], each["action"]) for each in explained["rules"]] == [
        ("CUSTOM/CASE_NUMBER", "mask"),
        ("CUSTOM/CUSTOMER_NUMBER", "tokenize"),
    ]
    main(["check", "--config", str(gateway.config), "--json"])
    [detector] = [each for each in json.loads(capsys.readouterr().out) if each["check"] == "detector"]
    assert detector["verdict"] == "PASS"
    assert detector["detail"].endswith("whose examples pass: CUSTOMER_NUMBER, MEMBER_CARD, CASE_NUMBER")


def test_a_changed_file_comes_into_force_and_a_wrong_one_does_not(tmp_path: Path, cloud: EchoUpstream) -> None:
    config = configured(tmp_path, cloud, policy={"name_languages": ["en"]})
    own = tmp_path / "own.yaml"

    def change(recognizer: dict[str, Any]) -> None:
        own.with_suffix(".new").write_text(yaml.safe_dump({"recognizers": [recognizer]}))
        own.with_suffix(".new").replace(own)

    text = "Please look at Aktenzeichen 2204/118 and at Z2204118 again."
    with running_gateway(config) as gateway:
        until(lambda: gateway.log().count('"serving"') == 2, "both workers")
        change({**CASE, "patterns": ["([0-9]{4})/\\1"]})
        until(lambda: b"own.yaml: recognizers[0].patterns[0]" in gateway.get("/readyz")[1], "what is wrong")
        until(lambda: gateway.log().count("reload refused") == 2, "the refusal of both workers")
        answered(gateway, say(text))
        assert "2204/118" not in sent(cloud)
        change({"name": "ZED", "patterns": ["Z[0-9]{7}"], "examples": {"match": ["Z1234567"]}})
        until(lambda: gateway.log().count('"changed": ["detect"]') == 2, "the change in both workers")
        for _ in range(4):
            answered(gateway, say(text))
            assert "2204/118" in sent(cloud)
            assert "Z2204118" not in sent(cloud)


def test_all_problems_are_reported_at_once(
    tmp_path: Path, cloud: EchoUpstream, capfd: pytest.CaptureFixture[str]
) -> None:
    """With place and remedy, and without the texts of the examples."""
    example = "secret sample 12"
    wrong = [
        {**CUSTOMER, "name": "IBAN"},
        {**CUSTOMER, "name": "BEHIND", "patterns": ["(?<=no )[0-9]{6}", "[0-9]{6,}", "[0-9]{0,3}", "[A-Z]{2}"]},
        {**CUSTOMER, "name": "FAILS", "examples": {"match": [example], "no_match": ["K-123456"]}},
        {**CUSTOMER, "name": "WORDS", "patterns": ["[a-z]{3,20}"], "examples": {"match": ["word"]}},
    ]
    own = tmp_path / "more.yaml"
    own.write_text(yaml.safe_dump({"recognizers": [CUSTOMER]}))
    detect = {"recognizers": [CUSTOMER, *wrong], "recognizer_files": [str(own)]}
    config = write_loopback_config(tmp_path, cloud_port=cloud.port, detect=detect)
    assert main(["serve", "--config", str(config)]) != 0
    shown = capfd.readouterr().err
    for place, remedy in {
        "detect.recognizers[0].name": "rename one of them",
        "detect.recognizers[1].name": "SITE_IBAN",
        "detect.recognizers[2].patterns[0]": "use `context` for words around the match",
        "detect.recognizers[2].patterns[1]": "replace `*`, `+` and `{n,}` by a range",
        "detect.recognizers[2].patterns[2]": "require at least one fixed character",
        "detect.recognizers[2].patterns[3]": "require more characters",
        "detect.recognizers[3].examples.match[0]": "correct the example",
        "detect.recognizers[3].examples.no_match[0]": "narrow the patterns",
        "detect.recognizers[4].patterns": "add a fixed prefix",
        f"{own}: recognizers[0].name": "rename one of them",
    }.items():
        assert f"{place}: expected" in shown, place
        assert remedy in shown, remedy
    assert example not in shown


def test_wrong_values_of_a_file_are_reported_together(
    tmp_path: Path, cloud: EchoUpstream, capfd: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        yaml.safe_dump({"recognizers": [{**CASE, "name": "case", "checksum": "crc"}, {**CASE, "pattern": 1}]})
    )
    detect = {"recognizer_files": [str(own), str(tmp_path / "absent.yaml")]}
    config = write_loopback_config(tmp_path, cloud_port=cloud.port, detect=detect)
    assert main(["serve", "--config", str(config)]) != 0
    shown = capfd.readouterr().err
    for place in ("[0].name", "[0].checksum", "[1].pattern"):
        assert f"{own}: recognizers{place}" in shown
    assert "did you mean `patterns`?" in shown
    assert f"{tmp_path / 'absent.yaml'}: expected a readable file" in shown
