"""Real gateways that remember what they found in earlier turns: every answer is as without the memory."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from surface_givens import IBAN, MAIL, assert_clean
from waiting import until

API_KEY = "test-key-of-the-branch-application"
NAME = "Ola Nordmann"
TURNS = [
    f"Dear Mr. {NAME}, the money was sent from {IBAN}.",
    f"Please write to {MAIL}. Nordmann wants an answer.",
    "What is the account number?",
    f"The number +49 30 901820 and {IBAN} belong to him.",
]


def key_file(folder: Path) -> str:
    path = folder / "shared-token.key"
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return str(path)


def call(number: int) -> list[dict[str, Any]]:
    function = {"name": "find", "arguments": json.dumps({"email": MAIL, "customer": NAME, "turn": number})}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "1", "content": json.dumps({"name": NAME, "pin": "4821", "turn": number})},
    ]


def converse(gateway: Any, turns: list[str], **headers: str) -> list[str]:
    """The answers of a conversation, each over a connection of its own."""
    messages: list[dict[str, Any]] = []
    answers = []
    for number, text in enumerate(turns):
        messages += [*call(number), {"role": "user", "content": text}]
        body = json.dumps({"model": "assistant", "messages": messages}).encode()
        sent = {"authorization": f"Bearer {API_KEY}", "content-type": "application/json", **headers}
        status, got, answer = gateway.request("POST", "/v1/chat/completions", body, sent)
        assert (status, got.get("x-sovctl-route")) == (200, "cloud"), answer
        answers.append(json.loads(answer)["choices"][0]["message"]["content"])
        messages.append({"role": "assistant", "content": answers[-1]})
    return answers


def remembered_bytes(gateway: Any) -> int:
    text = gateway.request("GET", "/metrics")[2].decode()
    return int(float(re.search(r"^sovctl_gateway_remembered_bytes (\S+)", text, re.MULTILINE)[1]))  # type: ignore[index]


POLICY = {"default": "tokenize", "name_languages": ["en"]}


def test_bodies_and_answers_are_as_without_memory_across_workers_and_a_restart(
    start: Callable[..., Any], start_from: Callable[..., Any], cloud: Any, tmp_path: Path
) -> None:
    shared = {"token_key_file": key_file(tmp_path), "policy": POLICY}
    without = start(limits={"max_remembered_bytes": 0}, **shared)
    assert converse(without, TURNS) == TURNS
    expected = [each["messages"] for each in cloud.requests]
    assert_clean(cloud, NAME, IBAN, MAIL, "901820", "Nordmann")
    cloud.forget()
    for workers in (1, 2):
        gateway = start(workers=workers, **shared)
        assert converse(gateway, TURNS) == TURNS
        assert converse(gateway, TURNS) == TURNS
        assert [each["messages"] for each in cloud.requests] == [*expected, *expected]
        until(lambda: remembered_bytes(gateway) > 0, "a remembered text")  # noqa: B023 - used at once
        cloud.forget()
    gateway.stop()
    again = start_from(gateway.config, tmp_path / "log")
    assert remembered_bytes(again) == 0
    assert converse(again, TURNS) == TURNS
    assert [each["messages"] for each in cloud.requests] == expected
    assert remembered_bytes(without) == 0


def test_changed_policy_holds_for_the_next_turn_of_a_remembered_conversation(
    start: Callable[..., Any], cloud: Any
) -> None:
    gateway = start(policy=POLICY)
    converse(gateway, TURNS)
    until(lambda: remembered_bytes(gateway) > 0, "a remembered text")
    settings = yaml.safe_load(gateway.config.read_text())
    settings["policy"] = {**POLICY, "entity_types": {"IBAN": "mask"}}
    beside = gateway.config.with_suffix(".new")
    beside.write_text(yaml.safe_dump(settings))
    beside.replace(gateway.config)
    until(lambda: [each for each in gateway.records() if each["type"] == "gateway.policy"], "the new policy")
    until(lambda: remembered_bytes(gateway) == 0, "the memory of the new settings")
    cloud.forget()
    converse(gateway, TURNS)
    assert "[IBAN]" in cloud.requests[0]["messages"][2]["content"]
    assert "[IBAN]" in cloud.requests[-1]["messages"][2]["content"]
    assert_clean(cloud, NAME, IBAN, MAIL)
