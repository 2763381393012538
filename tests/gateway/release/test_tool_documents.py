"""Arguments of Anthropic's tools are objects of the model's making: its keys may be called as anything of the API."""

from __future__ import annotations

from typing import Any

import pytest
from release_givens import IBAN, OTHER_IBAN, judge_of

from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.release.judge import ReleaseCheckRun
from sovctl.gateway.release.verdict import AnswerWithheld
from sovctl.gateway.release.whole import release_whole
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.surfaces.messages import FIELDS
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

MESSAGES = SURFACES["/v1/messages"]
VALUE = "anna@b.example"
TOKEN = TokenIssuer(bytes(32), tenant="t", conversation="c").token(EntityType.EMAIL, VALUE, VALUE)
NAMES = sorted(FIELDS.left_alone)
STRICT = {
    "tools": [
        {
            "name": "send",
            "strict": True,
            "input_schema": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
        }
    ]
}


def message(arguments: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "tool_use", "id": "t", "name": "send", "input": arguments}], **more}


def test_every_key_and_string_of_them_comes_back_and_counts_once() -> None:
    counts = RestoreCounts()
    arguments = {**dict.fromkeys(NAMES, TOKEN), "deep": [{"id": TOKEN}], TOKEN: {"n": 1, "none": None}}
    made = MESSAGES.whole(message(arguments, id=TOKEN), Restoration({TOKEN: VALUE}, "assistant", counts))
    assert made["content"][0]["input"] == {
        **dict.fromkeys(NAMES, VALUE),
        "deep": [{"id": VALUE}],
        VALUE: {"n": 1, "none": None},
    }
    assert made["id"] == TOKEN
    assert counts.restored == len(NAMES) + 2


def released(judge: ReleaseCheckRun, arguments: Any) -> Any:
    made = message(arguments)
    release_whole(judge, MESSAGES, made)
    return made["content"][0]["input"]


@pytest.mark.parametrize("name", ["to", *NAMES])
def test_identifiers_in_them_are_masked_under_any_name(name: str) -> None:
    judge = judge_of({"identifiers": {"default": "mask"}})
    assert released(judge, {name: f"Use {OTHER_IBAN}", "also": [{name: IBAN}], "n": 3}) == {
        name: "Use [IBAN]",
        "also": [{name: IBAN}],
        "n": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({OTHER_IBAN: 1}, "identifiers:mask:IBAN"),
        ({"to": 1}, "json_schema:invalid"),
        ({}, "json_schema:invalid"),
    ],
)
def test_a_key_that_is_somebody_elses_and_a_strict_tools_schema_block(arguments: Any, why: str) -> None:
    judge = judge_of({"identifiers": {"default": "mask"}, "json_schema": {}}, {**STRICT, "messages": []})
    with pytest.raises(AnswerWithheld):
        released(judge, arguments)
    assert why in judge.verdicts.plain()["reasons"]
