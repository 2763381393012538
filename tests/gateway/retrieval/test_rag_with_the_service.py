"""`sovctl rag` against the real service, PostgreSQL with pgvector, and an embedding server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import document_givens as given
import pooling_server
import pytest
import yaml
from loopback_ports import unused_port
from retrieval_database import DIGEST, RetrievalDatabase

from sovctl.compliance.signing import load_or_create
from sovctl.gateway.access.assertion import PrincipalSigner
from sovctl.gateway.access.principal import Principal
from sovctl.gateway.domain.citations import find_quote
from sovctl.gateway.retrieval.ingest.commands import main
from sovctl.gateway.retrieval.ingest.https import HttpsClient

START_S = 60


class Site:
    """A running service, a source folder and settings of `sovctl rag`."""

    def __init__(self, folder: Path, pki: Any, port: int, pool: pooling_server.PoolingServer) -> None:
        self.pool = pool
        self.url = f"https://127.0.0.1:{port}"
        self.root = folder / "handbook"
        (self.root / "board").mkdir(parents=True)
        (self.root / "cards.md").write_text("# Cards\n\nA lost card is blocked within five minutes of the call.")
        (self.root / "board" / "minutes.pdf").write_bytes(
            given.pdf(["The board met.", "The merger budget is approved."])
        )
        self.groups = folder / "groups.csv"
        self.groups.write_text("source,allow,deny\n/,staff,\nboard/,board,contractors\n")
        self.config = folder / "rag.yaml"
        service = {"url": self.url, "ca": str(pki.ca_file)}
        service |= {"certificate": str(pki.client_certificate_file), "key": str(pki.client_key_file)}
        self.config.write_text(yaml.safe_dump({"service": service}))
        self._signer = PrincipalSigner([load_or_create(folder / "principal.key")], site="test")
        (folder / "jwks.json").write_text(json.dumps(self._signer.jwks))
        self._gateway = {"ca": pki.ca_file, "certificate": pki.certificate_file, "key": pki.key_file}

    def run(self, *arguments: str) -> int:
        return main([arguments[0], f"--config={self.config}", "--json", *arguments[1:]])

    def source(self, command: str, *more: str) -> int:
        return self.run(command, "--collection=handbook", f"--groups-file={self.groups}", *more, "--", str(self.root))

    def search(self, query: str, *groups: str, subject: str = "sso:anna") -> list[dict[str, Any]]:
        """Search as the gateway, for a caller with these groups."""
        principal = Principal(name=subject, tenant="bank", method="oidc", key_id="k", groups=groups)
        token = self._signer.sign(principal, audience="retrieval", request_id=uuid.uuid4().hex, now=time.time())
        https = HttpsClient(
            self.url, name="service", timeout_s=30, headers={"x-sovctl-principal": token}, **self._gateway
        )
        with contextlib.closing(https):
            body = {"collection": "handbook", "query": query, "k": 5, "rerank": False}
            hits: list[dict[str, Any]] = https.request("POST", "/v1/search", body)["hits"]
        return hits

    def names(self, query: str, *groups: str, subject: str = "sso:anna") -> set[str]:
        return {hit["source_id"] for hit in self.search(query, *groups, subject=subject)}


@pytest.fixture
def site(tmp_path: Path, pki: Any, vector_server: Any) -> Iterator[Site]:
    port = unused_port()
    with pooling_server.pooling_server() as pool:
        embedding = {"base_urls": [pool.url], "model": pooling_server.MODEL, "model_digest": DIGEST}
        embedding |= {"dimensions": pooling_server.DIMENSIONS}
        listen = {"address": "127.0.0.1", "port": port, "certificate": str(pki.certificate_file)}
        listen |= {"key": str(pki.key_file), "client_ca": str(pki.ca_file)}
        names = {"administrators": ["client"], "gateways": ["server"]}
        database = RetrievalDatabase(vector_server, tmp_path, embedding=embedding, listen=listen, **names)
        asyncio.run(database.migrate())
        made = Site(tmp_path, pki, port, pool)
        config = tmp_path / "retrieval.yaml"
        config.write_text(yaml.safe_dump(database.content))
        program = [sys.executable, "-P", "-m", "sovctl.gateway.retrieval", "serve", f"--config={config}"]
        log = tmp_path / "service.log"
        with log.open("wb") as errors, subprocess.Popen(program, stderr=errors) as process:
            try:
                _wait(made, pki, process, log)
                yield made
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def _wait(site: Site, pki: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    https = HttpsClient(
        site.url,
        name="s",
        timeout_s=5,
        ca=pki.ca_file,
        certificate=pki.client_certificate_file,
        key=pki.client_key_file,
    )
    deadline = time.monotonic() + START_S
    with contextlib.closing(https):
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError, ssl.SSLError):
                if https._exchange("GET", "/health", None)[0] == 200:
                    return
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_documents_are_found_with_citations_by_their_groups_only(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert site.source("ingest") == 0, capsys.readouterr().err
    capsys.readouterr()
    assert site.source("ingest") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["unchanged"] == 2

    (hit,) = [hit for hit in site.search("merger budget", "board") if "merger" in hit["text"]]
    assert (hit["source_id"], hit["page"]) == ("board/minutes.pdf", 2)
    text = "The board met.\n\nThe merger budget is approved."
    assert text[hit["start"] : hit["end"]] == hit["text"]
    location = find_quote("merger budget is approved", hit["text"])
    assert location is not None
    assert text[hit["start"] + location[0] : hit["start"] + location[1]] == "merger budget is approved"

    assert site.names("merger budget", "staff") == {"cards.md"}
    assert site.names("merger budget", "board", "contractors") == set()
    assert site.names("merger budget") == set()

    assert site.run("groups", "--collection=handbook", "--allow=audit", "board/minutes.pdf") == 0
    assert site.names("merger budget", "board") == set()
    assert site.names("merger budget", "audit") == {"board/minutes.pdf"}

    export = tmp_path / "people.json"
    export.write_text('{"groups": {"audit": ["sso:ben"], "staff": ["sso:anna", "sso:ben"]}}')
    assert site.run("directory", str(export)) == 0
    assert site.names("merger budget", "audit", "staff") == {"cards.md"}
    assert site.names("merger budget", "audit", subject="sso:ben") == {"board/minutes.pdf"}

    assert site.source("reconcile") == 2
    assert site.source("reconcile", "--apply") == 0
    assert site.source("reconcile") == 0
    (site.root / "cards.md").write_text("# Cards\n\nA stolen card is replaced.")
    assert site.source("ingest") == 0
    (hit,) = site.search("card", "staff")
    assert hit["text"] == "Cards\n\nA stolen card is replaced."
    assert site.run("delete", "--collection=handbook", "cards.md") == 0
    assert site.names("card", "staff") == set()


def test_a_pool_that_is_away_or_a_text_that_is_too_long_loses_nothing(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sovctl.gateway.retrieval.ingest import https

    monkeypatch.setattr(https, "_WAITS_S", (0.0,))
    assert site.source("ingest") == 0
    monkeypatch.setattr(pooling_server, "MAX_WORDS", 3)
    (site.root / "cards.md").write_text("one two three four")
    capsys.readouterr()
    assert site.source("ingest") == 1
    outcomes = {each["source_id"]: each["reason"] for each in json.loads(capsys.readouterr().out)["documents"]}
    assert outcomes == {"board/minutes.pdf": "", "cards.md": "rejected_by_service"}
    monkeypatch.setattr(pooling_server, "MAX_WORDS", 2_000)
    site.pool.fault = "down"
    assert site.source("ingest") == 4
    site.pool.fault = ""
    assert site.names("lost card", "staff") == {"cards.md"}
    assert "five minutes" in site.search("lost card", "staff")[0]["text"]


def test_an_ingest_that_is_killed_continues(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(12):
        (site.root / f"note-{number:02}.txt").write_text(f"note number {number}")
    arguments = ["ingest", f"--config={site.config}", "--collection=handbook", f"--groups-file={site.groups}"]
    program = [sys.executable, "-P", "-m", "sovctl.gateway.retrieval.ingest", *arguments, "--jobs=1", str(site.root)]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, env={**os.environ}) as process:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and len(site.pool.bodies) < 6 and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        assert process.wait(20) == -signal.SIGKILL
    capsys.readouterr()
    assert site.source("ingest") == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["unchanged"] >= 1
    assert counts["stored"] + counts["unchanged"] == 14
    assert site.names("note number 11", "staff") >= {"note-11.txt"}
