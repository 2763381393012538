"""Base types of catalogue entries: a figure with unit, source, kind of source and date.

The data are in `*.yaml` in this folder, and are read on first use. A figure with the value `null` does not apply to the
product (an L40S has no NVLink). An absent figure is unknown, and results that depend on it are UNKNOWN.
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
"""Kind of source: measured on such hardware; configuration file; vendor's statement; statement of others; estimate by
sovctl's authors."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Sources = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""Documents, repositories or files; at least one for every claim."""


Count = Annotated[int, Field(gt=0)]
"""Positive whole number."""
Amount = Annotated[float, Field(gt=0)]
"""Positive quantity, such as bytes per second or watts."""


class CatalogModel(BaseModel):
    """Base model: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Sourced(CatalogModel):
    """An entry with an id, and the source of its figures."""

    id: str
    source: Sources
    kind: Kind
    """Kind of source of all figures without their own kind."""
    date: date
    """Date on which the source was read."""
    verified: bool


class Figure(CatalogModel):
    """An expected value with its source."""

    value: int | float | bool | str | tuple[str, ...] | None
    """None: the property does not apply to the platform, and its check is N/A."""
    unit: str
    """Unit; empty for texts."""
    kind: Kind
    source: str
    date: date
    """Date on which the source was read."""

    @property
    def applies(self) -> bool:
        """Whether the property applies to the platform."""
        return self.value is not None


@cache
def read_catalog(name: str) -> dict[str, Any]:
    """Return a data file of the catalogue as plain values; cached.

    Args:
        name: such as "models", for models.yaml.
    """
    text = (_FOLDER / f"{name}.yaml").read_bytes()
    content: dict[str, Any] = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, and a file of this package
    return content


def read_entries(name: str, part: str) -> list[dict[str, Any]]:
    """Return the rows of one part of a data file. Rows without a date get the file's date."""
    content = read_catalog(name)
    return [{"date": content["read"]} | row for row in content[part]]
