"""Clients of embedding and reranker pools against a real server on loopback, with mutual TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pooling_server
import pytest
from pooling_server import DIMENSIONS, MODEL, PoolingServer

from sovctl.gateway.retrieval.models import (
    EmbeddingClient,
    EmbeddingSettings,
    PoolRefused,
    PoolUnavailable,
    RerankClient,
    RerankSettings,
)
from sovctl.support.errors import InputError

DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture
def server() -> Iterator[PoolingServer]:
    with pooling_server.pooling_server() as served:
        yield served


def embedding(*urls: str, **more: Any) -> EmbeddingSettings:
    return EmbeddingSettings(base_urls=urls, model=MODEL, model_digest=DIGEST, dimensions=DIMENSIONS, **more)


def embed(settings: EmbeddingSettings, texts: list[str], kind: Any = "passage") -> list[list[float]]:
    async def run() -> list[list[float]]:
        client = EmbeddingClient(settings)
        try:
            return await client.embed(texts, kind)
        finally:
            await client.close()

    return asyncio.run(run())


def rerank(settings: RerankSettings, query: str, texts: list[str]) -> list[float]:
    async def run() -> list[float]:
        client = RerankClient(settings)
        try:
            return await client.scores(query, texts)
        finally:
            await client.close()

    return asyncio.run(run())


def test_returns_vectors_in_the_order_of_the_texts_over_batches(server: PoolingServer) -> None:
    texts = [f"text number {n}" for n in range(7)]
    found = embed(embedding(server.url, batch_texts=3), texts)
    for one, other in zip(found, [pooling_server.vector(text) for text in texts], strict=True):
        assert one == pytest.approx(other)
    assert sorted(len(body["input"]) for body in server.bodies) == [1, 3, 3]


def test_limits_the_characters_of_a_request(server: PoolingServer) -> None:
    embed(embedding(server.url, batch_characters=1000), ["a" * 600, "b" * 600, "c" * 100])
    assert sorted(len(body["input"]) for body in server.bodies) == [1, 2]


def test_query_and_passage_have_their_prefixes(server: PoolingServer) -> None:
    settings = embedding(server.url, query_prefix="query: ", passage_prefix="passage: ")
    embed(settings, ["a b"], "query")
    embed(settings, ["a b"], "passage")
    assert [body["input"] for body in server.bodies] == [["query: a b"], ["passage: a b"]]


@pytest.mark.parametrize("fault", ["down", "short", "zero", "dimensions", "repeated", "model"])
def test_an_incomplete_or_invalid_answer_is_an_error(server: PoolingServer, fault: str) -> None:
    server.fault = fault
    with pytest.raises(PoolUnavailable) as error:
        embed(embedding(server.url), ["a secret text", "b"])
    assert "secret" not in f"{error.value} {error.value.hint}"


def test_a_text_that_is_too_long_is_refused_and_not_cut(server: PoolingServer) -> None:
    with pytest.raises(PoolRefused, match="400"):
        embed(embedding(server.url), ["word " * (pooling_server.MAX_WORDS + 1)])


def test_a_pool_that_is_away_is_unavailable() -> None:
    with pytest.raises(PoolUnavailable):
        embed(embedding("http://127.0.0.1:9/v1"), ["a"])


def test_all_replicas_serve_and_a_failed_one_is_replaced() -> None:
    texts = [f"text number {n}" for n in range(8)]
    expected = [pooling_server.vector(text) for text in texts]

    async def run(*urls: str) -> list[list[float]]:
        client = EmbeddingClient(embedding(*urls, batch_texts=1))
        try:
            return [vector for text in texts for vector in await client.embed([text], "passage")]
        finally:
            await client.close()

    with pooling_server.pooling_server() as one, pooling_server.pooling_server() as other:
        assert asyncio.run(run(one.url, other.url)) == [pytest.approx(each) for each in expected]
        assert [len(one.bodies), len(other.bodies)] == [4, 4]
        one.fault = "down"
        assert asyncio.run(run("http://127.0.0.1:9/v1", one.url, other.url)) == [
            pytest.approx(each) for each in expected
        ]
        # One request shows that the first replica fails; the others are not sent to it.
        assert [len(one.bodies), len(other.bodies)] == [5, 12]
        other.fault = "down"
        with pytest.raises(PoolUnavailable, match="status 200, got 500"):
            asyncio.run(run(one.url, other.url))
        one.fault = other.fault = ""
        with pytest.raises(PoolRefused):
            embed(embedding(one.url, other.url), ["word " * (pooling_server.MAX_WORDS + 1)])
        assert len(one.bodies) + len(other.bodies) == 5 + 12 + 2 + 1


def test_rerank_scores_have_the_order_of_the_texts(server: PoolingServer) -> None:
    settings = RerankSettings(base_urls=[server.url], model=MODEL, model_digest=DIGEST, batch_texts=2)
    texts = ["other words", "card limit", "the card"]
    assert rerank(settings, "card limit", texts) == [0.0, 1.0, 0.5]
    server.fault = "short"
    with pytest.raises(PoolUnavailable):
        rerank(settings, "card limit", texts)


def test_mutual_tls_and_api_key(pki: Any, tmp_path: Path) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki.ca_file)
    tls.load_cert_chain(pki.certificate_file, pki.key_file)
    tls.verify_mode = ssl.CERT_REQUIRED
    key = tmp_path / "key"
    key.write_text("invented-key\n")
    key.chmod(0o600)
    with pooling_server.pooling_server(tls) as served:
        trusted = {"ca": pki.ca_file}
        certificate = {"certificate": pki.client_certificate_file, "key": pki.client_key_file}
        assert embed(embedding(served.url, **trusted, **certificate, api_key_file=key), ["a"])
        assert served.authorizations == ["Bearer invented-key"]
        with pytest.raises(PoolUnavailable):
            embed(embedding(served.url, **trusted), ["a"])
    with pytest.raises(InputError, match="unusable"):
        EmbeddingClient(embedding("https://127.0.0.1:1/v1", ca=tmp_path / "absent"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_urls": []},
        {"base_urls": ["http://192.0.2.1/v1"]},
        {"base_urls": ["http://127.0.0.1/v1", "http://192.0.2.1/v1"]},
        {"base_urls": ["https://192.0.2.1/v1"]},
        {"base_urls": ["http://127.0.0.1/v1", "http://127.0.0.1/v1"]},
        {"base_urls": ["http://127.0.0.1/v1", "https://127.0.0.1/v1"], "ca": "ca"},
        {"base_urls": ["http://127.0.0.1/v1"], "certificate": "x"},
        {"base_urls": ["http://127.0.0.1/v1"], "model_digest": "md5:1"},
    ],
)
def test_refuses_unsafe_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        EmbeddingSettings.model_validate({"model": MODEL, "model_digest": DIGEST, "dimensions": 8, **wrong})
