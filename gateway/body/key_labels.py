"""Reads the keys above a value as the words that a person would write before it.

    label_of(NO_LABEL, "dateOfBirth").readings      # ("date Of Birth", "dateOfBirth", ...)
    label_of(label_of(NO_LABEL, "passport"), "no").readings     # (..., "passport no", ...)

A detector that gets `date of birth: 1980-01-02` finds what it does not find in `1980-01-02`. Keys of the APIs
(`messages`, `content`) and keys that only wrap a value (`value`, `default`) add no words; titles, descriptions and ids
of the APIs are not explained by the keys above them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple


class Label(NamedTuple):
    """The words of the keys above a value."""

    words: str
    """Of all keys, outer ones first; only the last ones of a deep path."""
    readings: tuple[str, ...]
    """Different forms of these words, each to be read before the value; empty if none of them explains a value."""


NO_LABEL = Label("", ())

IsCue = Callable[[str], bool]
"""Whether words before a value can explain it."""

LONGEST_KEY = 64  # characters; the rest of a longer key explains nothing
_LONGEST_WORDS = 60  # characters; the rules of the detector look no farther back
_LONGEST_SHORT = 5  # letters of a key that may be an abbreviation, which rules know in capitals
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

TRANSPARENT = frozenset(
    {
        *(
            "messages",
            "content",
            "text",
            "role",
            "type",
            "model",
            "stream",
            "max_tokens",
            "tools",
            "tool_calls",
            "$json",
        ),
        *("function", "functions", "arguments", "parameters", "properties", "input", "output", "parts", "prediction"),
        *("value", "values", "val", "default", "const", "enum", "example", "examples", "items", "list", "array"),
        *("temperature", "top_p", "n", "stop", "seed", "stream_options", "include_usage", "tool_choice", "logprobs"),
        *("data", "result", "results", "payload", "body", "params", "args", "kwargs", "fields", "object", "record"),
        *("additionalProperties", "anyOf", "oneOf", "allOf", "schema", "json_schema", "response_format", "metadata"),
    }
)
"""Keys that add no words."""
_APART = frozenset(
    {
        *("description", "title", "format", "pattern", "tool_call_id", "call_id", "tool_use_id", "item_id", "$ref"),
        *("max_completion_tokens", "max_output_tokens", "min_tokens", "stop_token_ids", "prompt_cache_key"),
        *("cache_salt", "parallel_tool_calls", "service_tier", "reasoning_effort"),
    }
)
"""Keys whose values are not values of the keys above them."""
_ALONE = frozenset({"name", "id", "key", "label", "field"})
"""Keys that explain nothing without a key above them."""
_NUMBER_WORDS = frozenset({"number", "no", "nr", "num", "id", "code"})


@lru_cache(8192)
def label_of(above: Label, key: str, is_cue: IsCue) -> Label:
    """Return the label of the value of `key` in an object whose label is `above`.

    Args:
        key: at most `LONGEST_KEY` characters of it, because the results are kept.
    """
    if key in TRANSPARENT:
        return above
    if key in _APART or (key in _ALONE and not above.words):
        return NO_LABEL
    own = words_of_key(key)
    if not own:
        return above
    words = f"{above.words} {own}".strip()[-_LONGEST_WORDS:]
    written = own.upper() if len(own) <= _LONGEST_SHORT and own.isalpha() and own.isascii() else own
    forms = [written, words]
    if " " in own:
        forms.append(own.replace(" ", ""))
    if own.endswith("s") and len(own) > _LONGEST_SHORT:  # "accounts", whose keys or items are single ones
        forms += (own[:-1], f"{own[:-1]} number")
    elif own.rpartition(" ")[2].lower() not in _NUMBER_WORDS:
        forms.append(f"{own} number")
    if not is_cue(" ".join((*forms, words))):
        return Label(words, ())  # most keys: one search for all forms
    return Label(words, tuple(form for form in dict.fromkeys(forms) if is_cue(form)))


def words_of_key(key: str) -> str:
    """Return a key as words with spaces: of `user_birthDate`, "user birth Date"."""
    return " ".join(_WORD.findall(_HUMP.sub(" ", key)))
