"""Meaning of node descriptions: host and adapter index, switch name, vendor defaults, SHARP aggregation nodes.

Defaults and spellings were read in a capture of 40 NDR switches (NVIDIA/topograph, 2026-11-20).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ADAPTER = re.compile(r"^(?P<host>\S+?)[ -](?P<scheme>HCA-|mlx\d_)(?P<index>\d{1,3})$")
_SWITCH = re.compile(r"^MF0;(?P<name>[^:]+):[\w-]+/U\d+$")
_DEFAULT = re.compile(r"^$|^MT\d+ ConnectX|^(?:Quantum|SwitchIB|SwitchX)\S* Mellanox Technologies$")
_AGGREGATION = re.compile(r"Aggregation Node$")
_DEFAULT_HOSTS = frozenset({"localhost", "ubuntu", "debian", "dgx", "node", "host"})


@dataclass(frozen=True, slots=True, order=True)
class AdapterName:
    """Host and index of an adapter.

    Args:
        scheme: `HCA-` counts from 1, `mlx5_` from 0; indices are comparable only within one scheme.
    """

    host: str
    scheme: str
    index: int


def adapter_name(description: str) -> AdapterName | None:
    """Return host and index of `dgx-01 HCA-6` or `dgx-01 mlx5_5`; None for another description."""
    match = _ADAPTER.match(description)
    return AdapterName(match["host"], match["scheme"], int(match["index"])) if match else None


def short_name(description: str) -> str:
    """Return `LEAF-01` for the description `MF0;LEAF-01:MQM9701/U1` of a managed switch; others unchanged."""
    match = _SWITCH.match(description)
    return match["name"] if match else description


def is_unset(description: str) -> bool:
    """Whether the description is empty or the default of the vendor, so that the device has no name."""
    return bool(_DEFAULT.match(description))


def has_default_host(description: str) -> bool:
    """Whether the host has the name of a fresh installation, such as `localhost`."""
    name = adapter_name(description)
    return name is not None and name.host in _DEFAULT_HOSTS


def is_aggregation_node(description: str) -> bool:
    """Whether the device is the SHARP aggregation node of a switch."""
    return bool(_AGGREGATION.search(description))
