"""Tool calls through the gateway to the lab's pool: found by the parser of the catalogue, or forced by a grammar.

The model repeats the user's text, so a text in the form of the parser is an automatic tool call. A forced call needs no
understanding either: the grammar permits only arguments of the function's schema.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab_site import LabSite

pytestmark = pytest.mark.lab

ARGUMENTS = {"account": "open", "urgent": True}
TEXT = f'[{{"name": "send_report", "arguments": {json.dumps(ARGUMENTS)}}}]'
SCHEMA = {
    "type": "object",
    "properties": {"account": {"type": "string", "enum": ["open", "closed"]}, "urgent": {"type": "boolean"}},
    "required": ["account", "urgent"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "send_report", "parameters": SCHEMA}}]


def tool_call(site: LabSite, content: str, tool_choice: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The message of the answer, and its only tool call as name and arguments."""
    status, route, answer = site.post(
        "private", content, tools=TOOLS, tool_choice=tool_choice, parallel_tool_calls=False
    )
    assert (status, route) == (200, "pool"), answer
    message = answer["choices"][0]["message"]
    (call,) = message["tool_calls"]
    return message, {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}


def test_a_call_that_the_model_chooses_reaches_the_client(site: LabSite) -> None:
    message, call = tool_call(site, TEXT, "auto")
    assert call == {"name": "send_report", "arguments": ARGUMENTS}
    assert not message.get("content")


@pytest.mark.parametrize(
    "tool_choice", ["required", {"type": "function", "function": {"name": "send_report"}}], ids=["required", "named"]
)
def test_a_forced_call_has_arguments_of_the_schema(site: LabSite, tool_choice: Any) -> None:
    _, call = tool_call(site, "Please send the report.", tool_choice)
    assert call["name"] == "send_report"
    assert set(call["arguments"]) == {"account", "urgent"}
    assert call["arguments"]["account"] in ("open", "closed")
    assert isinstance(call["arguments"]["urgent"], bool)


def test_text_without_a_call_stays_text(site: LabSite) -> None:
    status, _, answer = site.post("private", "Please send the report.", tools=TOOLS, tool_choice="auto")
    assert status == 200
    message = answer["choices"][0]["message"]
    assert message["content"] == "Please send the report."
    assert not message.get("tool_calls")
