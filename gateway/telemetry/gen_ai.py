"""Names of OpenTelemetry's conventions for generative AI: operations and providers. Pure.

Source: repository open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md and gen-ai-metrics.md, status
Development, based on semantic conventions 1.42 (read 2026-11). Since 1.42 the conventions of `gen_ai` are kept there.
Values without a well-known name are sovctl's own, which the conventions permit.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..settings import SurfaceName, UpstreamApi, UpstreamKind, UpstreamSettings

OPERATIONS: Mapping[SurfaceName, str] = {
    SurfaceName.CHAT: "chat",
    SurfaceName.CHAT_BATCH: "chat",
    SurfaceName.COMPLETIONS: "text_completion",
    SurfaceName.RESPONSES: "chat",
    SurfaceName.MESSAGES: "chat",
    SurfaceName.EMBEDDINGS: "embeddings",
    SurfaceName.RERANK: "rerank",
    SurfaceName.SCORE: "score",
    SurfaceName.TRANSCRIPTIONS: "transcription",
    SurfaceName.TRANSLATIONS: "translation",
    SurfaceName.REALTIME: "transcription",
    SurfaceName.TOKENIZE: "tokenize",
}
"""`gen_ai.operation.name` by API."""

_PROVIDERS = (
    ("api.anthropic.com", "anthropic"),
    ("amazonaws.com", "aws.bedrock"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("models.ai.azure.com", "azure.ai.inference"),
    ("api.cohere.com", "cohere"),
    ("api.cohere.ai", "cohere"),
    ("api.deepseek.com", "deepseek"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("api.groq.com", "groq"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.moonshot.ai", "moonshot_ai"),
    ("api.moonshot.cn", "moonshot_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.x.ai", "x_ai"),
)
_OF_APIS: Mapping[UpstreamApi, str] = {
    UpstreamApi.ANTHROPIC: "anthropic",
    UpstreamApi.AZURE_OPENAI: "azure.ai.openai",
    UpstreamApi.BEDROCK: "aws.bedrock",
    UpstreamApi.VERTEX: "gcp.vertex_ai",
}
_POOL = "vllm"


def provider_of(settings: UpstreamSettings) -> str:
    """Return `gen_ai.provider.name` of an upstream: by its API, or by its host if that is OpenAI's or compatible."""
    if settings.kind is UpstreamKind.POOL:
        return _POOL
    if (provider := _OF_APIS.get(settings.api)) is not None:
        return provider
    host = (settings.base_urls[0].host or "").lower()
    for name, provider in _PROVIDERS:
        if host == name or host.endswith((f".{name}", f"-{name}")):  # europe-west4-aiplatform.googleapis.com
            return provider
    return "anthropic" if settings.surfaces == [SurfaceName.MESSAGES] else "openai"
