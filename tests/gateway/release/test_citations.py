"""Citations: what a passage says passes, what it does not say does not, in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.release.citations import Citations, sources_of
from sovctl.gateway.release.passages import passages_of
from sovctl.gateway.release.verdict import Verdict
from sovctl.gateway.settings.answers.release import CitationSettings

PASSAGES = {
    "1": "The deposit rate is 4.0 % a year and is paid on 1 May 2024. Early withdrawal costs 50 euro.",
    "kb-7": "A credit card that was lost is blocked at once on +49 30 901820. A new card costs EUR 1,234.50 abroad.",
    "3": "Процентная ставка по вкладу составляет 16,5 % годовых. Минимальная сумма вклада 50 000 рублей.",
    "4": "Die Überweisung in die Schweiz dauert zwei Tage. Das Entgelt beträgt 7,50 Euro.",
    "5": "定期存款的年利率为百分之四，提前支取需要支付手续费。",
    "6": "رسوم التحويل الدولي خمسة وعشرون درهما، ويصل المبلغ خلال يومين عمل.",
}
CITATIONS = Citations(CitationSettings(), PASSAGES)

SUPPORTED = [
    "The rate for a deposit is 4 % a year. [1]",
    "Withdrawing early costs 50 euro [1].",
    "The deposit rate of 4.0% is paid on 1 May 2024. [1, kb-7]",
    "- A lost credit card is blocked at once. [kb-7]",
    "New cards cost 1 234,5 euro abroad. 【KB-7】",
    "Ставка по вкладу — 16.5 % годовых [3].",
    "Минимальная сумма вклада: 50000 рублей. [3]",
    "Überweisungen in die Schweiz dauern zwei Tage [4](https://kb.example/4).",
    "定期存款的年利率为百分之四。[5]",
    "رسوم التحويل الدولي خمسة وعشرون درهما. [6]",
]
NO_STATEMENT = [
    "Hello! ",
    "I can help with that.",
    "Is the rate fixed?",
    "# Rates of deposits and other accounts\n",
    "Here is what the sources say about rates of deposits:",
    "```\nrate = 5\n```\n",
    "Let me know if you have any further questions.",
    "\n",
]
DOUBTED = {
    "The rate for a deposit is 5 % a year. [1]": "number-unsupported",
    "The rate for a deposit is 4 % a year.": "missing",
    "The rate for a deposit is 4 % a year. [2]": "unknown-source",
    "Early withdrawal costs 50 euro. [4]": "number-unsupported",
    "Early withdrawal costs fifty euro at the counter. [4]": "unsupported",
    "Your mortgage was approved by the branch manager yesterday. [1]": "unsupported",
    "Call +49 30 901821 to block a lost card. [kb-7]": "number-unsupported",
    "Ставка по кредиту снижена до 12 %. [3]": "number-unsupported",
    "Клиент получил отказ в ипотеке. [3]": "unsupported",
    "Die Überweisung in die Schweiz kostet 9,50 Euro. [4]": "number-unsupported",
    "客户的贷款申请已经被拒绝。[5]": "unsupported",
    "[9]": "unknown-source",
}


@pytest.mark.parametrize("sentence", SUPPORTED)
def test_what_a_passage_says_passes(sentence: str) -> None:
    assert CITATIONS.judge(sentence).verdict is Verdict.PASS


@pytest.mark.parametrize("sentence", NO_STATEMENT)
def test_what_states_nothing_needs_no_citation(sentence: str) -> None:
    assert CITATIONS.judge(sentence).verdict is Verdict.PASS


@pytest.mark.parametrize(("sentence", "reason"), DOUBTED.items())
def test_what_no_passage_says_is_found(sentence: str, reason: str) -> None:
    outcome = CITATIONS.judge(sentence)
    assert (outcome.verdict, outcome.reason) == (Verdict.FAIL, reason)


def test_a_declaration_is_another_verdict_than_a_missing_citation() -> None:
    said = "The rate will rise next year. [ungrounded]"
    assert CITATIONS.judge(said).verdict is Verdict.WARN
    strict = Citations(CitationSettings(on_ungrounded="refuse", ungrounded_mark="(unbelegt)"), PASSAGES)
    assert strict.judge("Der Zins steigt. (Unbelegt)").reason == "declared-ungrounded"
    assert strict.judge(said).reason == "unknown-source"


def test_without_passages_nothing_can_be_cited() -> None:
    outcome = Citations(CitationSettings(), {}).judge("The rate for a deposit is 4 % a year. [1]")
    assert (outcome.verdict, outcome.reason) == (Verdict.FAIL, "no-passages")


@pytest.mark.parametrize("written", ["2024-05-31", "31.05.2024", "31/5/2024", "2024.05.31"])
def test_a_date_is_the_same_however_it_is_written(written: str) -> None:
    dated = Citations(CitationSettings(), {"1": f"The deposit account was closed on {written}."})
    assert dated.judge("The deposit account was closed on 31.5.2024. [1]").verdict is Verdict.PASS
    assert dated.judge("The deposit account was closed on 30.5.2024. [1]").reason == "number-unsupported"


@examples(200)
@given(st.text(max_size=200), st.sampled_from(["1", "kb-7", "3"]))
def test_a_passage_supports_itself_and_no_text_breaks_the_check(noise: str, name: str) -> None:
    own = Citations(CitationSettings(), {**PASSAGES, name: noise.replace("[", "").replace("【", "")})
    plain = noise.replace("[", "").replace("【", "").replace("\n", " ")
    assert own.judge(f"{plain} [{name}]").verdict is Verdict.PASS
    own.judge(noise)


def test_marks_name_ranges_and_lists() -> None:
    assert list(sources_of("a [1-3] b [kb-7, 9] c 【^5】 [7–5]")) == ["1", "2", "3", "kb-7", "9", "5", "7–5"]


BODY = {
    "documents": [{"id": "d1", "title": "Rates", "text": "four"}, {"content": "five"}, "six"],
    "messages": [
        {"role": "system", "content": "Use:\n[1] first passage\n[2] second\nline two\n\nnot a passage\n[x y] no"},
        {
            "role": "user",
            "content": [{"type": "text", "text": '<source id="kb-7" lang="en">tagged</source> <source id=9>'}],
        },
        {"role": "assistant", "content": "[8] my own words"},
        {"role": "tool", "tool_call_id": "c", "content": '{"results": [{"id": 4, "snippet": "found"}]}'},
        {"role": "tool", "tool_call_id": "c", "content": '[{"source": "web", "text": "listed"}, {"score": 1}]'},
    ],
}


def test_passages_are_found_in_every_documented_form() -> None:
    assert passages_of(BODY) == {
        "d1": "Rates\nfour",
        "2": "five\nsecond\nline two",
        "3": "six",
        "1": "first passage",
        "kb-7": "tagged",
        "4": "found",
        "web": "listed",
    }


def test_a_bracket_within_a_line_begins_no_passage() -> None:
    assert passages_of({"messages": [{"role": "user", "content": "Explain note [1] of the list."}]}) == {}


def test_a_text_of_json_that_nests_without_end_holds_no_passage() -> None:
    deep = '{"a":' * 1000 + '{"documents":["The rate is 4 %."]}' + "}" * 1000
    assert passages_of({"messages": [{"role": "user", "content": deep}]}) == {}


def test_passages_of_other_surfaces() -> None:
    anthropic = {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [{"type": "text", "text": "[1] from a tool"}],
                    }
                ],
            }
        ]
    }
    responses = {
        "instructions": "<passage id='a'>told</passage>",
        "input": [
            {"type": "function_call_output", "call_id": "c", "output": '{"passages": ["one", "two"]}'},
            {"type": "function_call", "arguments": '{"passages": ["mine"]}'},
        ],
    }
    assert passages_of(anthropic) == {"1": "from a tool"}
    assert passages_of(responses) == {"a": "told", "1": "one", "2": "two"}


@pytest.mark.parametrize(
    "text", ["<source id=1>" * 20_000, "[1] " * 50_000, "\n[1] x" * 30_000, "<source id=" * 30_000]
)
def test_a_request_full_of_marks_is_read_in_one_pass(text: str) -> None:
    passages_of({"messages": [{"role": "user", "content": text}]})
