"""API server of a pool: tool calls, reasoning, chat templates and the form of answers.

    tools: {tool_call_parser: hermes}
    reasoning: {reasoning_parser: qwen3}

Parsers default to those of the model's catalogue entry. Source: vLLM 0.32.0, entrypoints/launchers/cli_args.py.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from ..types import words
from .section import JsonObject, ServeSection

Parser = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$"),
    words("a parser of vLLM such as hermes, or none", kind="parser"),
]
"""Name in a registry of vLLM."""
NO_PARSER = "none"
"""Value that switches off the parser of the catalogue."""

ModelFile = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}){0,8}$"),
    words("a path inside the model's folder", kind="model file"),
]
"""File of the model's folder, and so of its manifest."""


class Tools(ServeSection):
    """Tool calls in answers."""

    tool_call_parser: Parser | None = None
    """Parser that finds tool calls in generated text. Default: the catalogue's; `none`: no tool calls."""
    enable_auto_tool_choice: bool | None = None
    """Whether the model decides when to call a tool (`tool_choice: auto`). Default: true with a parser."""
    exclude_tools_when_tool_choice_none: bool | None = None
    """Whether prompts omit the tools if a request has `tool_choice: none`."""
    tool_strict_level: Literal["auto", "function", "parameter"] | None = None
    """Extent of the grammar that constrains tool calls."""

    not_flags: ClassVar[frozenset[str]] = frozenset({"tool_call_parser", "enable_auto_tool_choice"})


class Reasoning(ServeSection):
    """Separation of reasoning from the answer."""

    reasoning_parser: Parser | None = None
    """Parser that finds the reasoning in generated text. Default: the catalogue's; `none`: reasoning stays in the
    answer."""
    reasoning_config: JsonObject | None = None
    """Tokens that begin and end the reasoning, for limits on its length."""
    cohere_is_reasoning_model: bool | None = None
    """Whether a Cohere model reasons before it answers."""
    anthropic_disabled_thinking_effort: Literal["auto", "none", "low", "medium", "high", "xhigh", "max"] | None = None
    """Effort for requests of the Anthropic API that disable thinking."""

    not_flags: ClassVar[frozenset[str]] = frozenset({"reasoning_parser"})


class ApiServer(ServeSection):
    """Processes, chat templates and answers of the API server."""

    api_server_count: Annotated[int, Field(ge=1, le=64)] | None = None
    """API server processes. Default: `data_parallel_size`."""
    renderer_num_workers: Annotated[int, Field(ge=1, le=256)] | None = None
    """Threads that render and tokenize prompts."""
    chat_template: ModelFile | None = None
    """Chat template. Default: the tokenizer's."""
    chat_template_content_format: Literal["auto", "openai", "string"] | None = None
    """Form of message contents in the chat template."""
    default_chat_template_kwargs: JsonObject | None = None
    """Values for the chat template that requests can override, such as `enable_thinking`."""
    response_role: Literal["assistant"] | None = None
    """Role of answers."""
    return_tokens_as_token_ids: bool | None = None
    """Whether log probabilities name tokens by number."""
    enable_prompt_tokens_details: bool | None = None
    """Whether usage contains the cached tokens of the prompt."""
    enable_force_include_usage: bool | None = None
    """Whether every streamed answer ends with its usage."""
    enable_per_request_metrics: bool | None = None
    """Whether answers contain the times of their request. Requires the statistics log."""
    enable_server_load_tracking: bool | None = None
    """Whether `/load` counts running requests."""
    enable_request_id_headers: bool | None = None
    """Whether answers have the header X-Request-Id."""
    sse_keep_alive_interval: Annotated[int, Field(ge=0, le=3600)] | None = None
    """Seconds between comments that keep a silent stream open; 0: none."""
    fingerprint_mode: Literal["full", "hash", "none"] | None = None
    """Contents of `system_fingerprint` in answers."""
    cohere_format: Literal["cmd3", "cmd4"] | None = None
    """Version of the Cohere chat format."""
    enable_flash_late_interaction: bool | None = None
    """Whether late-interaction scores are computed on the GPU."""
    h11_max_incomplete_event_size: Annotated[int, Field(ge=16_384, le=67_108_864)] | None = None
    """Maximum bytes of incomplete HTTP headers."""
    h11_max_header_count: Annotated[int, Field(ge=16, le=4096)] | None = None
    """Maximum headers of a request."""
    uvicorn_log_level: Literal["critical", "error", "warning", "info"] | None = None
    """Level of the HTTP server's log."""
    fail_on_environ_validation: bool | None = None
    """Whether vLLM refuses to start with an unknown `VLLM_` variable."""

    not_flags: ClassVar[frozenset[str]] = frozenset({"chat_template"})


class StructuredOutputs(ServeSection):
    """Grammars that constrain answers: JSON schemas, regular expressions, choices."""

    as_json: ClassVar[str] = "structured-outputs-config"

    backend: Literal["auto", "xgrammar", "guidance", "outlines", "lm-format-enforcer"] | None = None
    """Library that applies the grammar."""
    disable_any_whitespace: bool | None = None
    """Whether JSON has no spaces between its parts; requires `xgrammar` or `guidance`."""
    disable_additional_properties: bool | None = None
    """Whether JSON schemas allow no further keys; requires `guidance`."""
    enable_in_reasoning: bool | None = None
    """Whether the grammar also applies to the reasoning."""


class Pooling(ServeSection):
    """Embedding, classification and reranking models."""

    runner: Literal["auto", "generate", "pooling"] | None = None
    """Task of the server; `pooling` for embeddings and scores."""
    convert: Literal["auto", "none", "embed", "classify"] | None = None
    """Adapter that turns a generative model into an embedding model or a classifier."""
    pooler_config: JsonObject | None = None
    """Pooling of the hidden states, such as `pooling_type`."""

    def served_role(self, role: str) -> str:
        """Return what a server serves: `embedding` or `reranker` if it turns a chat model into one, else its role.

        Args:
            role: of the model in the catalogue.
        """
        if role == "chat" and self.runner == "pooling":
            return "reranker" if self.convert == "classify" else "embedding"
        return role
