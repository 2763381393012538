"""One gateway in front of the servers of all providers, each behind a route with its name."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from echo_upstream import EchoUpstream
from provider_givens import PROVIDERS, account_file, aws_file, upstream_of, write_secret
from provider_servers import ProviderServer
from surface_givens import API_KEY


@pytest.fixture(scope="module")
def servers(pki: Any) -> Iterator[dict[str, ProviderServer]]:
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(server(pki.certificate_file, pki.key_file))
            for name, (server, _, _) in PROVIDERS.items()
        }


@pytest.fixture(autouse=True)
def _fresh_servers(servers: dict[str, ProviderServer]) -> Iterator[None]:
    for server in servers.values():
        server.forget()
    yield
    for name, server in servers.items():
        for problem in server.problems:
            sys.stderr.write(f"{name}: {problem}\n")  # in the report of a test that fails


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory, servers: dict[str, ProviderServer]) -> Path:
    """Files with the keys of all providers."""
    folder = tmp_path_factory.mktemp("keys")
    write_secret(folder / "cloud.key", "cloud-key")
    write_secret(folder / "aws", aws_file())
    write_secret(folder / "account.json", account_file(servers))
    return folder


@pytest.fixture(scope="module")
def settings_of(
    servers: dict[str, ProviderServer], keys: Path, pki: Any, pool: EchoUpstream
) -> Callable[..., dict[str, Any]]:
    """Sections of gateway.yaml for providers, by name; `changes` are of their upstreams."""

    def settings(*names: str, **changes: Any) -> dict[str, Any]:
        chat = {
            "name": "chat",
            "kind": "pool",
            "base_urls": [pool.base_url],
            "model": "echo",
            "surfaces": ["chat.completions"],
            "ca_file": str(pki.ca_file),
            "certificate_file": str(pki.client_certificate_file),
            "key_file": str(pki.client_key_file),
        }
        clouds = [{**upstream_of(name, servers[name], keys, pki), **changes} for name in names]
        routes = [{"model": name, "cloud": name} for name in names]
        return {
            "upstreams": [chat, *clouds],
            "routes": [*routes, {"model": "inside", "pool": "chat"}],
            "policy": {
                "default": "tokenize",
                "entity_types": {"PERSON": "tokenize", "SECRET": "block"},
                "name_languages": ["en"],
            },
        }

    return settings


@pytest.fixture(scope="module")
def gateway(start: Callable[..., Any], settings_of: Callable[..., dict[str, Any]]) -> Any:
    return start(**settings_of(*PROVIDERS))


@pytest.fixture(scope="module")
def anthropic_client(gateway: Any) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        api_key=API_KEY,
        base_url=f"https://127.0.0.1:{gateway.port}",
        max_retries=0,
        timeout=60,
        http_client=anthropic.DefaultHttpxClient(verify=gateway.tls),
    ) as client:
        yield client
