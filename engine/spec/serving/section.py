"""Base of the sections of a pool: a field that is set becomes the flag of the same name.

    class Cache(ServeSection):
        block_size: Blocks | None = None
        \"\"\"Tokens per block.\"\"\"

    Cache(block_size=32).flags()      # {"block-size": 32}

- A field without a value is omitted, so that vLLM's own default applies.
- Fields in `not_flags` have another meaning; `engine/resources/serving/flags.py` converts them.
- A section in `as_json` is one flag whose value is a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, JsonValue

from ..types import SpecModel, words

FlagValue = bool | int | float | str | list[str]
"""Value of a flag; a JSON object is its text."""

Count = Annotated[int, Field(ge=1, le=1_000_000)]
"""Number of things, at least one."""
Tokens = Annotated[int, Field(ge=1, le=16_777_216)]
"""Number of tokens, at least one; at most the longest context that `max_model_len` accepts."""
Gib = Annotated[float, Field(ge=0, le=65_536)]
"""GiB of memory."""
JsonObject = Annotated[dict[str, JsonValue], Field(max_length=64), words("keys with JSON values", kind="JSON object")]
"""Options that vLLM passes to a library, and that sovctl does not interpret."""


class ServeSection(SpecModel):
    """Flags of one topic."""

    as_json: ClassVar[str] = ""
    """Flag of the whole section; empty if every field is a flag."""
    not_flags: ClassVar[frozenset[str]] = frozenset()
    """Fields that are not flags of the same name."""

    def flags(self) -> dict[str, FlagValue]:
        """Return the flags of the fields that are set, by vLLM's names, in the order of the fields."""
        chosen = self.model_dump(mode="json", exclude_none=True, exclude=set(self.not_flags))
        if self.as_json:
            return {self.as_json: as_json(chosen)} if chosen else {}
        return {flag_name(name): _flag_value(value) for name, value in chosen.items() if value != []}


def flag_name(field: str) -> str:
    """Return the flag of a field: `max_num_seqs` is `max-num-seqs`."""
    return field.replace("_", "-")


def as_json(value: Mapping[str, Any]) -> str:
    """Return a JSON object as the text of a flag; equal objects have equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _flag_value(value: Any) -> FlagValue:
    if isinstance(value, dict):
        return as_json(value)
    return [str(each) for each in value] if isinstance(value, list) else value
