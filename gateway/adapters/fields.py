"""Tables of the top-level fields of a request: sent under another name, omitted, or refused. Pure.

    rules = FieldRules(renamed={"temperature": "temperature"}, dropped={"seed"}, neutral={"n": (1,)}, read={"messages"})
    rules.apply({"temperature": 0.5, "seed": 7, "n": 1, "messages": []})     # {"temperature": 0.5}

A field whose value is null counts as absent. A field that no column names is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .translation import Body, Inexpressible


@dataclass(frozen=True, slots=True)
class FieldRules:
    """The top-level fields of one API on another."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """Fields with the same meaning, with their name at the upstream."""
    read: Collection[str] = frozenset()
    """Fields that code translates."""
    dropped: Collection[str] = frozenset()
    """Fields that may be omitted: the answer is of the same kind without them."""
    neutral: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Fields that are omitted if they have one of these values, and refused otherwise."""

    def apply(self, body: Mapping[str, Any], *, where: str = "") -> Body:
        """Return the fields that are sent under their name at the upstream.

        Args:
            where: path of `body`, for the error.

        Raises:
            Inexpressible: a field has no equivalent.
        """
        made: Body = {}
        for name, value in body.items():
            if value is None or name in self.read or name in self.dropped:
                continue
            if name in self.renamed:
                made[self.renamed[name]] = value
            elif not any(_is_same(value, each) for each in self.neutral.get(name, ())):
                raise Inexpressible(where + name if self._is_known(name) else where.rstrip("."))
        return made

    def _is_known(self, name: str) -> bool:
        """Return whether the name may be repeated in an error: it is from a schema, and not text of the client."""
        return name in self.neutral or name in REFUSED


REFUSED = frozenset(
    {
        *("logit_bias", "logprobs", "top_logprobs", "n", "functions", "function_call", "audio", "web_search_options"),
        *("moderation", "response_format", "tool_choice", "frequency_penalty", "presence_penalty", "best_of"),
        *("min_p", "repetition_penalty", "length_penalty", "min_tokens", "ignore_eos", "stop_token_ids", "echo"),
        *("structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "bad_words"),
        *("chat_template_kwargs", "documents", "prompt_logprobs", "top_k", "cache_control", "citations"),
        *("container", "mcp_servers", "context_management", "inference_geo", "diagnostics", "output_config"),
        *("thinking", "output_format", "input_examples", "defer_loading", "allowed_callers", "name", "speed"),
        *("eager_input_streaming", "strict", "format", "effort", "transformations", "caller", "user_profile_id"),
    }
)
"""Names of fields without an equivalent that an error names; others are refused without their name."""


def _is_same(value: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; True is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
