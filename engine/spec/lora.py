"""LoRA adapters of a pool, which vLLM applies per request.

    lora:
      max_loras: 2
      adapters:
        - {name: contracts, tenant: legal, manifest_sha256: 0f3a...}

A route of the gateway may name an adapter instead of a pool; the pool's servers then apply the adapter.
Names and defaults are those of vLLM 0.32.0 (config/lora.py).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from .serving.section import ServeSection
from .types import Name, SpecModel, words


class Adapter(SpecModel):
    """An adapter in the site's mirror."""

    name: Name
    """Name that routes refer to, and the folder below `artifacts.models_url`."""
    manifest_sha256: Annotated[
        str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), words("64 lower-case hex digits", kind="SHA-256")
    ]
    """SHA-256 of the adapter's MANIFEST (lines of `sha256  path`, sorted by path)."""
    tenant: Name | None = None
    """Tenant that owns the adapter. The gateway answers clients of other tenants as if its routes did not exist.
    Default: all tenants may use it."""
    licence: Annotated[str, Field(min_length=2, max_length=100)] | None = None
    """Licence of the adapter, which can differ from that of its model."""
    licence_approved_by: Annotated[str, Field(min_length=3, max_length=100)] | None = None
    """Role or person who approved the licence; `sovctl lock` requires one."""
    licence_approved_because: Annotated[str, Field(min_length=10, max_length=500)] | None = None
    """Reason why the licence conditions are met, for auditors; required with `licence_approved_by`."""


class Lora(ServeSection):
    """Adapters, and the number of adapters in GPU memory."""

    adapters: Annotated[list[Adapter], Field(min_length=1, max_length=256)]
    """Adapters, loaded when the server starts."""
    max_loras: Annotated[int, Field(ge=1, le=256)] = 1
    """Maximum adapters in one batch. GPU memory for this number of adapters is reserved on every GPU."""
    max_lora_rank: Literal[1, 8, 16, 32, 64, 128, 256, 320, 512] = 16
    """Maximum rank of an adapter; memory is reserved for this rank."""
    max_cpu_loras: Annotated[int, Field(ge=1, le=256)] | None = None
    """Adapters in the node's main memory. Default: `max_loras`."""
    lora_dtype: Literal["auto", "bfloat16", "float16"] | None = None
    """Data type of adapters. Default: the model's."""
    fully_sharded_loras: bool | None = None
    """Whether tensor parallelism divides both matrices of an adapter."""
    lora_target_modules: Annotated[list[str], Field(max_length=256)] | None = None
    """Names of modules that adapters change. Default: all that vLLM supports."""
    enable_tower_connector_lora: bool | None = None
    """Whether adapters also change the encoder of a multimodal model."""
    specialize_active_lora: bool | None = None
    """Whether kernels are compiled for each number of active adapters."""
    enable_mixed_moe_lora_format: bool | None = None
    """Whether adapters of experts may have different formats."""
    enable_moe_shared_loras: bool | None = None
    """Whether experts share an adapter."""
    max_lora_cls_labels: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Maximum labels of a classifier's adapter."""

    not_flags: ClassVar[frozenset[str]] = frozenset({"adapters"})
