"""Services that a GPU board needs on its node: what the plan starts and what checks expect.

[each.unit for each in board_services(platform)]      # ["nvidia-persistenced", "nvidia-fabricmanager", ...]
"""

from __future__ import annotations

from functools import cache
from typing import Self

from pydantic import model_validator

from .figure import CatalogModel, Kind, read_catalog
from .operating_systems import Need, is_needed
from .platforms import Platform


class BoardService(CatalogModel):
    """A service of a board."""

    id: str
    unit: str | None = None
    """systemd unit; None: `started_by` starts it as `process`."""
    started_by: str | None = None
    """Unit that starts the process of a service without a unit of its own."""
    process: str | None = None
    needs: Need
    component: str
    """Component whose packages contain the service."""
    kernel: bool = False
    """Whether it loads kernel modules; omitted in a container and on simulated hardware."""
    fabric: bool
    """Whether GPUs have no NVLink without it."""
    why: str
    kind: Kind
    source: str

    @model_validator(mode="after")
    def _check_start(self) -> Self:
        if (self.unit is None) != (self.started_by is not None and self.process is not None):
            raise ValueError("unit, or started_by and process")
        return self


@cache
def load_board_services() -> tuple[BoardService, ...]:
    """Return all services, in the order in which they start."""
    return tuple(BoardService.model_validate(row) for row in read_catalog("board_services")["services"])


def board_services(platform: Platform) -> tuple[BoardService, ...]:
    """Return the services of a platform; empty for a node without GPUs."""
    return tuple(each for each in load_board_services() if is_needed(each.needs, platform))


def fabric_services(platform: Platform) -> tuple[BoardService, ...]:
    """Return the services of a platform's NVLink fabric; empty without a fabric."""
    return tuple(each for each in board_services(platform) if each.fabric)
