"""The conversation as an operator gets it: in tokens, whatever API it came by and wherever a value stands in it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.handoff.transcript import HELD_BACK, Transcript, transcript_of
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.settings import DetectSettings
from sovctl.gateway.surfaces import SURFACES
from sovctl.gateway.tokens.restore import restore
from sovctl.gateway.tokens.token import TokenIssuer

IBAN, CARD, MAIL = "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111", "anna@example.com"
VALUES = (IBAN, CARD, MAIL, "+49 30 901820")


@lru_cache
def detector() -> Any:
    return make_detector(DetectSettings())


def transcript(
    path: str,
    body: dict[str, Any],
    answer: list[str],
    issued: dict[str, str] | None = None,
    found: dict[str, list[Finding]] | None = None,
) -> Transcript:
    surface = SURFACES[path]
    inspector = Inspector(CachedFinder(detector()), surface, max_depth=64)
    inspector.inspect(body)
    inspector.add(found or {})
    issuer = TokenIssuer(bytes(32), tenant="retail", conversation="c", issued=issued)
    return transcript_of(surface, body, inspector, answer, issuer=issuer, issued=issued or {}, max_depth=64)


BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": [{"type": "text", "text": f"My account is {IBAN}."}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"function": {"name": "find", "arguments": json.dumps({"customer_name": "Ola", "m": MAIL})}}
                ],
            },
        ]
    },
    "/v1/completions": {"prompt": f"My account is {IBAN}. Write to {MAIL}."},
    "/v1/responses": {"instructions": f"Mail to {MAIL}.", "input": [{"role": "user", "content": f"Is it {IBAN}?"}]},
    "/v1/messages": {
        "system": f"Mail to {MAIL}.",
        "messages": [
            {"role": "user", "content": f"Is it {IBAN}?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"surname": "Nordmann"}}],
            },
        ],
    },
}


@pytest.mark.parametrize("path", BODIES)
def test_every_api_gives_roles_and_text_in_tokens(path: str) -> None:
    made = transcript(path, BODIES[path], [f"It is {IBAN}, and {CARD}."])
    text = json.dumps(made.messages)
    for value in (IBAN, MAIL, CARD, "Ola", "Nordmann"):
        assert value not in text
    assert made.messages[-1]["role"] == HELD_BACK
    assert restore(made.messages[-1]["text"], made.issued) == f"It is {IBAN}, and {CARD}."
    assert len({each["role"] for each in made.messages}) > 1


def test_one_value_is_one_token_wherever_it_stands() -> None:
    made = transcript("/v1/completions", {"prompt": f"Pay {IBAN}."}, [f"Paid {IBAN}."])
    tokens = [each["text"].split()[1] for each in made.messages]
    assert tokens[0] == tokens[1]


@pytest.mark.parametrize(("label", "value"), [("PERSON", "Quorvath"), ("ACCOUNT", "zq81x")])
def test_values_of_earlier_turns_are_covered_though_nothing_around_them_says_what_they_are(
    label: str, value: str
) -> None:
    issued = {f"{label}_0000000000000000": value}
    made = transcript("/v1/completions", {"prompt": "And him?"}, [f"he said that {value} agrees"], issued)
    assert value not in json.dumps(made.messages)
    assert value in made.issued.values()


def test_names_that_only_a_model_of_the_site_found_are_covered_wherever_they_stand() -> None:
    text = "as quorvath said"
    found = {text: [Finding(3, 11, EntityType.PERSON, 0.9, "quorvath", "MODEL_KK")]}
    made = transcript("/v1/completions", {"prompt": text}, ["and what quorvath meant"], found=found)
    assert "quorvath" not in json.dumps(made.messages)


def test_what_nobody_can_read_is_left_out_by_name() -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 4000}"}}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]}
    (user, _) = transcript("/v1/chat/completions", body, ["A cat."]).messages
    assert user["text"] == "What is it?\n[image]"


def test_a_long_one_keeps_its_end() -> None:
    body = {"messages": [{"role": "user", "content": f"Part {n}. " + "word " * 2000} for n in range(30)]}
    made = transcript("/v1/chat/completions", body, ["The end."])
    assert sum(len(each["text"]) for each in made.messages) < 101_000
    assert made.messages[-1]["text"] == "The end."
    assert made.messages[-2]["text"].startswith("Part 29.")


@given(
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=4),
    st.lists(st.text(st.sampled_from('abc xyz.\n,("\\éя中'), max_size=20), min_size=5, max_size=5),
    st.booleans(),
)
@examples(60)
def test_no_value_stands_in_a_transcript_whatever_is_around_it(
    values: list[str], around: list[str], in_answer: bool
) -> None:
    text = around[0] + " " + "".join(f"{value} {words} " for value, words in zip(values, around[1:], strict=False))
    body = {"messages": [{"role": "user", "content": "Hello" if in_answer else text}]}
    made = transcript("/v1/chat/completions", body, [text] if in_answer else ["Yes."])
    written = "\n".join(each["text"] for each in made.messages)
    for value in values:
        assert value not in written
    assert text in restore(written, made.issued)
