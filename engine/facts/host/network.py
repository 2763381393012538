"""Parser of `ip -json address show`: interfaces with their addresses (ip-address(8), iproute2 6.1)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..unreadable import MALFORMED, Unreadable


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface.

    Args:
        mtu: bytes.
        addresses: of global scope, both families.
    """

    name: str
    mtu: int
    is_up: bool
    addresses: tuple[str, ...]


def parse_interfaces(text: str) -> tuple[Interface, ...]:
    """Return the interfaces in the order of the kernel.

    Raises:
        Unreadable: the text is not JSON of ip, or contains no interface.
    """
    try:
        found = tuple(
            Interface(
                str(row["ifname"]),
                int(row["mtu"]),
                "UP" in row["flags"],
                tuple(str(each["local"]) for each in row["addr_info"] if each["scope"] == "global"),
            )
            for row in json.loads(text)
            if row
        )
    except MALFORMED:
        raise Unreadable("JSON of ip", text, where="ip -json address show") from None
    if not found:
        raise Unreadable("network interfaces", text, where="ip -json address show")
    return found
