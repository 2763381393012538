"""Embeddings, rerank, score and the batch form of chat: tokens go out, vectors pass, documents come back."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_openai import OpenAIEmbeddings
from surface_givens import API_KEY, IBAN, MAIL, PROMPT, assert_clean, audited, post
from surface_upstream import VECTOR, SurfaceUpstream


@pytest.mark.parametrize("encoding_format", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}])
def test_vectors_pass_as_they_came(gateway: Any, cloud: SurfaceUpstream, encoding_format: Any) -> None:
    answer = gateway.client().embeddings.create(
        model="assistant", input=[PROMPT, "Please write a letter"], **encoding_format
    )
    assert answer.model == "assistant"
    assert [item.index for item in answer.data] == [0, 1]
    vector = answer.data[0].embedding
    if encoding_format.get("encoding_format") != "base64":
        assert vector == pytest.approx(VECTOR)
    assert_clean(cloud)


def test_langchain_embeds_over_it(gateway: Any, cloud: SurfaceUpstream) -> None:
    client = gateway.client()
    embeddings = OpenAIEmbeddings(
        model="assistant",
        api_key=API_KEY,
        base_url=str(client.base_url),
        http_client=client._client,
        check_embedding_ctx_length=False,
    )
    assert embeddings.embed_query(PROMPT) == pytest.approx(VECTOR)
    assert_clean(cloud)


def test_a_question_finds_the_document_that_names_the_same_value(gateway: Any, cloud: SurfaceUpstream) -> None:
    create = gateway.client().embeddings.create
    create(model="assistant", input=f"Please find the letter to {MAIL}")
    create(model="assistant", input=f"A letter to {MAIL}, written in spring")
    first, second = (
        next(word for word in request["input"].replace(",", "").split() if word.startswith("EMAIL_"))
        for request in cloud.requests
    )
    assert first == second


def test_token_ids_stay_on_prem(gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream) -> None:
    answer = gateway.client().embeddings.with_raw_response.create(model="assistant", input=[[1, 2, 3]])
    assert answer.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests
    assert "obstacle:token-ids" in audited(gateway)["reasons"]
    assert audited(gateway)["surface"] == "embeddings"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/rerank", {"query": [1, 2, 3], "documents": ["Please write a letter"]}),
        ("/v1/rerank", {"query": "Please write a letter", "documents": [[1, 2], [3]]}),
        ("/v1/score", {"text_1": "Please write a letter", "text_2": [[1, 2, 3]]}),
        ("/v1/score", {"queries": [1, 2, 3], "documents": ["Please write a letter"]}),
    ],
)
def test_token_ids_that_are_compared_leave_no_more_than_others(
    gateway: Any, cloud: SurfaceUpstream, path: str, body: Any
) -> None:
    post(gateway, path, {"model": "assistant", **body})
    assert not cloud.requests
    assert "obstacle:token-ids" in audited(gateway)["reasons"]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_reranked_documents_come_back_with_their_values(gateway: Any, cloud: SurfaceUpstream, path: str) -> None:
    documents = [PROMPT, "Please write a short letter", f"Please pay to {IBAN}"]
    query = f"Which document is about {MAIL}?"
    status, headers, answer = post(gateway, path, {"model": "assistant", "query": query, "documents": documents})
    assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert [result["document"]["text"] for result in answer["results"]] == documents
    assert answer["results"][1]["relevance_score"] == 0.5
    assert answer["model"] == "assistant"
    assert_clean(cloud)
    sent = cloud.requests[0]
    assert sent["query"].split()[-1].rstrip("?") in sent["documents"][0]  # the same value, the same token


@pytest.mark.parametrize("path", ["/v1/score", "/score"])
@pytest.mark.parametrize("sides", [("text_1", "text_2"), ("queries", "documents"), ("data_1", "data_2")])
def test_scores_are_made_of_tokens(gateway: Any, cloud: SurfaceUpstream, path: str, sides: tuple[str, str]) -> None:
    body = {"model": "assistant", sides[0]: PROMPT, sides[1]: [f"Please write to {MAIL}"]}
    status, _, answer = post(gateway, path, body)
    assert (status, answer["data"][0]["score"]) == (200, 0.5)
    assert_clean(cloud)


def test_many_conversations_in_one_request(gateway: Any, cloud: SurfaceUpstream) -> None:
    conversations = [[{"role": "user", "content": content}] for content in (PROMPT, f"Please write to {MAIL}")]
    status, _, answer = post(gateway, "/v1/chat/completions/batch", {"model": "assistant", "messages": conversations})
    assert status == 200
    assert [c["message"]["content"] for c in answer["choices"]] == [each[0]["content"] for each in conversations]
    assert_clean(cloud)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {}),
        ("/v1/rerank", {"query": "x"}),
        ("/v1/score", {"text_1": "x"}),
        ("/v1/chat/completions/batch", {"messages": [{"role": "user"}]}),
        ("/v1/embeddings", {"input": "x", "stream": True}),
    ],
)
def test_what_is_no_request_of_the_surface_goes_nowhere(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, path: str, body: Any
) -> None:
    status, _, answer = post(gateway, path, {"model": "assistant", **body})
    assert (status, answer["error"]["code"]) == (400, "invalid_request")
    assert answer["error"]["param"] in ("input", "documents", "text_2", "messages", "stream")
    assert not pool.requests
    assert not cloud.requests


def test_an_upstream_only_gets_the_surfaces_that_it_serves(start: Any, pki: Any) -> None:
    class ChatOnly(SurfaceUpstream):
        surfaces = ("chat.completions",)

    with ChatOnly(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as pool:
        gateway = start(pool=pool)
        status, headers, _ = post(gateway, "/v1/embeddings", {"model": "careful", "input": "Please write a letter"})
        assert (status, headers["x-sovctl-route"]) == (200, "cloud")
        status, _, answer = post(gateway, "/v1/embeddings", {"model": "inside", "input": "Please write a letter"})
        assert (status, answer["error"]["code"]) == (404, "surface_not_served")
        assert "surface:chat" in audited(gateway)["reasons"]
        assert not pool.requests
