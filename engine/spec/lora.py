"""LoRA adapters of a pool: small changes to its model that vLLM puts on per request.

    lora:
      max_loras: 2
      adapters:
        - {name: contracts, manifest_sha256: 0f3a...}

A route of the gateway may name an adapter where it could name a pool: the same servers then answer with it on.
Names and defaults are those of vLLM 0.32.0 (config/lora.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .types import Name, SpecModel, words


class Adapter(SpecModel):
    """One adapter that the site holds."""

    name: Name
    """What routes refer to, and the folder below `artifacts.models_url`."""
    manifest_sha256: Annotated[
        str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), words("64 lower-case hex digits", kind="SHA-256")
    ]
    """SHA-256 of the adapter's MANIFEST (lines of `sha256  path`, sorted by path)."""


class Lora(SpecModel):
    """Adapters, and how many of them are on the GPUs at once."""

    adapters: Annotated[list[Adapter], Field(min_length=1, max_length=256)]
    """Loaded by name; none is loaded or changed while a server runs."""
    max_loras: Annotated[int, Field(ge=1, le=256)] = 1
    """Adapters in one batch. Each takes its room on every GPU, whether or not it is used."""
    max_lora_rank: Literal[1, 8, 16, 32, 64, 128, 256, 320, 512] = 16
    """Largest rank of an adapter; the room of each is of this rank."""
    max_cpu_loras: Annotated[int, Field(ge=1, le=256)] | None = None
    """Adapters kept in the node's memory; `max_loras` when absent."""
