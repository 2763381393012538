"""JSON schemas: valid answers pass; no schema reaches out, runs for ever or backtracks."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sovctl.gateway.release.asked import asked_schemas
from sovctl.gateway.release.schema import MOST_SCHEMA_BYTES, SchemaCheck
from sovctl.gateway.release.verdict import Verdict

PERSON = {
    "type": "object",
    "properties": {"iban": {"type": "string", "pattern": r"^[A-Z]{2}\d{2}[0-9A-Z]+$"}, "tags": {"uniqueItems": True}},
    "required": ["iban"],
    "additionalProperties": False,
}
TREE = {"$ref": "#/$defs/node", "$defs": {"node": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
BOMB = {
    "$ref": "#/$defs/a0",
    "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)} | {"a40": True},
}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (PERSON, '{"iban": "DE89370400440532013000"}', "PASS"),
        (PERSON, '{"iban": "DE89 3704"}', "FAIL invalid"),
        (PERSON, '{"iban": "DE891", "x": 1}', "FAIL invalid"),
        (PERSON, '{"iban": "DE891", "tags": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}', "FAIL invalid"),
        (PERSON, '{"iban": "DE891", "tags": [1, 1.0]}', "FAIL invalid"),
        (PERSON, '{"iban": "DE891", "tags": [1, 2, "1"]}', "PASS"),
        (PERSON, "{}", "FAIL invalid"),
        (PERSON, "", "FAIL no-json"),
        (PERSON, '```json\n{"iban": "DE891"}\n```', "FAIL no-json"),
        (TREE, "[[], [[], []]]", "PASS"),
        (TREE, "[[], [1]]", "FAIL invalid"),
        ({}, "1", "PASS"),
        (BOMB, "{}", "UNKNOWN schema-endless"),
        ({"$ref": "#"}, "{}", "UNKNOWN schema-endless"),
        ({"$ref": "https://192.0.2.1/schema.json"}, "{}", "UNKNOWN schema-reference"),
        ({"$ref": "file:///etc/passwd"}, "{}", "UNKNOWN schema-reference"),
        ({"$ref": "#/$defs/nothing"}, "{}", "UNKNOWN schema-reference"),
        ({"type": "nonsense"}, "{}", "UNKNOWN schema-refused"),
        ({"pattern": r"(a)\1"}, '"aa"', "UNKNOWN schema-refused"),
        ({"pattern": "(?=a)b"}, '"aa"', "UNKNOWN schema-refused"),
        ({"pattern": "["}, '"aa"', "UNKNOWN schema-refused"),
        ({"patternProperties": {"^(a+)+$": {}}}, "{}", "UNKNOWN schema-refused"),
        ({"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}, '{"x-a": 1}', "PASS"),
        ({"patternProperties": {"^x-": {"type": "integer"}}}, '{"x-a": "1"}', "FAIL invalid"),
        ({"description": "x" * MOST_SCHEMA_BYTES}, "{}", "UNKNOWN schema-refused"),
        (True, "{}", "UNKNOWN schema-refused"),
        ("a string", "{}", "UNKNOWN schema-refused"),
    ],
)
def test_an_answer_is_judged_by_its_schema(schema: Any, text: str, expected: str) -> None:
    check = SchemaCheck()
    for _ in range(2):  # the second time from memory
        outcome = check.judge(schema, text)
        assert f"{outcome.verdict} {outcome.reason}".strip() == expected


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "^(.*a){20}$", "^a*a*a*a*a*b$"])
def test_no_pattern_backtracks(pattern: str) -> None:
    # With a backtracking engine each of these takes longer than anybody waits.
    outcome = SchemaCheck().judge({"type": "string", "pattern": pattern}, json.dumps("a" * 5000 + "!"))
    assert f"{outcome.verdict} {outcome.reason}" in ("FAIL invalid", "UNKNOWN schema-refused")


def test_threads_judge_at_the_same_time() -> None:
    check, schema = SchemaCheck(), {"items": {"pattern": "^(a|b)+$"}}
    text = json.dumps(["ab" * 20_000] * 10)
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: check.judge(schema, text), range(40)))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.PASS}


def test_only_so_many_schemas_are_remembered() -> None:
    check = SchemaCheck(most_schemas=3)
    for number in range(10):
        check.judge({"const": number}, str(number))
    assert len(check._compiled) == 3


SCHEMA = {"type": "object"}


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}}},
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
        {"output_format": {"type": "json_schema", "schema": SCHEMA}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"structured_outputs": {"json": SCHEMA}},
        {"guided_json": SCHEMA},
    ],
)
def test_the_schema_is_found_where_each_api_has_it(body: dict[str, Any]) -> None:
    assert asked_schemas(body).answer == SCHEMA


def test_only_strict_tools_are_held_to_their_schema() -> None:
    tools = [
        {"type": "function", "function": {"name": "a", "parameters": SCHEMA, "strict": True}},
        {"type": "function", "function": {"name": "b", "parameters": SCHEMA}},
        {"type": "function", "name": "c", "parameters": SCHEMA, "strict": True},
        {"name": "d", "input_schema": SCHEMA, "strict": True},
        "nonsense",
    ]
    assert asked_schemas({"tools": tools, "response_format": {"type": "text"}}).tools == dict.fromkeys("acd", SCHEMA)
    assert asked_schemas({"tools": None, "text": "x"}).answer is None
