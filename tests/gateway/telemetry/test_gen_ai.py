"""Names of OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from surface_givens import PROMPT, post
from waiting import until

from sovctl.gateway.settings import SurfaceName, UpstreamSettings
from sovctl.gateway.telemetry.gen_ai import OPERATIONS, provider_of


def test_every_api_has_an_operation() -> None:
    assert set(OPERATIONS) == set(SurfaceName)


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("https://bank.openai.azure.com/v1", "azure.ai.openai"),
        ("https://bedrock-runtime.eu-central-1.amazonaws.com/v1", "aws.bedrock"),
        ("https://europe-west4-aiplatform.googleapis.com/v1", "gcp.vertex_ai"),
        ("https://generativelanguage.googleapis.com/v1", "gcp.gemini"),
        ("https://api.mistral.ai/v1", "mistral_ai"),
        ("https://evil-api.mistral.ai.example/v1", "openai"),
        ("https://cloud.example/v1", "openai"),
    ],
)
def test_the_provider_follows_from_the_host(url: str, provider: str) -> None:
    settings = {"name": "u", "kind": "cloud", "base_urls": [url], "model": "m"}
    assert provider_of(UpstreamSettings.model_validate(settings)) == provider
    assert provider_of(UpstreamSettings.model_validate(settings | {"kind": "pool"})) == "vllm"


def test_metrics_of_calls_have_the_names_and_labels_of_the_conventions(
    start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory, cloud: Any
) -> None:
    gateway = start(quota={"path": str(tmp_path_factory.mktemp("quota") / "quota.db")})
    body = {"model": "assistant", "messages": [{"role": "user", "content": PROMPT}]}
    assert post(gateway, "/v1/chat/completions", body)[0] == 200
    assert gateway.client().chat.completions.create(**body, stream=True).__next__()
    cloud.script.status = 500
    assert post(gateway, "/v1/chat/completions", body)[0] == 200
    labels = 'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="big"'

    def text() -> str:
        return gateway.request("GET", "/metrics")[2].decode()

    def has(line: str) -> bool:
        return any(each.startswith(line) for each in text().splitlines())

    until(lambda: has(f'gen_ai_client_operation_duration_seconds_count{{error_type="",{labels}}}') or None, "calls")
    told = text()
    assert f'gen_ai_client_operation_duration_seconds_count{{error_type="status-500",{labels}}} 1.0' in told
    assert f"gen_ai_client_operation_time_to_first_chunk_seconds_count{{{labels}}} 1.0" in told
    assert f'gen_ai_client_token_usage_sum{{{labels},gen_ai_token_type="input"}}' in told
    assert "sovctl_gateway_gen_ai" not in told
