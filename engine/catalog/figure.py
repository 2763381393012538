"""Numbers from outside, each with its unit, where it comes from, how well it is known, and when it was read.

The catalogue is data (`*.yaml` beside this file, read once, when first asked for) and typed values over it. A figure
whose value is `null` is positively not there (an L40S has no NVLink); a figure that is absent is not known, and what
depends on it is UNKNOWN.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sovctl.support.package_files import package_folder

_FOLDER = package_folder("engine/catalog")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml: 15 ms for models.yaml instead of 100 ms

Kind = Literal["measured", "config", "vendor", "community", "guess"]
"""How well a number is known: measured on such hardware; read in a configuration file; said by the maker; others say
so; our guess."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Sources = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""Documents, repositories or files, at least one where something is claimed."""


Count = Annotated[int, Field(gt=0)]
"""Of things."""
Amount = Annotated[float, Field(gt=0)]
"""Of bytes per second, watts and the like."""


class CatalogModel(BaseModel):
    """Base: frozen, and an unknown key is our mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Sourced(CatalogModel):
    """What has an id, and says where its figures are from."""

    id: str
    source: Sources
    kind: Kind
    """How well its figures are known, but for those that say it themselves."""
    date: date
    """When the source was read."""
    verified: bool


class Figure(CatalogModel):
    """One expected value."""

    value: int | float | bool | str | tuple[str, ...] | None
    """None: this machine positively has no such thing, and a check of it is N/A."""
    unit: str
    """Empty for words."""
    kind: Kind
    source: str
    date: date
    """When the source was read."""

    @property
    def applies(self) -> bool:
        """False when the machine has no such thing."""
        return self.value is not None


@cache
def read_catalog(name: str) -> dict[str, Any]:
    """A data file of the catalogue as plain values.

    Args:
        name: such as "models", for models.yaml.
    """
    text = (_FOLDER / f"{name}.yaml").read_bytes()
    content: dict[str, Any] = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, and our own file
    return content


def read_entries(name: str, part: str) -> list[dict[str, Any]]:
    """The rows of one part of a data file, each with the day on which that file was read, unless it has its own."""
    content = read_catalog(name)
    return [{"date": content["read"]} | row for row in content[part]]
