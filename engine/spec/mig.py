"""MIG layout of the GPUs of a node group: which GPUs are divided, and into which instances.

    mig_layout:
      - {devices: [0, 1], mig_devices: {3g.40gb: 2}}
      - {devices: [2], mig_devices: {4g.40gb: 1, 1g.10gb: 3}}

The fields are those of nvidia-mig-parted, with underscores (NVIDIA/mig-parted 0.9.1, `mig-configs`, read 2026-11).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .types import SpecModel, words

MigProfileName = Annotated[
    str,
    StringConstraints(pattern=r"^[1-7]g\.[0-9]{1,3}gb$"),
    words("a MIG profile such as 3g.40gb", kind="profile"),
]


class MigDevices(SpecModel):
    """Some GPUs of each node, and their MIG instances."""

    devices: Literal["all"] | list[Annotated[int, Field(ge=0, le=15)]] = "all"
    """GPU indices on each node, or `all`."""
    mig_enabled: bool = True
    """Whether MIG is enabled. GPUs in no entry are whole."""
    mig_devices: dict[MigProfileName, Annotated[int, Field(ge=1, le=8)]] = Field(default_factory=dict)
    """Number of instances of each GPU, by MIG profile."""
