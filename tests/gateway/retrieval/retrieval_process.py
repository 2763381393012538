"""The retrieval service as a process on loopback, with mutual TLS, its database and a pooling server."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from gateway_yaml import Pki
from loopback_ports import unused_port
from pooling_server import DIMENSIONS, MODEL, PoolingServer
from retrieval_database import DIGEST, RetrievalDatabase
from waiting import until

from sovctl.compliance.signing import SigningKey
from sovctl.gateway.access.assertion import PrincipalSigner
from sovctl.gateway.access.principal import Method, Principal

GATEWAY, ADMINISTRATOR = "client", "server"
"""Common names of the two certificates of `pki`."""
AUDIENCE = "retrieval"


class RetrievalService:
    """A running service.

    Args:
        folder: for its settings and log.
    """

    def __init__(self, database: RetrievalDatabase, pool: PoolingServer, pki: Pki, folder: Path) -> None:
        self.port = unused_port()
        self.database = database
        self.pki = pki
        self.signer = PrincipalSigner([SigningKey.generate()], site="test")
        self.config = folder / "retrieval.yaml"
        self.log_file = folder / "retrieval.log"
        (folder / "jwks.json").write_text(json.dumps(self.signer.jwks))
        database.content |= {
            "listen": {
                "address": "127.0.0.1",
                "port": self.port,
                "certificate": str(pki.certificate_file),
                "key": str(pki.key_file),
                "client_ca": str(pki.ca_file),
            },
            "administrators": [ADMINISTRATOR],
            "gateways": [GATEWAY],
            "principal": {"jwks_file": str(folder / "jwks.json"), "issuer": "sovctl.test/gateway"},
            "embedding": {"base_urls": [pool.url], "model": MODEL, "model_digest": DIGEST, "dimensions": DIMENSIONS},
            "rerank": {"base_urls": [pool.url], "model": "words", "model_digest": DIGEST},
        }
        self.config.write_text(yaml.safe_dump(database.content))

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the service."""
        command = [sys.executable, "-m", "sovctl.gateway.retrieval", *arguments, "--config", str(self.config)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    @contextlib.contextmanager
    def running(self) -> Iterator[RetrievalService]:
        """Serve until the end of the context."""
        command = [sys.executable, "-m", "sovctl.gateway.retrieval", "serve", "--config", str(self.config)]
        with self.log_file.open("wb") as log:
            process = subprocess.Popen(command, stderr=log, env={**os.environ, "NO_PROXY": "*"})
        try:
            until(lambda: process.poll() is not None or "serving" in self.log_file.read_text(), "the service serves")
            assert process.poll() is None, self.log_file.read_text()
            until(self._answers, "the port is open")
            yield self
        finally:
            process.terminate()
            process.wait(30)

    def principal(
        self, *groups: str, audience: str = AUDIENCE, age_s: float = 0, name: str = "sso:anna", tenant: str = "bank"
    ) -> str:
        """Return the value of `x-sovctl-principal`."""
        made = Principal(name, tenant, Method.TOKEN, "k", groups=tuple(groups))
        return self.signer.sign(made, audience=audience, request_id="r1", now=time.time() - age_s)

    def request(
        self, method: str, path: str, body: Any = None, *, who: str | None = ADMINISTRATOR, principal: str | None = None
    ) -> tuple[int, Any]:
        """Return status and decoded JSON of a request with the certificate of `who`."""
        context = ssl.create_default_context(cafile=self.pki.ca_file)
        if who == GATEWAY:
            context.load_cert_chain(self.pki.client_certificate_file, self.pki.client_key_file)
        elif who == ADMINISTRATOR:
            context.load_cert_chain(self.pki.certificate_file, self.pki.key_file)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=30)
        headers = {} if principal is None else {"x-sovctl-principal": principal}
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
        if response.headers.get_content_type() != "application/json":
            return response.status, content.decode()
        return response.status, json.loads(content)

    def search(self, principal: str, query: str, **more: Any) -> tuple[int, Any]:
        """Search as the gateway."""
        body = {"collection": "handbook", "query": query, **more}
        return self.request("POST", "/v1/search", body, who=GATEWAY, principal=principal)

    def _answers(self) -> bool:
        try:
            return self.request("GET", "/metrics")[0] == 200
        except OSError:
            return False


def document_body(source_id: str, text: str, allow: list[str], **changes: Any) -> dict[str, Any]:
    """Return a body of `POST /v1/documents` with one chunk."""
    return {
        "collection": "handbook",
        "source_id": source_id,
        "title": f"Title of {source_id}",
        "version": f"sha256:{'1' * 64}",
        "groups": {"allow": allow, "deny": []},
        "chunks": [{"ordinal": 0, "page": 3, "start": 0, "end": len(text), "text": text, "language": "en"}],
        "extractor": "plain 1",
        "extracted_sha256": "e" * 64,
        **changes,
    }
