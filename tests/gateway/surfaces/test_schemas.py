"""JSON schemas stay valid: values in them become tokens that restore, patterns stay, and forms are kept where asked."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from surface_givens import IBAN, MAIL, assert_clean, audited
from surface_upstream import SurfaceUpstream

PROMPT = f"Please send the letter about {IBAN} to {MAIL}"


def wanted(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "letter", "strict": True, "schema": schema}}


def create(gateway: Any, **more: Any) -> Any:
    messages = [{"role": "user", "content": PROMPT}]
    return gateway.client().chat.completions.create(model="assistant", messages=messages, **more)


def obey(body: dict[str, Any]) -> dict[str, Any]:
    """A model that obeys: the first value of each enum, else a word of the prompt that fits the schema."""
    schema = body["response_format"]["json_schema"]["schema"]
    words = [word.strip(",.") for word in body["messages"][-1]["content"].split()]

    def value(rule: dict[str, Any]) -> Any:
        check = jsonschema.Draft202012Validator(rule, format_checker=jsonschema.FormatChecker())
        return next(each for each in [*rule.get("enum", []), *words] if check.is_valid(each))

    answer = {name: value(rule) for name, rule in schema["properties"].items()}
    return {"role": "assistant", "content": json.dumps(answer)}


def test_values_in_a_schema_come_back(gateway: Any, cloud: SurfaceUpstream) -> None:
    cloud.script.message = obey
    choice = {"type": "string", "enum": [MAIL, "nobody"], "default": MAIL, "examples": [MAIL]}
    completion = create(gateway, response_format=wanted(to=choice))
    assert json.loads(completion.choices[0].message.content) == {"to": MAIL}
    assert_clean(cloud, MAIL, IBAN)
    sent = cloud.requests[0]["response_format"]["json_schema"]["schema"]["properties"]["to"]
    assert sent["enum"][0] == sent["default"] == sent["examples"][0]
    assert sent["enum"][0] in cloud.requests[0]["messages"][0]["content"]
    assert sent["enum"][1] == "nobody"


def test_names_types_and_patterns_of_a_schema_leave_as_they_are(gateway: Any, cloud: SurfaceUpstream) -> None:
    rule = {"type": "string", "pattern": "^[A-Z_]{2,9}_[0-9A-Z]{16}$", "description": f"such as {MAIL}"}
    create(gateway, response_format=wanted(customer_name=rule))
    sent = cloud.requests[0]["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["customer_name"]["pattern"] == rule["pattern"]
    assert sent["required"] == ["customer_name"]
    assert_clean(cloud, MAIL)


def test_an_identifier_in_a_pattern_keeps_the_request_on_prem(gateway: Any, cloud: SurfaceUpstream) -> None:
    create(gateway, response_format=wanted(to={"type": "string", "pattern": f"^{MAIL}$"}))
    assert not cloud.requests
    assert "obstacle:schema" in audited(gateway)["reasons"]


@pytest.mark.parametrize(
    "rules",
    [
        {"to": {"type": "string", "format": "email"}},
        {"iban": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"}},
        {
            "email": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$"},
            "iban": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"},
        },
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_forms_are_kept_where_a_schema_asks_and_the_site_allows(
    start: Any, cloud: SurfaceUpstream, rules: dict[str, Any], stream: bool
) -> None:
    gateway = start(tokens={"format_preserving": ["EMAIL", "IBAN"]})
    cloud.script.message = obey
    answer = create(gateway, response_format=wanted(**rules), stream=stream)
    content = (
        "".join(choice.delta.content or "" for chunk in answer for choice in chunk.choices)
        if stream
        else answer.choices[0].message.content
    )
    assert json.loads(content) == {name: IBAN if name == "iban" else MAIL for name in rules}
    assert_clean(cloud, MAIL, IBAN)
    sent = cloud.requests[0]["messages"][0]["content"]
    assert ("@tokens.invalid" in sent) == ("iban" not in rules or "email" in rules)
    assert ("EMAIL_" in sent) == ("@tokens.invalid" not in sent)


def test_without_such_a_schema_or_such_a_setting_tokens_are_tokens(
    gateway: Any, start: Any, cloud: SurfaceUpstream
) -> None:
    create(gateway, response_format=wanted(to={"type": "string", "format": "email"}))
    assert "EMAIL_" in cloud.requests[0]["messages"][0]["content"]
    create(start(tokens={"format_preserving": ["EMAIL"]}))
    assert "EMAIL_" in cloud.requests[1]["messages"][0]["content"]
