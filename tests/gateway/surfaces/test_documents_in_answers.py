"""Objects of somebody's own making in answers come back whole, whatever their keys are called."""

from __future__ import annotations

from typing import Any

import pytest

from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import RestoreCounts
from sovctl.gateway.tokens.token import TokenIssuer

VALUE = "anna@b.example"
TOKEN = TokenIssuer(bytes(32), tenant="t", conversation="c").token(EntityType.EMAIL, VALUE, VALUE)


def made_of(word: str, names: frozenset[str]) -> dict[str, Any]:
    return {**dict.fromkeys(sorted(names), word), "deep": [{"id": word, "n": 1}], word: None}


def tools(word: str, names: frozenset[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"id": {"type": "string", "default": word}}, **made_of(word, names)}
    return {
        "output": [
            {"type": "file_search_call", "results": [{"attributes": made_of(word, names)}]},
            {"type": "sandbox_call", "action": {"type": "exec", "env": made_of(word, names)}},
            {"type": "mcp_list_tools", "tools": [{"name": "x", "input_schema": schema}]},
        ],
        "tools": [{"type": "function", "name": "x", "parameters": schema}],
        "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}},
    }


def documents(word: str, names: frozenset[str]) -> dict[str, Any]:
    return {"results": [{"index": 0, "document": made_of(word, names)}, {"index": 1, "document": f"to {word}"}]}


@pytest.mark.parametrize(("path", "answer"), [("/v1/responses", tools), ("/v1/rerank", documents)])
def test_what_a_server_repeats_or_found_is_restored_under_every_name(path: str, answer: Any) -> None:
    surface = SURFACES[path]
    names = surface.fields.left_alone
    made = surface.whole(answer(TOKEN, names), Restoration({TOKEN: VALUE}, "assistant", RestoreCounts()))
    assert made == answer(VALUE, names)
