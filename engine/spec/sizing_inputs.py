"""Hall, fabric, disks, money and scaling that `sovctl size` reckons with, as site.yaml has them; a part of `spec`.

Every price is the site's own: sovctl knows none. All are in one currency, with or without tax as you like, but alike.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from .types import Name, SpecModel, words

_Price = Annotated[float, Field(ge=0, le=1e12)]
_Kw = Annotated[float, Field(gt=0, le=1000)]
ClockTime = Annotated[
    str,
    StringConstraints(pattern=r"^([01]\d|2[0-3]):[0-5]\d$"),
    words("a time such as 08:00", kind="time"),
]


class RackSpace(SpecModel):
    """Where the racks stand."""

    rack_kw: _Kw
    """Power and cooling of one rack, in kW."""
    rack_units: Annotated[int, Field(ge=1, le=100)] = 42
    """Height of a rack, in units."""
    free_units: Annotated[int, Field(ge=0, le=50)] = 4
    """Units of a rack that switches and cables take."""
    cooling: Literal["air", "liquid"] = "air"
    """What reaches the racks; `liquid` serves what is cooled by air too."""
    count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Racks that there are; as many as needed when absent."""
    node_kw: dict[Name, _Kw] = Field(default_factory=dict)
    """Power of one node by node group, where you know better than the catalogue, or it knows nothing; kW."""
    power_usage_effectiveness: Annotated[float, Field(ge=1, le=5)] | None = None
    """Power of the hall over power of its machines; 1 in costs when absent."""


class Fabric(SpecModel):
    """The compute network between nodes, laid out by rails."""

    switch_ports: Annotated[int, Field(ge=2, le=1024)] = 64
    """Of one switch; 64 is NVIDIA's QM9700 at 400 Gbit/s."""


class Storage(SpecModel):
    """Where nodes keep weights."""

    read_gb_s: Annotated[float, Field(gt=0, le=1000)] | None = None
    """What one node reads of its model store, in GB/s, as you measured it."""
    versions: Annotated[int, Field(ge=1, le=10)] = 2
    """Versions of a model that a node keeps at once: the new beside the old."""


class Costs(SpecModel):
    """Your prices, for comparing the site with renting and with an API."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$"), words("three capital letters", kind="currency")]
    """ISO 4217, of every price here."""
    years: Annotated[float, Field(gt=0, le=15)]
    """Over which the machines are written off."""
    busy_hours_per_month: Annotated[float, Field(gt=0, le=744)]
    """Hours a month that are as busy as `workload` says, all together."""
    nodes: dict[Name, _Price]
    """Of one node, by node group."""
    network: _Price = 0.0
    """Of switches, cables and everything else that is bought once."""
    support_percent_per_year: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Of what was bought."""
    energy_per_kwh: _Price = 0.0
    """Of electricity."""
    rack_per_year: _Price = 0.0
    """Of one rack's room."""
    staff_per_year: _Price = 0.0
    """Of everybody who runs it."""
    rent_per_gpu_hour: _Price | None = None
    """Of one rented GPU of the same kind."""
    input_price_per_million: _Price | None = None
    """Of a million input tokens at an API."""
    output_price_per_million: _Price | None = None
    """Of a million output tokens at an API."""


class Busy(SpecModel):
    """Hours for which replicas are started before they are needed."""

    days: Annotated[str, StringConstraints(pattern=r"^[0-6](-[0-6])?$"), words("days such as 1-5", kind="days")] = "1-5"
    """As in cron: 0 is Sunday; `1-5` is Monday to Friday."""
    start: ClockTime
    """When they are needed."""
    end: ClockTime
    """When they no longer are."""
    percent: Annotated[float, Field(gt=0, le=100)] = 100.0
    """Of the peak that is expected then."""


class Scaling(SpecModel):
    """What an autoscaler is told; sovctl writes its settings and runs none."""

    base_percent: Annotated[float, Field(ge=0, le=100)] = 20.0
    """Percent of the peak that is always there."""
    prometheus_url: AnyHttpUrl | None = None
    """Where the autoscaler reads vLLM's metrics."""
    timezone: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z]+(/[A-Za-z0-9_+-]+)*$"),
        words("a time zone such as Europe/Berlin", kind="time zone"),
    ] = "UTC"
    """IANA's name, of `calendar`."""
    calendar: Annotated[list[Busy], Field(max_length=20)] = Field(default_factory=list)
    """Busy hours."""
