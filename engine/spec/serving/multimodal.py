"""Images, audio and video in requests to a pool.

Hosts from which a pool fetches media are `gateway.routes[].media_hosts`. Source: vLLM 0.32.0, config/multimodal.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from .section import Gib, JsonObject, ServeSection

Items = Annotated[int, Field(ge=0, le=10_000)]
Modality = Literal["image", "video", "audio"]
_CAPABILITIES: Mapping[Modality, str] = {"image": "vision", "video": "vision", "audio": "audio"}
"""Capability of a pool that permits a kind of media (`pools[].capabilities`)."""


def closed_media(capabilities: Collection[str]) -> tuple[Modality, ...]:
    """Return the kinds of media that none of the capabilities permits, in the order of `Modality`."""
    return tuple(kind for kind, capability in _CAPABILITIES.items() if capability not in capabilities)


class Multimodal(ServeSection):
    """Limits, preprocessing and encoders of media."""

    language_model_only: bool | None = None
    """Whether the server accepts text only."""
    limit_mm_per_prompt: dict[Modality, Items] | None = None
    """Maximum media per request, by kind. 0 for a kind that `capabilities` does not permit; otherwise vLLM's default,
    999."""
    media_io_kwargs: JsonObject | None = None
    """Decoding of media, such as the frames of a video."""
    mm_processor_kwargs: JsonObject | None = None
    """Options of the model's processor, such as the number of image tiles."""
    mm_processor_device: Literal["auto", "cpu"] | None = None
    """Device that prepares images and videos."""
    mm_device_do_normalize: bool | None = None
    """Whether the GPU normalizes pixels."""
    mm_processor_cache_gb: Gib | None = None
    """Main memory for prepared media in GiB per process; 0: none."""
    mm_processor_cache_type: Literal["lru", "shm"] | None = None
    """Cache of prepared media: one for each process, or in shared memory."""
    mm_shm_cache_max_object_size_mb: Annotated[int, Field(ge=0, le=65_536)] | None = None
    """Maximum MiB of one object in shared memory."""
    mm_hasher_algorithm: Literal["blake3", "sha256", "sha512"] | None = None
    """Hash of media."""
    mm_encoder_only: bool | None = None
    """Whether the server computes embeddings of media only."""
    mm_encoder_tp_mode: Literal["weights", "data"] | None = None
    """Parallelism of the encoder: shared weights, or whole images per GPU."""
    mm_encoder_attn_backend: Literal["FLASH_ATTN", "TRITON_ATTN", "TORCH_SDPA", "FLASHINFER"] | None = None
    """Attention of the encoder."""
    mm_encoder_attn_dtype: Literal["fp8"] | None = None
    """Data type of the encoder's attention. Default: the model's."""
    mm_encoder_fp8_scale_save_margin: Annotated[float, Field(gt=0, le=100)] | None = None
    """Factor between observed and stored scales of FP8 attention."""
    mm_tensor_ipc: Literal["direct_rpc", "torch_shm"] | None = None
    """Transfer of prepared media to the engine."""
    mm_ipc_gpu_memory_gb: Gib | None = None
    """GPU memory for the transfer of prepared media in GiB."""
    skip_mm_profiling: bool | None = None
    """Whether the start omits the measurement of media memory."""
    video_pruning_rate: Annotated[float, Field(ge=0, le=0.99)] | None = None
    """Fraction of video tokens that are omitted."""
    video_pruning_method: Literal["evs", "vidcom2"] | None = None
    """Selection of omitted video tokens."""
