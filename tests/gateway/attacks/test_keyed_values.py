"""Issue 15, A1 and A2: a JSON key explains its value, and what is sent is the document that was inspected."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from surface_givens import audited, post
from surface_upstream import SurfaceUpstream

CLOUD = {"model": "assistant"}
POLICY = {"default": "tokenize", "name_languages": ["en"]}

# Key, value, entity type that the same words have in prose.
KEYED = (
    ("password", "Sommer2024!", "SECRET"),
    ("userPassword", "Sommer2024!", "SECRET"),
    ("mot_de_passe", "Sommer2024!", "SECRET"),
    ("hasło", "Sommer2024!", "SECRET"),
    ("密码", "Sommer2024!", "SECRET"),
    ("date_of_birth", "1980-01-02", "BIRTH_DATE"),
    ("dateOfBirth", "1980-01-02", "BIRTH_DATE"),
    ("date-of-birth", "1980-01-02", "BIRTH_DATE"),
    ("geburtsDatum", "02.01.1980", "BIRTH_DATE"),
    ("дата_рождения", "02.01.1980", "BIRTH_DATE"),
    ("account", "20481632", "ACCOUNT"),
    ("kontoNummer", "20481632", "ACCOUNT"),
    ("customer", "20481632", "ACCOUNT"),
    ("numéro_de_client", "20481632", "ACCOUNT"),
    ("routing", "021000021", "ACCOUNT"),
    ("nhs", "9434765919", "HEALTH_ID"),
    ("medicare", "2123 45670 1", "HEALTH_ID"),
    ("taxId", "86095742719", "NATIONAL_ID"),
    ("ein", "12-3456789", "TAX_ID"),
    ("swift", "DEUTDEFF", "SWIFT"),
    ("otp", "482913", "SECRET"),
    ("pin", "4821", "SECRET"),
    ("plate", "AB12 CDE", "VEHICLE"),
    ("license-plate", "AB12 CDE", "VEHICLE"),
    ("licence", "MORGA657054SM9IJ", "DRIVING_LICENCE"),
    ("passport", "C01X00T47", "PASSPORT"),
    ("bsn", "111222333", "NATIONAL_ID"),
    ("phone", "4471234", "PHONE"),
)
NAMED = [f"{number}-{kind}" for number, (_, _, kind) in enumerate(KEYED)]


def call(arguments: str) -> dict[str, Any]:
    function = {"name": "look_up", "arguments": arguments}
    return {
        **CLOUD,
        "messages": [
            {"role": "user", "content": "Please look this up for me."},
            {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        ],
    }


def in_arguments(document: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", call(json.dumps(document, ensure_ascii=False))


def in_result(document: Any) -> tuple[str, dict[str, Any]]:
    text = json.dumps({"note": "one\ntwo", "found": document}, ensure_ascii=False)
    return "/v1/chat/completions", {**CLOUD, "messages": [{"role": "tool", "tool_call_id": "call_1", "content": text}]}


def in_input(document: Any) -> tuple[str, dict[str, Any]]:
    block = {"type": "tool_use", "id": "call_1", "name": "look_up", "input": document}
    return "/v1/messages", {**CLOUD, "max_tokens": 9, "messages": [{"role": "assistant", "content": [block]}]}


def in_unknown_field(document: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", {**CLOUD, "messages": [{"role": "user", "content": "Thank you."}], "x": document}


PLACES = {"arguments": in_arguments, "result": in_result, "input": in_input, "unknown": in_unknown_field}


@pytest.fixture(scope="module")
def cloud(pki: Any) -> Any:
    with SurfaceUpstream(pki.certificate_file, pki.key_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def pool(pki: Any) -> Any:
    with SurfaceUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any]) -> Any:
    return start(policy=POLICY)


def leaves_of(upstream: EchoUpstream) -> str:
    return b"\n".join(upstream.raw).decode()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("key", "value", "kind"), KEYED, ids=NAMED)
def test_a_value_is_found_by_its_key(
    gateway: Any, cloud: EchoUpstream, place: str, key: str, value: str, kind: str
) -> None:
    path, body = PLACES[place]({"limit": 10, key: value})
    assert post(gateway, path, body)[0] == 200
    assert value not in leaves_of(cloud)
    assert kind in audited(gateway)["entity_types"]


@pytest.mark.parametrize(
    "document",
    [
        {"passport": {"holder": {"number": "C01X00T47"}}},
        {"fields": [{"name": "passport", "value": "C01X00T47"}]},
        {"fields": [{"label": "Passport number", "value": "C01X00T47"}]},
        {"passport": {"default": "C01X00T47"}},
        {"passports": ["C01X00T47", "C01X00T48"]},
        {"data": json.dumps({"passport": "C01X00T47", "note": "a\nb"})},
    ],
    ids=["path", "pair", "label", "wrapped", "list", "nested document"],
)
def test_keys_farther_up_explain_it_too(gateway: Any, cloud: EchoUpstream, document: Any) -> None:
    path, body = in_arguments(document)
    status, headers, _ = post(gateway, path, body)
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert "C01X00T4" not in leaves_of(cloud)


@pytest.mark.parametrize(
    ("document", "digits"),
    [
        ('{"pin":4821}', ["4821"]),
        ('{"otp": 482913}', ["482913"]),
        ('{"cvv":123}', ["123}"]),
        ('{"card":[4111,1111,1111,1111]}', ["4111", "1111"]),
        ('{"card":["4111","1111","1111","1111"]}', ["4111", "1111"]),
        ('{"card":4.111111111111111e15}', ["4.1111", "41111"]),
        ('{"card":4111111111111111.0}', ["41111"]),
        ('{"account":61109010140000071219812874}', ["6110", "6.11"]),
        ('{"account": 61109010140000071219812874.0}', ["6110", "6.11"]),
        ('{"account":[61109010140000071219812874]}', ["6110", "6.11"]),
        ('{"account":6.1109010140000071219812874e25}', ["6110", "6.11"]),
    ],
)
@pytest.mark.parametrize("place", ["arguments", "result", "unknown"])
def test_numbers_are_read_with_their_key_and_all_digits(
    gateway: Any, cloud: EchoUpstream, place: str, document: str, digits: list[str]
) -> None:
    if place == "arguments":
        body = json.dumps(call(document))
    elif place == "result":
        body = json.dumps({**CLOUD, "messages": [{"role": "tool", "tool_call_id": "call_1", "content": document}]})
    else:
        body = (
            json.dumps({**CLOUD, "messages": [{"role": "user", "content": "Thank you."}]})[:-1] + f', "x": {document}}}'
        )
    status, _, _ = send(gateway, body)
    assert status == 200
    assert [each for each in digits if each in leaves_of(cloud)] == []
    assert audited(gateway)["entity_types"]


def send(gateway: Any, body: str, path: str = "/v1/chat/completions") -> tuple[int, dict[str, str], bytes]:
    headers = {"authorization": "Bearer test-key-of-the-branch-application", "content-type": "application/json"}
    answer: tuple[int, dict[str, str], bytes] = gateway.request("POST", path, body.encode(), headers)
    return answer


IBAN = "DE89370400440532013000"


@pytest.mark.parametrize(
    "document",
    [
        f'{{"iban":"{IBAN}","iban":"x"}}',
        f'{{"iban" : "{IBAN}","iban":"x"}}',
        f'{{"a":{{"iban":"{IBAN}"}},"a":1}}',
        f'{{"\\u0069ban":"{IBAN}","iban":"x"}}',
        f'{{"a\\\\":1,"iban":"{IBAN}","iban":"x"}}',
        f'[{{"note":"\\":","iban":"{IBAN}","iban":"x"}}]',
    ],
)
def test_of_equal_keys_only_the_inspected_value_is_sent(gateway: Any, cloud: EchoUpstream, document: str) -> None:
    assert send(gateway, json.dumps(call(document)))[0] == 200
    raw = json.dumps({**CLOUD, "messages": [{"role": "user", "content": "Thank you."}]})
    assert send(gateway, f'{raw[:-1]}, "x": {document}}}')[0] == 200
    assert len(cloud.raw) == 2
    assert IBAN not in leaves_of(cloud)


def test_equal_keys_of_the_body_are_sent_once_to_a_pool_too(gateway: Any, pool: EchoUpstream) -> None:
    raw = json.dumps({"model": "inside", "messages": [{"role": "user", "content": "Thank you."}]})
    assert send(gateway, f'{raw[:-1]}, "x": "{IBAN}", "x": 1}}')[0] == 200
    assert IBAN not in leaves_of(pool)


@pytest.mark.parametrize("number", ["61109010140000071219812874", "0.1234567890123456789", "0.30000000000000004"])
def test_a_number_that_names_nothing_keeps_its_digits(gateway: Any, cloud: EchoUpstream, number: str) -> None:
    assert send(gateway, json.dumps(call(f'{{"ratio":{number}}}')))[0] == 200
    raw = json.dumps({"model": "inside", "messages": [{"role": "user", "content": "Thank you."}]})
    assert send(gateway, f'{raw[:-1]}, "x": {number}}}')[0] == 200


def test_ordinary_arguments_stay_as_they_are(gateway: Any, cloud: EchoUpstream) -> None:
    arguments = '{"query": "weather in the capital", "limit": 10, "max_rows":100, "units": "metric"}'
    assert send(gateway, json.dumps(call(arguments)))[0] == 200
    sent = json.loads(cloud.requests[-1]["messages"][1]["tool_calls"][0]["function"]["arguments"])
    assert sent == json.loads(arguments)
    assert cloud.requests[-1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == arguments
    assert audited(gateway)["reasons"] == ["clean", "preferred:cloud"]


@pytest.mark.parametrize(
    ("key", "value"), [("password", "Sommer2024!"), ("dateOfBirth", "1980-01-02"), ("account", 20481632), ("pin", 4821)]
)
def test_the_release_check_reads_keys(start: Callable[..., Any], cloud: EchoUpstream, key: str, value: Any) -> None:
    gateway = checked(start)
    function = {"name": "f", "arguments": json.dumps({key: value})}
    cloud.script.message = lambda _: {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    body = {**CLOUD, "messages": [{"role": "user", "content": "Please look this up for me."}]}
    status, _, answer = post(gateway, "/v1/chat/completions", body)
    assert status == 200
    assert str(value) not in json.dumps(answer)


@pytest.mark.parametrize("key", ["Anna_Kowalska", "DE89370400440532013000", "anna@example.com"])
def test_the_release_check_refuses_names_as_keys(start: Callable[..., Any], cloud: EchoUpstream, key: str) -> None:
    gateway = checked(start)
    function = {"name": "f", "arguments": json.dumps({key: 100})}
    calls = [{"id": "1", "type": "function", "function": function}]
    cloud.script.message = lambda _: {"role": "assistant", "content": None, "tool_calls": calls}
    body = {**CLOUD, "messages": [{"role": "user", "content": "Please look this up for me."}]}
    _, _, answer = post(gateway, "/v1/chat/completions", body)
    assert key not in json.dumps(answer)


_CHECKED: list[Any] = []


def checked(start: Callable[..., Any]) -> Any:
    """One gateway with the check for identifiers; started once."""
    if not _CHECKED:
        route = {"model": "assistant", "pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"}
        _CHECKED.append(start(policy=POLICY, routes=[{**route, "release": {"identifiers": {"default": "mask"}}}]))
    return _CHECKED[0]
