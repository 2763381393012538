"""Flags of `vllm serve` and its parsers, as the locked vLLM release has them; recorded by `.ci/serve_flags.py`.

flags = load_serve_flags()
flags.flags["max-num-seqs"].type, "hermes" in flags.tool_call_parsers
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import cache
from typing import Literal

import yaml

from sovctl.support.package_files import package_folder

from .figure import CatalogModel

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ServeFlag(CatalogModel):
    """One flag."""

    group: str
    """Heading in vLLM's help: its configuration class, or "Frontend"."""
    type: Literal["bool", "int", "float", "str", "json"]
    is_list: bool = False
    """Whether the flag takes several values."""
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    """Allowed values; empty if vLLM does not list them."""
    keys: tuple[str, ...] = ()
    """Keys of a JSON object, sorted; empty if vLLM accepts any."""


class ServeFlags(CatalogModel):
    """All flags of one release, by name without the leading hyphens."""

    engine_version: str
    date: datetime.date
    """Day of the recording."""
    source: str
    tool_call_parsers: tuple[str, ...]
    """Sorted by name."""
    reasoning_parsers: tuple[str, ...]
    """Sorted by name."""
    flags: Mapping[str, ServeFlag]


@cache
def load_serve_flags() -> ServeFlags:
    """Return the recorded flags; cached."""
    file = package_folder("engine/catalog") / "serve_flags.yaml"
    return ServeFlags.model_validate(yaml.load(file.read_text(), Loader=_LOADER))  # noqa: S506 - a safe loader
