"""A gateway in front of the real retrieval service, with two documents and clients of different groups."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml
from clients_digests import with_digests
from echo_upstream import EchoUpstream
from gateway_yaml import API_KEY, Pki
from retrieval_process import RetrievalService

from sovctl.gateway.access.assertion import PrincipalSigner

CARDS = "A lost card is blocked within five minutes of the call."
MERGER = "The board approved the merger budget in March."
CHAT_ONLY_KEY = "test-key-of-a-chat-application"


class Site:
    """A gateway in front of a retrieval service with two documents: one of `staff`, one of `board`."""

    def __init__(self, gateway: Any, service: RetrievalService, cloud: EchoUpstream) -> None:
        self.gateway, self.service, self.cloud = gateway, service, cloud

    def search(
        self, body: Any, *, key: str = API_KEY, store: str = "handbook", headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        path = f"/v1/vector_stores/{store}/search"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"authorization": f"Bearer {key}", **(headers or {})}
        status, _, answer = self.gateway.request("POST", path, content, sent)
        return status, json.loads(answer)

    def names(self, query: str, **more: Any) -> list[str]:
        status, answer = self.search({"query": query}, **more)
        assert status == 200, answer
        return [each["filename"] for each in answer["data"]]

    def records(self) -> list[dict[str, Any]]:
        return [each for each in self.gateway.records() if each["type"] == "gateway.search"]


def add_groups(config: Path, service: RetrievalService, pki: Pki, folder: Path) -> None:
    """Give clients of a gateway.yaml their groups, and the gateway the retrieval service."""
    settings = yaml.safe_load(config.read_text())
    clients = json.loads(Path(settings["clients_file"]).read_text())
    clients[0]["groups"], clients[1]["groups"] = ["staff", "board"], ["staff"]
    digest = hashlib.sha256(CHAT_ONLY_KEY.encode()).hexdigest()
    more = {"name": "chat-only", "tenant": "retail", "key_sha256": digest, "groups": ["staff"]}
    clients.append({**more, "surfaces": ["chat.completions"]})
    Path(settings["clients_file"]).write_text(json.dumps(clients))
    key = folder / "principal.key"
    signer = PrincipalSigner.open([key], site="test")
    (folder / "jwks.json").write_text(json.dumps(signer.jwks))
    settings["site"] = "test"
    settings.setdefault("access", {})["principal_key_files"] = [str(key)]
    settings["retrieval"] = {
        "url": f"https://127.0.0.1:{service.port}",
        "ca_file": str(pki.ca_file),
        "certificate_file": str(pki.client_certificate_file),
        "key_file": str(pki.client_key_file),
    }
    config.write_text(yaml.safe_dump(with_digests(settings)))
