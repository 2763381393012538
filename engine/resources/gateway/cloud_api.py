"""API and provider of a cloud in gateway.yaml."""

from __future__ import annotations

from typing import Any

from ...spec.gateway.section import Cloud
from ..credential import SECRETS, TLS, cloud_credentials_file, token_ca_file

KEY_HEADERS = {"anthropic": "x-api-key", "azure-openai": "api-key"}
"""Header of the API key by API; `authorization` for other APIs."""


def api_settings(cloud: Cloud) -> dict[str, Any]:
    """Return the keys of a cloud about its API; empty for the API of OpenAI without translations."""
    made: dict[str, Any] = {} if cloud.api == "openai" else {"api": cloud.api}
    if cloud.translated_surfaces:
        made["translated_surfaces"] = list(cloud.translated_surfaces)
    if cloud.default_max_tokens is not None:
        made["default_max_tokens"] = cloud.default_max_tokens
    keys = f"{SECRETS}/{cloud_credentials_file(cloud.name)}"
    if cloud.azure is not None:
        made["azure"] = cloud.azure.model_dump(mode="json", exclude_none=True)
    if cloud.bedrock is not None:
        made["bedrock"] = cloud.bedrock.model_dump(mode="json", exclude={"credentials"}) | (
            {"credentials_file": keys} if cloud.bedrock.credentials else {}
        )
    if cloud.vertex is not None:
        made["vertex"] = {
            **cloud.vertex.model_dump(mode="json", exclude={"service_account", "token_ca_file"}),
            "service_account_file": keys,
            **({"token_ca_file": f"{TLS}/{token_ca_file(cloud.name)}"} if cloud.vertex.token_ca_file else {}),
        }
    return made
