"""`POST /v1/vector_stores/NAME/search` of a gateway, with the real retrieval service and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from gateway_yaml import API_KEY, OTHER_KEY, Pki
from search_site import CHAT_ONLY_KEY, MERGER, Site


def test_each_client_sees_what_its_groups_may_read(site: Site) -> None:
    question = "What did the board approve?"
    assert sorted(site.names(question)) == ["board/minutes.md", "cards.md"]
    assert site.names(question, key=OTHER_KEY) == ["cards.md"]

    page = site.gateway.client().vector_stores.search("handbook", query="merger budget", max_num_results=1)
    [found] = page.data
    assert (found.filename, found.content[0].text) == ("board/minutes.md", MERGER)
    assert found.attributes["page"] == 3
    assert found.attributes["end"] - found.attributes["start"] == len(MERGER)

    # Revoked at once: the document's list, and the export of the directory.
    site.service.request("PUT", "/v1/documents/handbook/cards.md/groups", {"allow": ["board"], "deny": []})
    assert site.names(question, key=OTHER_KEY) == []
    site.service.request("PUT", "/v1/directory", {"groups": {"staff": ["branch"], "board": []}})
    assert site.names(question) == []

    # Nothing reveals whether a collection exists; records name documents, and no text.
    unknown = site.search({"query": question}, key=OTHER_KEY, store="no-such-store")
    assert unknown == site.search({"query": question}, key=OTHER_KEY) == site.search({"query": question}, store="A%20b")
    records = site.records()
    assert [each["chunks"] for each in records] == [2, 1, 1, 0, 0, 0, 0, 0]
    assert all(len(document) == 2 for each in records for document in each["documents"])
    assert not any(word in json.dumps(records) for word in ("merger", "approve", "lost card", "minutes.md"))
    assert "merger" not in site.gateway.log() + site.service.log_file.read_text()
    assert not site.cloud.requests


def test_a_client_cannot_name_groups_or_a_principal(site: Site) -> None:
    forged = site.service.principal("board")
    assert site.names("board", key=OTHER_KEY, headers={"x-sovctl-principal": forged}) == ["cards.md"]
    for extra in ({"groups": ["board"]}, {"filters": {"type": "eq", "key": "group", "value": "board"}}):
        status, answer = site.search({"query": "board", **extra}, key=OTHER_KEY)
        assert (status, answer["error"]["code"]) == (400, "field_not_allowed")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        ([], 400, "invalid_request"),
        ({}, 400, "invalid_request"),
        ({"query": ""}, 400, "invalid_request"),
        ({"query": "a", "max_num_results": 51}, 400, "invalid_request"),
        ({"query": ["a", "b"]}, 400, "invalid_request"),
        ({"query": "a", "rewrite_query": True}, 400, "invalid_request"),
        ({"query": "x" * (64 << 10)}, 413, "body_too_large"),
    ],
)
def test_refuses_invalid_bodies(start_search: Site, body: Any, status: int, code: str) -> None:
    found, answer = start_search.search(body)
    assert (found, answer["error"]["code"]) == (status, code)


@pytest.fixture(scope="module")
def start_search(
    tmp_path_factory: pytest.TempPathFactory, pki: Pki, start: Callable[..., Any], cloud: EchoUpstream
) -> Site:
    """A gateway whose retrieval service does not run."""
    folder = tmp_path_factory.mktemp("search")
    service = {"url": "https://127.0.0.1:1", "ca_file": str(pki.ca_file)}
    gateway = start(retrieval=service, access={"principal_key_files": [str(folder / "principal.key")]})
    return Site(gateway, None, cloud)  # type: ignore[arg-type]


def test_fails_closed_without_the_service(start_search: Site) -> None:
    status, answer = start_search.search({"query": "cards"})
    assert (status, answer["error"]["code"]) == (503, "retrieval_unavailable")
    assert start_search.search({"query": "cards"}, key="no-such-key")[0] == 401
    status, headers, _ = start_search.gateway.request(
        "PUT", "/v1/vector_stores/a/search", b"", {"authorization": f"Bearer {API_KEY}"}
    )
    assert (status, headers["allow"]) == (405, "POST, OPTIONS")
    assert not start_search.records()


def test_a_list_of_surfaces_excludes_searches(site: Site) -> None:
    status, answer = site.search({"query": "cards"}, key=CHAT_ONLY_KEY)
    assert (status, answer["error"]["code"]) == (403, "surface_not_allowed")
