"""The tool `file_search` in responses, with the real retrieval service and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from gateway_yaml import API_KEY, Pki
from search_site import MERGER, Site
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from surface_upstream import PoolUpstream, output_of, response_events, response_of

TOOL = {"type": "file_search", "vector_store_ids": ["handbook"], "max_num_results": 2}
QUESTION = "What did the board approve?"


class _CitingPool(PoolUpstream):
    """Quotes the minutes if they are a source of the last message."""

    async def _responses(self, request: Request) -> Response:
        body = await self.got(request)
        content = body["input"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        sources = text.split("<source id=")[1:]
        found = [number for number, source in enumerate(sources, start=1) if MERGER in source]
        said = {**body, "input": f'The minutes say "{MERGER}" [{found[0]}].' if found else "Nothing is known [1]."}
        if body.get("stream"):
            return self.streamed(response_events(said, "completed"))
        return JSONResponse(response_of(said, "completed", output_of(said)))


@pytest.fixture(scope="module")
def pool(pki: Pki) -> Iterator[EchoUpstream]:
    with _CitingPool(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


def _annotations(response: Any) -> list[dict[str, Any]]:
    [part] = [part for item in response.output if item.type == "message" for part in item.content]
    return [each.model_dump() for each in part.annotations]


def test_a_response_cites_what_the_client_may_read(site: Site, pool: EchoUpstream) -> None:
    pool.requests.clear()
    client = site.gateway.client(API_KEY)
    whole = client.responses.create(model="inside", input=QUESTION, tools=[TOOL])
    [cited] = _annotations(whole)
    assert (cited["type"], cited["filename"], cited["quote"]) == ("file_citation", "board/minutes.md", MERGER)
    assert whole.output_text[cited["index"] :].startswith("[")
    [sent] = pool.requests
    assert sent["input"][-1]["content"].startswith(f"{QUESTION}\n\n<sources ")
    assert "tools" not in sent

    parts = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    with client.responses.stream(model="inside", input=parts, tools=[TOOL]) as stream:
        last = [event.response for event in stream if event.type == "response.completed"]
    assert [_annotations(each) for each in last] == [[cited]]
    assert pool.requests[-1]["input"][-1]["content"][-1]["type"] == "input_text"


def test_a_revocation_acts_at_the_next_response(site: Site, pool: EchoUpstream) -> None:
    for name in ("cards.md", "board%2Fminutes.md"):
        body = {"allow": ["none"], "deny": []}
        assert site.service.request("PUT", f"/v1/documents/handbook/{name}/groups", body)[0] == 204
    client = site.gateway.client(API_KEY)
    assert not _annotations(client.responses.create(model="inside", input=QUESTION, tools=[TOOL]))
    assert MERGER not in json.dumps(pool.requests[-1])


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"input": [{"role": "system", "content": QUESTION}]}, "invalid_request"),
        ({"input": "  "}, "invalid_request"),
        ({"tools": [{**TOOL, "filters": {"type": "eq", "key": "group", "value": "board"}}]}, "field_not_allowed"),
        ({"tools": [TOOL, TOOL]}, "invalid_request"),
    ],
)
def test_an_invalid_use_of_the_tool_is_refused(site: Site, more: dict[str, Any], code: str) -> None:
    body = json.dumps({"model": "inside", "input": QUESTION, "tools": [TOOL], **more}).encode()
    headers = {"authorization": f"Bearer {API_KEY}", "content-type": "application/json"}
    status, _, answer = site.gateway.request("POST", "/v1/responses", body, headers)
    assert (status, json.loads(answer)["error"]["code"]) == (400, code)
