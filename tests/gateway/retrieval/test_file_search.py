"""The tool `file_search` in chat completions, with the real retrieval service and PostgreSQL."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from echo_upstream import EchoUpstream, echo
from gateway_yaml import API_KEY
from search_site import CARDS, CHAT_ONLY_KEY, MERGER, Site

TOOL = {"type": "file_search", "vector_store_ids": ["handbook"], "max_num_results": 2}
QUESTION = "What did the board approve, and when is a lost card blocked?"


def _citing(body: dict[str, Any]) -> dict[str, Any]:
    """An answer that quotes the minutes, then a sentence that no source contains, and cites an absent source."""
    sources = body["messages"][-1]["content"].split("<source id=")[1:]
    minutes = next((number for number, text in enumerate(sources, start=1) if MERGER in text), 1)
    said = f'The minutes say "{MERGER}" [{minutes}], [{3 - minutes}] and "The board refused it." [{minutes}]; see [3].'
    return {"role": "assistant", "content": said}


@pytest.fixture
def asked(pool: EchoUpstream) -> Any:
    """A pool whose model cites; the list is empty at first, and gets what is sent."""
    pool.requests.clear()
    pool.script.message = _citing
    yield pool.requests
    pool.script.message = echo


def _ask(site: Site, **more: Any) -> Any:
    body = {"model": "inside", "messages": [{"role": "user", "content": QUESTION}], "tools": [TOOL], **more}
    return site.gateway.client(API_KEY).chat.completions.create(**body)


def _deny_all(site: Site, name: str) -> None:
    assert (
        site.service.request("PUT", f"/v1/documents/handbook/{name}/groups", {"allow": ["none"], "deny": []})[0] == 204
    )


def test_an_answer_cites_what_the_client_may_read(site: Site, asked: list[dict[str, Any]]) -> None:
    message = _ask(site).choices[0].message
    [sent] = asked
    content = sent["messages"][-1]["content"]
    assert content.startswith(f"{QUESTION}\n\n<sources ")
    assert all(text in content for text in (CARDS, MERGER))
    assert "tools" not in sent

    cited = [each.model_dump()["file_citation"] for each in message.annotations]
    assert [each["filename"] for each in cited] == ["board/minutes.md", "cards.md", "board/minutes.md"]
    assert all(re.match(r"\[[12]\]", message.content[each["index"] :]) for each in cited)
    assert [each.get("quote") for each in cited] == [MERGER, None, None]  # the second quote is in no source
    assert cited[0]["end"] - cited[0]["start"] == len(MERGER)
    versions = dict(site.records()[-1]["documents"])
    assert all(versions[each["file_id"]] == each["version"] for each in cited)

    pieces = [piece.choices[0].delta for piece in _ask(site, stream=True) if piece.choices]
    assert "".join(piece.content or "" for piece in pieces) == message.content
    streamed = [piece.model_dump()["annotations"] for piece in pieces if "annotations" in piece.model_dump()]
    assert [[each["file_citation"] for each in annotations] for annotations in streamed] == [cited]


def test_a_revocation_acts_at_the_next_question(site: Site, asked: list[dict[str, Any]]) -> None:
    for name in ("cards.md", "board%2Fminutes.md"):
        _deny_all(site, name)
    assert not _ask(site).choices[0].message.annotations
    content = asked[-1]["messages"][-1]["content"]
    assert "no source was found" in content
    assert MERGER not in content
    unknown = {**TOOL, "vector_store_ids": ["no-such-store"]}
    assert not _ask(site, tools=[unknown]).choices[0].message.annotations
    assert asked[-1]["messages"] == asked[-2]["messages"]


def test_a_list_of_surfaces_excludes_the_tool(site: Site) -> None:
    body = {"model": "inside", "messages": [{"role": "user", "content": QUESTION}], "tools": [TOOL]}
    headers = {"authorization": f"Bearer {CHAT_ONLY_KEY}"}
    status, _, answer = site.gateway.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
    assert (status, json.loads(answer)["error"]["code"]) == (403, "surface_not_allowed")
