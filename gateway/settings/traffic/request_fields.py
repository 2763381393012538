"""Fields of a request that an upstream may receive: the built-in table, and rows of the settings that change it.

- A field of the built-in table is sent. The table lists fields by API.
- A field in `REFUSED` is refused, because it controls the server, other clients' data or the site's own template.
- A field in `REMOVED` is removed, because it names objects that clients of the server share.
- An unlisted field is removed for pools, because vLLM ignores it. Clouds receive it inspected and with tokens.

Source: fields of openai 3.52 and anthropic 2.12 (`types/`), and of vLLM 0.32.0 (`entrypoints/**/protocol.py`), read
2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from ..base.model import Name, SettingsModel
from ..base.surface import SurfaceName

TEMPLATE_SWITCHES = "chat_template_kwargs"
"""The field with switches of the model's chat template. Its members are listed as `chat_template_kwargs.NAME`."""

FieldName = Annotated[
    str,
    StringConstraints(
        pattern=rf"^({TEMPLATE_SWITCHES}\.[A-Za-z_][A-Za-z0-9_]{{0,63}}|[A-Za-z_][A-Za-z0-9_]{{0,63}}(\[\])?)$"
    ),
]


class FieldAction(StrEnum):
    """Action for a field of a request."""

    PASS = "pass"
    STRIP = "strip"
    REFUSE = "refuse"


class RequestFieldsRow(SettingsModel):
    """A change of the table of request fields. An empty selector matches everything."""

    upstreams: list[Name] = Field(default_factory=list)
    """Pools and clouds. Empty: all."""
    surfaces: list[SurfaceName] = Field(default_factory=list)
    """Client APIs. Empty: all."""
    allow: list[FieldName] = Field(default_factory=list)
    """Fields that are sent. `chat_template_kwargs.NAME` allows one switch of chat templates."""
    strip: list[FieldName] = Field(default_factory=list)
    """Fields that are removed."""
    refuse: list[FieldName] = Field(default_factory=list)
    """Fields for which a request is refused."""
    unknown: FieldAction | None = None
    """Action for fields that the table does not list. Default: `strip` for pools, `pass` for clouds."""

    @model_validator(mode="after")
    def _check_actions(self) -> RequestFieldsRow:
        named = [*self.allow, *self.strip, *self.refuse]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"expected one action for each field, got several for {twice[0]}")
        if members := [name for name in (*self.strip, *self.refuse) if "." in name]:
            raise ValueError(f"expected {TEMPLATE_SWITCHES} members under `allow` only, got {members[0]}")
        if unsafe := sorted(TRANSFER_FIELDS.intersection(self.allow)):
            raise ValueError(f"allow: expected no {unsafe[0]}, which reads the KV cache of other requests, got it")
        if not named and self.unknown is None:
            raise ValueError("expected at least one of allow, strip, refuse and unknown, got none")
        return self


TRANSFER_FIELDS = frozenset({"kv_transfer_params", "ec_transfer_params"})
"""Fields that name hosts and blocks from which a server reads the cache of another request. No row may allow them."""

REFUSED = TRANSFER_FIELDS | frozenset(
    {
        *("vllm_xargs", "logits_processors"),  # arguments and code of plug-ins
        *("priority", "watermarking"),  # a site's own order of requests, and its mark in answers
        "chat_template",  # a Jinja program that replaces the model's template (CVE-2025-61620)
        *("prompt_embeds", "mm_payload", "return_mm_kwargs"),  # tensors (CVE-2025-62164)
        *("mm_processor_kwargs", "media_io_kwargs"),  # sizes of decoded media: memory of the server
        "previous_input_messages",  # turns that bypass the messages of the API
    }
)
"""Fields for which a request is refused."""

REMOVED = frozenset({"cache_salt", "request_id", "session_id"})
"""Fields that are removed: the gateway sets a salt for each tenant, and ids of one client could be those of another."""

SWITCHES = frozenset(
    {
        *("enable_thinking", "thinking", "thinking_budget", "reasoning_effort", "preserve_thinking", "clear_thinking"),
        *("add_vision_id", "instruction"),
    }
)
"""Switches of chat templates that are sent: of Qwen, DeepSeek, GLM, gpt-oss, Granite (model cards, read 2026-11)."""

_SAMPLING = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "seed", "n", "best_of", "stop", "logit_bias", "logprobs"),
        *("top_logprobs", "frequency_penalty", "presence_penalty", "repetition_penalty", "length_penalty"),
        *("use_beam_search", "stop_token_ids", "include_stop_str_in_output", "ignore_eos", "min_tokens"),
        *("skip_special_tokens", "spaces_between_special_tokens", "truncate_prompt_tokens", "truncation_side"),
        *("prompt_logprobs", "logprob_token_ids", "allowed_token_ids", "bad_words", "repetition_detection"),
        *("return_tokens_as_token_ids", "return_token_ids", "return_token_offsets", "stream_interval", "echo"),
        *("add_special_tokens", "early_stopping", "thinking_token_budget"),
    }
)
_STRUCTURED = frozenset(
    {"response_format", "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar"}
)
_STREAM = frozenset({"model", "stream", "stream_options", "max_tokens"})
_ACCOUNT = frozenset(
    {
        *("user", "metadata", "safety_identifier", "store", "service_tier"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
    }
)
_TEMPLATE = frozenset({TEMPLATE_SWITCHES, "add_generation_prompt", "continue_final_message", "add_special_tokens"})
_POOLING = frozenset(
    {
        *("model", "user", "dimensions", "encoding_format", "embed_dtype", "endianness", "use_activation"),
        *("truncate_prompt_tokens", "truncation_side", "padding", "add_special_tokens"),
    }
)
_CHAT = (
    _STREAM
    | _SAMPLING
    | _STRUCTURED
    | _ACCOUNT
    | _TEMPLATE
    | {
        *("messages", "max_completion_tokens", "tools", "tool_choice", "parallel_tool_calls", "functions"),
        *("function_call", "reasoning_effort", "include_reasoning", "documents", "return_prompt_text", "verbosity"),
        *("modalities", "audio", "prediction"),
    }
)
_SCORING = _POOLING | {TEMPLATE_SWITCHES, "instruction", "max_tokens_per_query", "max_tokens_per_doc"}
_AUDIO = frozenset(
    {
        *("file", "model", "language", "prompt", "response_format", "temperature", "stream", "hotwords"),
        *("stream_include_usage", "stream_continuous_usage_stats", "to_language", "max_completion_tokens"),
        *("top_p", "top_k", "min_p", "seed", "n", "use_beam_search", "length_penalty", "include_stop_str_in_output"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty"),
    }
)

PASSED: Mapping[SurfaceName, frozenset[str]] = {
    SurfaceName.CHAT: _CHAT,
    SurfaceName.CHAT_BATCH: _CHAT,
    SurfaceName.COMPLETIONS: _STREAM | _SAMPLING | _STRUCTURED | {"prompt", "suffix", "user", "max_completion_tokens"},
    SurfaceName.RESPONSES: _STREAM
    | _SAMPLING
    | _STRUCTURED
    | _ACCOUNT
    | {
        *("input", "instructions", "include", "max_output_tokens", "max_tool_calls", "parallel_tool_calls"),
        *("reasoning", "include_reasoning", "text", "tool_choice", "tools", "truncation", "context_management"),
        TEMPLATE_SWITCHES,
    },
    SurfaceName.MESSAGES: _STREAM
    | {
        *("messages", "system", "metadata", "output_config", "output_format", "stop_sequences", "temperature"),
        *("thinking", "tool_choice", "tools", "top_k", "top_p", "service_tier", "cache_control"),
        *("context_management", TEMPLATE_SWITCHES),
    },
    SurfaceName.EMBEDDINGS: _POOLING | _TEMPLATE | {"input", "messages"},
    SurfaceName.RERANK: _SCORING | {"query", "documents", "top_n", "return_documents"},
    SurfaceName.SCORE: _SCORING | {"text_1", "text_2", "data_1", "data_2", "queries", "documents", "items"},
    SurfaceName.TRANSCRIPTIONS: _AUDIO | {"timestamp_granularities[]", "include[]"},
    SurfaceName.TRANSLATIONS: _AUDIO,
    SurfaceName.REALTIME: frozenset({"model"}),
    SurfaceName.TOKENIZE: _TEMPLATE | {"model", "prompt", "messages", "tools", "return_token_strs", "tokens"},
}
"""Fields that are sent, by API."""
