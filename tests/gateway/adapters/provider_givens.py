"""Settings and keys of the providers of these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from provider_servers import (
    ACCESS_KEY,
    SECRET_KEY,
    SESSION_TOKEN,
    AnthropicServer,
    AzureServer,
    BedrockServer,
    ChatServer,
    ProviderServer,
    VertexAnthropicServer,
    VertexGoogleServer,
)

KEYED = {"api_key_file": "cloud.key"}
VERTEX = {"project": "p-1", "location": "europe-west4", "service_account_file": "account.json"}
PROVIDERS: dict[str, tuple[type[ProviderServer], str, dict[str, Any]]] = {
    "openai": (
        ChatServer,
        "/v1",
        {"api": "openai", "model": "gpt-9", "translated_surfaces": ["messages"], **KEYED},
    ),
    "anthropic": (AnthropicServer, "/v1", {"api": "anthropic", "model": "claude-9", **KEYED}),
    "azure": (AzureServer, "", {"api": "azure-openai", "model": "gpt-9", **KEYED}),
    "azure-deployment": (
        AzureServer,
        "",
        {"api": "azure-openai", "model": "gpt-9", "azure": {"api_version": "2024-10-21"}, **KEYED},
    ),
    "vertex-anthropic": (
        VertexAnthropicServer,
        "/v1",
        {"api": "vertex", "model": "claude-9@20260101", "vertex": {**VERTEX, "publisher": "anthropic"}},
    ),
    "vertex-google": (
        VertexGoogleServer,
        "/v1",
        {"api": "vertex", "model": "google/gemini-9", "vertex": {**VERTEX, "publisher": "google"}},
    ),
    "bedrock": (
        BedrockServer,
        "",
        {
            "api": "bedrock",
            "model": "eu.anthropic.claude-9-v1:0",
            "bedrock": {"region": "eu-central-1", "credentials_file": "aws"},
        },
    ),
}
"""Server, path of its base URL, and settings of its upstream, by name."""


def aws_file(*, token: str = SESSION_TOKEN) -> str:
    lines = [f"aws_access_key_id = {ACCESS_KEY}", f"aws_secret_access_key = {SECRET_KEY}"]
    return "\n".join(["[default]", *lines, f"aws_session_token = {token}", ""])


def account_file(servers: dict[str, ProviderServer]) -> str:
    """The JSON key of a new service account, which the servers of Vertex know from now on."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for name in ("vertex-anthropic", "vertex-google"):
        servers[name].public_key = key.public_key()  # type: ignore[attr-defined]
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    account = {"type": "service_account", "client_email": "gw@p.iam.gserviceaccount.com", "private_key": pem}
    return json.dumps({**account, "private_key_id": "k1", "token_uri": "https://elsewhere.example/token"})


def write_secret(path: Path, text: str) -> None:
    path.write_text(text + "\n")
    path.chmod(0o600)


def upstream_of(name: str, server: ProviderServer, keys: Path, pki: Any) -> dict[str, Any]:
    """The upstream of a provider for gateway.yaml."""
    _, path, settings = PROVIDERS[name]
    made: dict[str, Any] = json.loads(json.dumps(settings))
    for section in (made, made.get("bedrock", {}), made.get("vertex", {})):
        for field in ("api_key_file", "credentials_file", "service_account_file"):
            if field in section:
                section[field] = str(keys / section[field])
    if "vertex" in made:
        made["vertex"] |= {"token_url": f"{server.origin}/token", "token_ca_file": str(pki.ca_file)}
    timeouts = dict.fromkeys(("first_byte_timeout_s", "read_timeout_s", "answer_timeout_s"), 40)
    return {
        "name": name,
        "kind": "cloud",
        "base_urls": [server.origin + path],
        "surfaces": ["chat.completions", "messages"],
        "ca_file": str(pki.ca_file),
        "max_model_len": 8192,
        "connect_timeout_s": 20,
        "down_s": 0,
        **timeouts,
        **made,
    }
