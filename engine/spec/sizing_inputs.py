"""Racks, fabric, storage, costs and autoscaling under `sizing` of site.yaml.

All prices are inputs of the site; sovctl ships none. They are in one currency, all with or all without tax.
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
    """Racks for the nodes."""

    rack_kw: _Kw
    """Power and cooling capacity of one rack in kW."""
    rack_units: Annotated[int, Field(ge=1, le=100)] = 42
    """Height of a rack in rack units (U)."""
    free_units: Annotated[int, Field(ge=0, le=50)] = 4
    """Rack units per rack for switches and cables."""
    cooling: Literal["air", "liquid"] = "air"
    """Cooling of the racks; `liquid` racks can also hold air-cooled nodes."""
    count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Number of racks. Default: as many as needed."""
    node_kw: dict[Name, _Kw] = Field(default_factory=dict)
    """Power of one node in kW by node group. Default: the catalogue's figure."""
    power_usage_effectiveness: Annotated[float, Field(ge=1, le=5)] | None = None
    """Power usage effectiveness (PUE): total facility power divided by power of the nodes. Default in costs: 1."""


class Fabric(SpecModel):
    """Rail-optimized compute network between nodes."""

    switch_ports: Annotated[int, Field(ge=2, le=1024)] = 64
    """Ports of one switch; 64: NVIDIA QM9700 at 400 Gbit/s."""


class Storage(SpecModel):
    """Model store of the nodes."""

    read_gb_s: Annotated[float, Field(gt=0, le=1000)] | None = None
    """Measured read rate of one node's model store in GB/s."""
    versions: Annotated[int, Field(ge=1, le=10)] = 2
    """Versions of a model on a node, such as the current and the previous one."""


class Costs(SpecModel):
    """Prices, to compare the site with rented GPUs and with an API."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$"), words("three capital letters", kind="currency")]
    """Currency of all prices, ISO 4217."""
    years: Annotated[float, Field(gt=0, le=15)]
    """Depreciation period of the hardware in years."""
    busy_hours_per_month: Annotated[float, Field(gt=0, le=744)]
    """Hours per month with the load of `workload`."""
    nodes: dict[Name, _Price]
    """Price of one node by node group."""
    network: _Price = 0.0
    """Price of switches, cables and other one-time purchases."""
    support_percent_per_year: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Support per year in percent of the purchase prices."""
    energy_per_kwh: _Price = 0.0
    """Price of 1 kWh of electricity."""
    rack_per_year: _Price = 0.0
    """Price of the floor space of one rack per year."""
    staff_per_year: _Price = 0.0
    """Cost of operating staff per year."""
    rent_per_gpu_hour: _Price | None = None
    """Price of one rented GPU of the same type per hour."""
    input_price_per_million: _Price | None = None
    """Price of 1,000,000 input tokens of an API."""
    output_price_per_million: _Price | None = None
    """Price of 1,000,000 output tokens of an API."""


class ScheduledHours(SpecModel):
    """Hours of a week, in the time zone of `sizing.autoscaling`."""

    days: Annotated[str, StringConstraints(pattern=r"^[0-6](-[0-6])?$"), words("days such as 1-5", kind="days")] = "1-5"
    """Days of the week as in cron: 0 is Sunday; `1-5` is Monday to Friday."""
    start: ClockTime
    """Start of the hours."""
    end: ClockTime
    """End of the hours; on the next day if it is not after the start."""


class BusyHours(ScheduledHours):
    """Scheduled hours: replicas are started before the hours begin."""

    percent: Annotated[float, Field(gt=0, le=100)] = 100.0
    """Expected load in percent of the peak."""


class Autoscaling(SpecModel):
    """Settings for an external autoscaler. sovctl generates them and does not run one."""

    min_replicas_percent: Annotated[float, Field(ge=0, le=100)] = 20.0
    """Replicas that always run, in percent of the replicas at peak."""
    prometheus_url: AnyHttpUrl | None = None
    """Prometheus URL from which the autoscaler reads vLLM's metrics."""
    timezone: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z]+(/[A-Za-z0-9_+-]+)*$"),
        words("a time zone such as Europe/Berlin", kind="time zone"),
    ] = "UTC"
    """IANA time zone of `busy_hours`."""
    busy_hours: Annotated[list[BusyHours], Field(max_length=20)] = Field(default_factory=list)
    """Scheduled hours."""
