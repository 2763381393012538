"""The retrieval service as a process: API, certificates, principals, commands, log and metrics."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pooling_server import PoolingServer, pooling_server
from postgresql_server import PostgresqlServer
from retrieval_database import NEXT_DIGEST, RetrievalDatabase
from retrieval_process import ADMINISTRATOR, GATEWAY, RetrievalService, document_body

SECRET = "The hidden merger is called Falcon"


@pytest.fixture(scope="module")
def pooling() -> Iterator[PoolingServer]:
    with pooling_server() as server:
        yield server


@pytest.fixture(scope="module")
def service(
    vector_server: PostgresqlServer, pooling: PoolingServer, pki: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RetrievalService]:
    folder = tmp_path_factory.mktemp("service")
    made = RetrievalService(RetrievalDatabase(vector_server, folder), pooling, pki, folder)
    assert asyncio.run(made.database.migrate())
    with made.running() as running:
        yield running


def _texts(answer: tuple[int, Any]) -> list[str]:
    assert answer[0] == 200, answer
    return [hit["text"] for hit in answer[1]["hits"]]


def test_a_document_is_found_by_its_readers_until_it_is_deleted(service: RetrievalService) -> None:
    body = document_body("board/minutes.pdf", SECRET, ["board"])
    status, stored = service.request("POST", "/v1/documents", body)
    assert (status, stored["chunks"]) == (200, 1)
    status, answer = service.search(service.principal("board"), "which merger is hidden", k=5)
    assert status == 200
    (hit,) = answer["hits"]
    assert hit["document_id"] == stored["document_id"]
    assert (hit["source_id"], hit["page"], hit["start"], hit["end"]) == ("board/minutes.pdf", 3, 0, len(SECRET))
    assert hit["text"] == SECRET
    assert 0 < hit["score"] <= 1
    assert _texts(service.search(service.principal("staff"), "which merger is hidden")) == []

    (listed,) = service.request("GET", "/v1/documents?collection=handbook")[1]["documents"]
    assert listed["groups"] == {"allow": ["board"], "deny": []}
    path = "/v1/documents/handbook/board%2Fminutes.pdf"
    assert service.request("PUT", f"{path}/groups", {"allow": ["board"], "deny": ["guests"]})[0] == 204
    assert _texts(service.search(service.principal("board", "guests"), "merger")) == []
    assert _texts(service.search(service.principal("board"), "merger")) == [SECRET]

    directory = {"groups": {"board": ["sso:bert"]}}
    assert service.request("PUT", "/v1/directory", directory) == (200, {"groups": 1, "memberships": 1})
    assert _texts(service.search(service.principal("board"), "merger")) == []
    assert _texts(service.search(service.principal("board", name="sso:bert"), "merger")) == [SECRET]
    assert service.request("PUT", "/v1/directory", {"groups": {"board": ["sso:anna", "sso:bert"]}})[0] == 200

    assert service.request("DELETE", path)[0] == 204
    assert _texts(service.search(service.principal("board"), "merger")) == []
    assert service.request("DELETE", path)[0] == 404


def test_forbidden_unknown_and_empty_have_the_same_answer(service: RetrievalService) -> None:
    service.request("POST", "/v1/documents", document_body("secret", SECRET, ["board"]))
    answers = [
        service.search(service.principal("staff"), "merger"),
        service.search(service.principal(), "merger"),
        service.search(service.principal("staff"), "merger", k=1, rerank=True),
    ]
    assert answers == [(200, {"collection": "handbook", "hits": []})] * 3
    unknown = service.search(service.principal("staff"), "merger", collection="none-such")
    assert unknown == (200, {"collection": "none-such", "hits": []})
    service.request("DELETE", "/v1/documents/handbook/secret")


def test_reranking_orders_by_the_score_of_the_reranker(service: RetrievalService) -> None:
    for name, text in (("a", "holiday days"), ("b", "holiday days in the summer at the sea")):
        service.request("POST", "/v1/documents", document_body(name, text, ["board"]))
    query = "holiday at the sea"
    plain, reranked = (service.search(service.principal("board"), query, k=1, rerank=each) for each in (False, True))
    assert _texts(reranked) == ["holiday days in the summer at the sea"]
    assert reranked[1]["hits"][0]["score"] == 1.0
    assert len(_texts(plain)) == 1
    for name in "ab":
        service.request("DELETE", f"/v1/documents/handbook/{name}")


def test_invalid_principals_are_refused_without_a_reason(service: RetrievalService) -> None:
    other = RetrievalService.principal
    forged = service.principal("board")[:-8] + "AAAAAAAA"
    invalid = [
        "",
        "x.y.z",
        forged,
        other(service, "board", age_s=90),
        other(service, "board", audience="other-pool"),
        service.principal("board").replace(".", "..", 1),
    ]
    for principal in invalid:
        status, answer = service.search(principal, "merger")
        assert (status, answer["error"]["code"]) == (401, "principal_invalid"), principal
    status, answer = service.request("POST", "/v1/search", {"collection": "handbook", "query": "x"}, who=GATEWAY)
    assert status == 401


def test_each_certificate_has_its_routes(service: RetrievalService) -> None:
    body = {"collection": "handbook", "query": "x"}
    principal = service.principal("board")
    assert service.request("POST", "/v1/search", body, who=ADMINISTRATOR, principal=principal)[0] == 403
    for method, path in (
        ("POST", "/v1/documents"),
        ("GET", "/v1/documents?collection=handbook"),
        ("PUT", "/v1/directory"),
        ("PUT", "/v1/documents/handbook/x/groups"),
        ("DELETE", "/v1/documents/handbook/x"),
    ):
        assert service.request(method, path, {}, who=GATEWAY, principal=principal)[0] == 403, path
    assert service.request("GET", "/health", who=GATEWAY)[0] == 200
    with pytest.raises((ssl.SSLError, ConnectionError)):
        service.request("GET", "/health", who=None)


def test_invalid_bodies_are_refused_without_their_text(service: RetrievalService) -> None:
    good = document_body("x", "some text", ["board"])
    chunk = good["chunks"][0]
    for changes in (
        {"version": SECRET},
        {"chunks": [{**chunk, "ordinal": 1}]},
        {"chunks": [{**chunk, "end": 4}]},
        {"title": "nul \0 here"},
        {"groups": {"allow": "board"}},
        {"surplus": 1},
    ):
        status, answer = service.request("POST", "/v1/documents", {**good, **changes})
        assert (status, answer["error"]["code"]) == (422, "invalid_body"), changes
        assert SECRET not in str(answer)
    for body in ({"k": 0}, {"k": 51}, {"query": ""}, {"groups": ["board"]}):
        assert service.search(service.principal("board"), **{"query": "x", **body})[0] == 422, body
    long = document_body("x", "w " * 3000, ["board"])
    assert service.request("POST", "/v1/documents", long)[0] == 422  # the pool refuses it
    unknown = document_body("x", "text", ["board"], collection="none-such")
    assert service.request("POST", "/v1/documents", unknown)[1]["error"]["code"] == "collection_unknown"


def test_a_pool_without_answer_is_503_and_stores_nothing(service: RetrievalService, pooling: PoolingServer) -> None:
    pooling.fault = "down"
    try:
        assert service.request("POST", "/v1/documents", document_body("x", "text", ["board"]))[0] == 503
        assert service.search(service.principal("board"), "text")[0] == 503
        assert service.request("GET", "/health")[0] == 503
        assert service.request("GET", "/metrics")[0] == 200  # roles/retrieval waits for it
    finally:
        pooling.fault = ""
    assert service.request("GET", "/v1/documents?collection=handbook")[1] == {"documents": []}


def test_metrics_and_log_have_no_text_and_no_names(service: RetrievalService) -> None:
    service.request("POST", "/v1/documents", document_body("falcon.pdf", SECRET, ["secret-group"]))
    service.search(service.principal("secret-group"), "merger Falcon")
    service.request("DELETE", "/v1/documents/handbook/falcon.pdf")
    status, metrics = service.request("GET", "/metrics")
    assert status == 200
    assert 'sovctl_retrieval_searches_total{path="exact"}' in metrics
    assert 'sovctl_retrieval_requests_total{route="/v1/search",status="200"}' in metrics
    for text in (metrics, service.log_file.read_text()):
        for word in ("alcon", "secret-group", "sso:anna", "merger"):
            assert word not in text


def test_check_passes_and_finds_a_weakened_database(service: RetrievalService) -> None:
    done = service.command("check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed") == 8
    database = service.database
    for weaken, repair in (
        (
            "ALTER TABLE retrieval.chunk NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE retrieval.chunk FORCE ROW LEVEL SECURITY",
        ),
        (
            "GRANT SELECT (title) ON retrieval.document TO sovctl_retrieval",
            "REVOKE SELECT (title) ON retrieval.document FROM sovctl_retrieval",
        ),
        (
            "GRANT sovctl_retrieval_reader TO sovctl_retrieval",
            "REVOKE sovctl_retrieval_reader FROM sovctl_retrieval",
        ),
    ):
        database.psql(weaken)
        done = service.command("check")
        database.psql(repair)
        assert done.returncode == 1, weaken
        assert "failed" in done.stdout


def test_commands_state_bad_settings_and_migrate_twice(service: RetrievalService, tmp_path: Path) -> None:
    dsn = service.database.superuser_dsn
    assert service.command("migrate", "--dsn", dsn).stdout == "unchanged\n"
    good = service.config.read_text()
    service.config.write_text(good.replace("gateways:", "gatways:"))
    done = service.command("check")
    service.config.write_text(good)
    assert done.returncode == 3
    assert "gatways" in done.stderr
    assert "gateways" in done.stderr
    assert "Traceback" not in done.stderr


def test_reembed_computes_vectors_of_a_new_model(service: RetrievalService) -> None:
    service.request("POST", "/v1/documents", document_body("old", "holiday days", ["board"]))
    good = service.config.read_text()
    current = service.database.content["embedding"]
    service.database.content["embedding_next"] = {**current, "model": "words-next", "model_digest": NEXT_DIGEST}
    service.config.write_text(yaml.safe_dump(service.database.content))
    try:
        assert service.command("migrate", "--dsn", service.database.superuser_dsn).stdout == "changed\n"
        done = service.command("reembed")
        assert "handbook: 1 vectors of words-next" in done.stdout, done.stderr
        assert "handbook: 0 vectors of words-next" in service.command("reembed").stdout
    finally:
        del service.database.content["embedding_next"]
        service.config.write_text(good)
