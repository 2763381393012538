"""Judging answers: what is known passes, what is not is masked or blocked, and a check that fails blocks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from release_givens import BODY, CHAT, IBAN, OTHER_IBAN, detector, judge_of

from sovctl.gateway.release.judge import ReleaseCheckRun, ReleaseChecks
from sovctl.gateway.release.schema import SchemaCheck
from sovctl.gateway.release.verdict import AnswerWithheld, Verdict
from sovctl.gateway.release.whole import release_whole
from sovctl.gateway.settings.answers.release import OnFailure, ReleaseSettings
from sovctl.gateway.surfaces.answers.model_strings import Voice

MASK = {"identifiers": {"default": "mask"}}
REFUSE = {"identifiers": {"default": "refuse"}}
SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


def answer(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "logprobs": {"content": []}}]}


def released(judge: ReleaseCheckRun, **message: Any) -> Any:
    made = answer(**message)
    release_whole(judge, CHAT, made)
    return made["choices"][0]


def blocked(judge: ReleaseCheckRun, **message: Any) -> str:
    with pytest.raises(AnswerWithheld) as caught:
        release_whole(judge, CHAT, answer(**message))
    return str(caught.value)


@pytest.mark.parametrize(
    "text", [f"It is {IBAN}.", f"It is {IBAN.replace(' ', '')}.", "Nothing.", "IBAN_0123456789ABCDEF"]
)
def test_identifiers_of_the_conversation_pass(text: str) -> None:
    judge = judge_of(REFUSE)
    assert released(judge, content=text)["message"]["content"] == text
    assert judge.verdicts.plain() == {"verdicts": {"identifiers": "PASS"}, "reasons": {}}


def test_an_identifier_that_nobody_wrote_is_masked_or_blocked() -> None:
    text = f"It is {IBAN}, not {OTHER_IBAN}. Ask mail@bank.example."
    judge = judge_of(MASK)
    choice = released(judge, content=text, reasoning_content=f"Maybe {OTHER_IBAN}?")
    assert choice["message"]["content"] == f"It is {IBAN}, not [IBAN]. Ask [EMAIL]."
    assert choice["message"]["reasoning_content"] == "Maybe [IBAN]?"
    assert choice["logprobs"] is None
    assert judge.verdicts.plain() == {
        "verdicts": {"identifiers": "WARN"},
        "reasons": {"identifiers:mask:EMAIL": 1, "identifiers:mask:IBAN": 2},
    }
    judge = judge_of(REFUSE)
    assert blocked(judge, content=text) == "identifiers:refuse:IBAN"
    allowed = judge_of(
        {"identifiers": {"default": "refuse", "entity_types": {"IBAN": "allow"}, "known": ["mail@bank.example"]}}
    )
    assert released(allowed, content=text)["message"]["content"] == text
    assert allowed.verdicts.reasons == {"identifiers:allow:IBAN": 1}


def test_for_whom_may_not_see_values_none_is_known() -> None:
    assert blocked(judge_of(REFUSE, may_see=False), content=f"It is {IBAN}.") == "identifiers:refuse:IBAN"


def test_tool_arguments_are_read_decoded_and_masked_as_json() -> None:
    arguments = json.dumps({"to": OTHER_IBAN, "more": [{"mine": IBAN}], OTHER_IBAN.replace(" ", ""): 1})
    calls = [{"id": "c", "type": "function", "function": {"name": "send", "arguments": arguments}}]
    assert blocked(judge_of(MASK), tool_calls=calls) == "identifiers:key"
    calls[0]["function"]["arguments"] = json.dumps({"to": OTHER_IBAN, "more": [{"mine": IBAN}]})  # type: ignore[index]
    choice = released(judge_of(MASK), content=None, tool_calls=calls)
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {
        "to": "[IBAN]",
        "more": [{"mine": IBAN}],
    }


def test_the_schema_of_the_answer_and_of_strict_tools_is_kept() -> None:
    body = {
        **BODY,
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        "tools": [{"type": "function", "function": {"name": "send", "strict": True, "parameters": SCHEMA}}],
    }
    release = {"json_schema": {}}
    judge = judge_of(release, body)
    assert released(judge, content='{"to": "x"}')["message"]["content"] == '{"to": "x"}'
    assert judge.verdicts.of == {"json_schema": Verdict.PASS}
    assert blocked(judge_of(release, body), content='{"from": "x"}') == "json_schema:invalid"
    assert blocked(judge_of(release, body), content='{"to": "x"') == "json_schema:no-json"
    calls = [
        {"function": {"name": "send", "arguments": "{}"}},
        {"function": {"name": "other", "arguments": "nonsense"}},
    ]
    assert released(judge_of(release, body), content=None, tool_calls=calls[1:])
    assert blocked(judge_of(release, body), content=None, tool_calls=calls) == "json_schema:invalid"
    assert released(judge_of(release), content="no schema was asked for")


def test_citations_count_in_prose_only() -> None:
    cited = {"citations": {"on_failure": "refuse"}}
    judge = judge_of(cited)
    assert released(
        judge, content="Deposits earn 4 % a year. [1]\n\nAnything else?", reasoning_content="They want 5 %."
    )
    assert judge.verdicts.plain() == {"verdicts": {"citations": "PASS"}, "reasons": {}}
    assert (
        blocked(judge_of(cited), content="Deposits earn 4 % a year. [1] They earn 6 % abroad.") == "citations:missing"
    )
    judge = judge_of(cited)
    assert released(judge, content="Deposits earn 4 %. [1] Rates will rise by 2 %. [ungrounded]")
    assert judge.verdicts.of == {"citations": Verdict.WARN}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ({"identifiers": {"default": "hand-off"}}, OnFailure.HAND_OFF),
        (REFUSE, OnFailure.REFUSE),
    ],
)
def test_a_check_that_fails_blocks_and_says_nothing_of_the_text(
    release: dict[str, Any], expected: OnFailure, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def find(self, text: str) -> list[Any]:
            raise KeyError(text)

    settings = ReleaseSettings.model_validate(release)
    checks = ReleaseChecks(settings, finder=Broken(), schemas=SchemaCheck(), max_depth=64)
    judge = checks.judge(BODY, [], [], may_see=True)
    with pytest.raises(AnswerWithheld) as caught:
        judge.whole("The secret word.", Voice.PROSE)
    assert str(caught.value) == "identifiers:check-failed"
    assert judge.verdicts.of == {"identifiers": Verdict.UNKNOWN}
    assert judge.on_failure(caught.value.outcome) is expected
    assert "secret" not in str([record.__dict__.get("fields") for record in caplog.records])


def test_an_answer_nested_too_deep_is_unknown_to_the_checks() -> None:
    deep = '{"a":' * 80 + "1" + "}" * 80
    body = {**BODY, "response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}
    assert blocked(judge_of({"json_schema": {}}, body), content=deep) == "json_schema:too-deep"


def test_detector_is_the_one_that_reads_requests() -> None:
    assert detector().find(f"to {OTHER_IBAN}")[0].entity_type.value == "IBAN"
