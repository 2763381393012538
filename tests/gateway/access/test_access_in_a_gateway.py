"""Keys, tokens and certificates against a running gateway."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from access_givens import entry
from oidc_givens import AUDIENCE, ISSUER, jwks, token
from waiting import until

KEY = "test-key-of-the-rag-service"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access")


@pytest.fixture(scope="module")
def served(start: Callable[..., Any], pki: Any, folder: Path) -> Any:
    """A gateway that takes keys, tokens and certificates."""
    (folder / "jwks.json").write_bytes(jwks("ec"))
    clients = [
        entry("rag", KEY, certificates=["cn:client"], routes=["inside"]),
        entry("embedder", "test-key-of-the-embedder", surfaces=["embeddings"]),
    ]
    (folder / "clients.json").write_text(json.dumps(clients))
    issuer = {
        "name": "idp",
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks_file": str(folder / "jwks.json"),
        "grants": [{"group": "staff", "tenant": "retail", "routes": ["inside"]}],
    }
    return start(
        clients_file=str(folder / "clients.json"),
        access={
            "identity_providers": [issuer],
            "local_clients_file": str(folder / "local.json"),
            "local_clients_sha256_file": str(folder / "local.sha256"),
            "reload_every_s": 0.05,
        },
        client_ca_file=str(pki.ca_file),
    )


def ask(
    gateway: Any, *, pki: Any, key: str | None = None, certificate: bool = False, site: str = ""
) -> tuple[int, Any]:
    """Status and body of a chat completion."""
    context = ssl.create_default_context(cafile=pki.ca_file)
    if certificate:
        context.load_cert_chain(pki.client_certificate_file, pki.client_key_file)
    body = json.dumps({"model": "inside", "messages": [{"role": "user", "content": "Hello"}]})
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    headers |= {"Sec-Fetch-Site": site} if site else {}
    with closing(http.client.HTTPSConnection("127.0.0.1", gateway.port, context=context, timeout=20)) as connection:
        connection.request("POST", "/v1/chat/completions", body, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_every_credential_type_gives_its_principal_and_method(served: Any, pki: Any) -> None:
    seen = len(served.records())
    assert ask(served, key=KEY, pki=pki)[0] == 200
    assert ask(served, key=token("ec"), pki=pki)[0] == 200
    assert ask(served, certificate=True, pki=pki)[0] == 200
    callers = [record for record in served.records()[seen:] if record["type"] == "gateway.request"]
    assert [(each["client"], each["method"]) for each in callers] == [
        ("rag", "api-key"),
        ("idp", "token"),
        ("rag", "certificate"),
    ]
    assert len({each["key_id"] for each in callers}) == 3


def test_invalid_credentials_get_401(served: Any, pki: Any) -> None:
    assert ask(served, pki=pki)[0] == 401
    assert ask(served, key="wrong", pki=pki)[0] == 401
    assert ask(served, key=token("ec", aud="other"), pki=pki)[0] == 401
    assert ask(served, key="wrong", certificate=True, pki=pki)[0] == 401


def test_a_page_of_another_origin_cannot_use_the_certificate_of_its_browser(served: Any, pki: Any) -> None:
    for site, status in (("cross-site", 401), ("same-site", 401), ("same-origin", 200), ("none", 200)):
        assert ask(served, certificate=True, site=site, pki=pki)[0] == status
    assert ask(served, certificate=True, key=KEY, site="cross-site", pki=pki)[0] == 200


def test_a_key_without_the_surface_gets_403(served: Any, pki: Any) -> None:
    status, body = ask(served, key="test-key-of-the-embedder", pki=pki)
    assert (status, body["error"]["code"]) == (403, "surface_not_allowed")


def test_a_key_made_on_the_machine_opens_and_revoked_it_does_not(served: Any, pki: Any) -> None:
    def keys(*words: str) -> dict[str, Any]:
        done = warm_processes.gateway("keys", *words, "--config", served.config, "--json")
        assert done.returncode == 0, done.stderr
        made: dict[str, Any] = json.loads(done.stdout)
        return made

    key = keys("create", "app", "--tenant", "retail")["key"]
    until(lambda: ask(served, key=key, pki=pki)[0] == 200, "the new key opens")
    keys("revoke", "app")
    until(lambda: ask(served, key=key, pki=pki)[0] == 401, "the revoked key does not")
    assert key not in served.log()
    assert key not in (served.config.parent / "ledger/entries").read_bytes().decode(errors="replace")


def test_where_a_certificate_is_required_nobody_connects_without(
    start: Callable[..., Any], pki: Any, folder: Path
) -> None:
    (folder / "strict.json").write_text(json.dumps([entry("rag", KEY)]))
    strict = start(
        clients_file=str(folder / "strict.json"),
        client_ca_file=str(pki.ca_file),
        requires_client_certificate=True,
        wait=False,
    )
    until(lambda: b"serving" in strict.log_file.read_bytes(), "it serves")
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        ask(strict, key=KEY, pki=pki)
    assert ask(strict, key=KEY, certificate=True, pki=pki)[0] == 200
    assert yaml.safe_load(strict.config.read_text())["listen"]["requires_client_certificate"]
