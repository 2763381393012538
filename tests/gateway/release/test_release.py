"""A real gateway that checks answers before its client sees them."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import pytest
from echo_upstream import EchoUpstream
from surface_givens import API_KEY
from waiting import until

IBAN, OTHER_IBAN = "DE89370400440532013000", "FR1420041010050500013M02606"
PASSAGES = "Use these and cite them:\n[1] Deposits earn 4 % a year.\n[2] Early withdrawal costs 50 euro."
QUESTION = f"Please tell me what my deposit on {IBAN} earns"
PHRASES = "# reviewed\ninsider trading\n"


@pytest.fixture(name="checked", scope="module")
def checked_fixture(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    phrases = tmp_path_factory.mktemp("lists") / "topics"
    phrases.write_text(PHRASES)
    forbidden = {
        "name": "topics",
        "file": str(phrases),
        "sha256": hashlib.sha256(PHRASES.encode()).hexdigest(),
        "on_failure": "refuse",
    }
    ways = {"pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"}
    gateway = start(
        routes=[
            {"model": "cited", **ways, "release": {"citations": {"on_failure": "refuse"}}},
            {
                "model": "masked",
                **ways,
                "release": {"identifiers": {"default": "mask"}, "forbidden": [forbidden], "json_schema": {}},
            },
            {"model": "assistant", **ways},
        ]
    )
    gateway.phrases = phrases
    return gateway


def ask(gateway: Any, model: str, **more: Any) -> Any:
    messages = [{"role": "system", "content": PASSAGES}, {"role": "user", "content": QUESTION}]
    return gateway.client().chat.completions.with_raw_response.create(model=model, messages=messages, **more)


def says(text: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An upstream that says `text`; TOKEN stands for the client's own identifier as the upstream knows it."""

    def message(body: dict[str, Any]) -> dict[str, Any]:
        token = body["messages"][1]["content"].split(" on ")[1].split(" earns")[0]
        return {"role": "assistant", "content": text.replace("TOKEN", token)}

    return message


def streamed(gateway: Any, model: str, **more: Any) -> tuple[str, str]:
    """What came, and the code with which it ended."""
    text = ""
    try:
        for chunk in ask(gateway, model, stream=True, **more).parse():
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
    except openai.APIStatusError as error:
        return text, error.body["sovctl"]["reason"]  # type: ignore[call-overload, no-any-return, index]
    except openai.APIError as error:
        return text, error.body["code"]  # type: ignore[call-overload, no-any-return, index]
    return text, ""


def last_answer(gateway: Any) -> dict[str, Any]:
    """The ledger's last record of an answer."""
    found: dict[str, Any] = [record for record in gateway.records() if record["type"] == "gateway.answer"][-1]
    return found


def test_an_answer_that_passes_comes_whole_and_its_record_says_so(checked: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says("Your deposit earns 4 % a year. [1] Anything else about TOKEN?")
    expected = f"Your deposit earns 4 % a year. [1] Anything else about {IBAN}?"
    assert ask(checked, "cited").parse().choices[0].message.content == expected
    assert last_answer(checked)["release"] == {"verdicts": {"citations": "PASS"}, "reasons": {}}
    assert streamed(checked, "cited") == (expected, "")
    assert last_answer(checked)["release"] == {"verdicts": {"citations": "PASS"}, "reasons": {}}
    assert "release" not in (ask(checked, "assistant"), last_answer(checked))[1]


def test_an_answer_that_fails_is_refused_with_a_code_and_no_word_of_it(checked: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says("Your secret deposit on TOKEN earns 9 % a year. [1]")
    with pytest.raises(openai.PermissionDeniedError) as caught:
        ask(checked, "cited")
    assert caught.value.body["sovctl"]["reason"] == "answer_withheld"  # type: ignore[index]
    assert "secret" not in str(caught.value)
    record = last_answer(checked)
    assert (record["reason"], record["status"]) == ("answer_withheld", 403)
    assert record["release"]["reasons"] == {"citations:number-unsupported": 1}
    assert 'sovctl_gateway_release_checks_total{check="citations",model="cited",verdict="FAIL"}' in (
        checked.request("GET", "/metrics")[2].decode()
    )


def test_a_stream_ends_at_the_sentence_that_fails(checked: Any, cloud: EchoUpstream) -> None:
    good = "Deposits earn 4 % a year. [1] "
    cloud.script.message = says(good + "They earn 9 % abroad. [1] And more.")
    assert streamed(checked, "cited") == (good, "answer_withheld")
    until(lambda: last_answer(checked)["reason"] == "answer_withheld", "the record")
    cloud.script.message = says("They earn 9 % abroad. [1]")
    assert streamed(checked, "cited") == ("", "answer_withheld")


def test_a_sentence_is_released_before_the_next_one_is_made(checked: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says("Deposits earn 4 % a year. [1] Early withdrawal costs 50 euro. [2]")
    cloud.script.hold = threading.Event()
    stream = ask(checked, "cited", stream=True).parse()
    seen = ""
    for chunk in stream:
        seen += chunk.choices[0].delta.content or ""
        if seen.endswith("[1] "):
            break
    assert not cloud.script.hold.is_set()
    cloud.script.hold.set()
    assert (
        seen + "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
        == cloud.script.message(cloud.requests[-1])["content"]
    )


@pytest.mark.parametrize("pieces", [1, 5, 5000])
def test_identifiers_of_others_are_masked_in_streams_of_any_pieces(
    checked: Any, cloud: EchoUpstream, pieces: int
) -> None:
    cloud.script.piece_bytes = pieces
    cloud.script.message = says(f"Not {OTHER_IBAN}, but TOKEN.")
    expected = f"Not [IBAN], but {IBAN}."
    assert streamed(checked, "masked") == (expected, "")
    assert ask(checked, "masked").parse().choices[0].message.content == expected
    assert last_answer(checked)["release"] == {
        "verdicts": {"forbidden": "PASS", "identifiers": "WARN"},
        "reasons": {"identifiers:mask:IBAN": 1},
    }


def test_a_forbidden_phrase_is_told_by_its_line(checked: Any, cloud: EchoUpstream) -> None:
    cloud.script.message = says("First. Then we turn to Insider-Trading at last.")
    assert streamed(checked, "masked") == ("First. ", "answer_withheld")
    until(lambda: last_answer(checked)["release"]["reasons"] == {"forbidden:topics:2": 1}, "the record")


def test_an_answer_keeps_the_schema_of_its_request(checked: Any, cloud: EchoUpstream) -> None:
    schema = {"type": "object", "properties": {"iban": {"pattern": "^DE"}}, "required": ["iban"]}
    asked = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}}
    cloud.script.message = says('{"iban": "TOKEN"}')
    assert json.loads(ask(checked, "masked", response_format=asked).parse().choices[0].message.content) == {
        "iban": IBAN
    }
    assert json.loads(streamed(checked, "masked", response_format=asked)[0]) == {"iban": IBAN}
    cloud.script.message = says('{"name": "TOKEN"}')
    assert streamed(checked, "masked", response_format=asked) == ("", "answer_withheld")
    with pytest.raises(openai.PermissionDeniedError):
        ask(checked, "masked", response_format=asked)


def test_a_list_that_changed_without_review_is_refused_and_the_old_one_holds(checked: Any, cloud: EchoUpstream) -> None:
    phrases: Path = checked.phrases
    phrases.write_text("something else\n")
    try:
        until(lambda: b"expected the list with SHA-256" in checked.request("GET", "/readyz")[2], "the refusal")
        cloud.script.message = says("It is insider trading.")
        assert streamed(checked, "masked") == ("", "answer_withheld")
    finally:
        phrases.write_text(PHRASES)
    until(lambda: b"SHA-256" not in checked.request("GET", "/readyz")[2], "the list that was reviewed")


@pytest.mark.parametrize("leaves", [False, True])
def test_the_record_states_the_verdicts_on_an_answer_that_broke_off(
    checked: Any, cloud: EchoUpstream, pool: EchoUpstream, *, leaves: bool
) -> None:
    choices = [{"index": n, "delta": {"content": text}} for n, text in enumerate(["It is done. Next", "It"])]
    cloud.script.raw_stream = b"data: " + json.dumps({"model": "big", "choices": choices}).encode() + b"\n\n"
    pool.script.hold_answer = threading.Event()
    before, asked, counted = len(checked.records()), len(pool.requests), identifier_checks(checked)
    body = {"model": "masked", "stream": True, "n": 2, "messages": [{"role": "user", "content": QUESTION}]}
    connection = http.client.HTTPSConnection("127.0.0.1", checked.port, context=checked.tls, timeout=60)
    with closing(connection):
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": f"Bearer {API_KEY}"})
        until(lambda: len(pool.requests) > asked, "the pool is asked")
        if not leaves:
            pool.script.hold_answer.set()
            connection.getresponse().read()
    until(lambda: len(checked.records()) > before + 2, "it is on record")
    pool.script.hold_answer.set()
    record = last_answer(checked)
    assert record["reason"] == ("client-left" if leaves else "answered")
    assert ("release" in record) is not leaves
    (earlier,) = record["earlier_release"]
    assert (earlier["upstream"], earlier["verdicts"]["identifiers"]) == ("sovereign-cloud", "PASS")
    until(lambda: identifier_checks(checked) == counted + (1 if leaves else 2), "the checks of each judged answer")


def identifier_checks(gateway: Any) -> float:
    """Answers that the check `identifiers` of route `masked` passed."""
    name = 'sovctl_gateway_release_checks_total{check="identifiers",model="masked",verdict="PASS"} '
    lines = gateway.request("GET", "/metrics")[2].decode().splitlines()
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))
