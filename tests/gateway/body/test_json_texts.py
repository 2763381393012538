"""Leaves of a body: everything that could be somebody's, and nothing that every request says."""

from __future__ import annotations

from sovctl.gateway.body.json_texts import json_texts_of


def test_the_model_and_the_words_of_the_api_are_no_leaves() -> None:
    body = {
        "model": "assistant",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "user", "model": "anna"}]}],
        "tool_choice": "auto",
    }
    assert [(leaf.path, leaf.text) for leaf in json_texts_of(body, max_depth=9).texts] == [
        (("messages", 0, "content", 0, "text"), "user"),
        (("messages", 0, "content", 0, "model"), "anna"),
        (("tool_choice",), "auto"),
    ]


def test_any_other_role_or_type_is_one() -> None:
    body = {"messages": [{"role": "anna", "type": "DE89370400440532013000"}]}
    assert [leaf.text for leaf in json_texts_of(body, max_depth=9).texts] == ["anna", "DE89370400440532013000"]


def test_a_key_that_is_no_plain_field_name_is_told() -> None:
    body = {"max_tokens": 1, "$ref-a.b": 1, "": 1, "x1": 1, "анна": 1, "a b": 1, "anna@example": 1}
    assert json_texts_of(body, max_depth=9).keys == ["x1", "анна", "a b", "anna@example"]
