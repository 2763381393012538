"""Cases of the checks of the network configuration."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.network import dns_only_site_resolvers, no_extra_addresses


def interfaces(*more: str, address: str = "10.77.0.11", mtu: int = 1500, flags: tuple[str, ...] = ("UP",)) -> str:
    """Loopback, and an interface with an address and further ones."""
    addresses = [{"family": "inet", "local": each, "scope": "global"} for each in (address, *more)]
    return json.dumps(
        [
            {
                "ifname": "lo",
                "mtu": 65536,
                "flags": ["LOOPBACK", "UP"],
                "addr_info": [{"local": "127.0.0.1", "scope": "host"}],
            },
            {"ifname": "eth0", "mtu": mtu, "flags": list(flags), "addr_info": addresses},
        ]
    )


SAMPLES = {
    "network.no-extra-addresses": Sample(
        no_extra_addresses.Expected(address="10.77.0.11"),
        {"interfaces": interfaces()},
        {
            "second": Bad({"interfaces": interfaces("192.0.2.7")}, FAIL, "192.0.2.7"),
            "ipv6": Bad({"interfaces": interfaces("2001:db8::7")}, WARN, "2001:db8::7"),
            "other": Bad({"interfaces": interfaces(address="192.0.2.7")}, FAIL, "one interface"),
            "small-frames": Bad({"interfaces": interfaces(mtu=1400)}, FAIL, "1400"),
            "down": Bad({"interfaces": interfaces(flags=())}, FAIL, "down"),
            "empty": Bad({"interfaces": "[]"}, UNKNOWN, "network interfaces"),
        },
        ("eth0",),
    ),
    "network.dns-only-site-resolvers": Sample(
        dns_only_site_resolvers.Expected(servers=("10.20.0.5",)),
        {"file": "nameserver 127.0.0.53\n", "resolved": "nameserver 10.20.0.5\n# end\n"},
        {
            "of-dhcp": Bad({"resolved": "nameserver 10.20.0.5\nnameserver 192.0.2.53\n# end\n"}, FAIL, "192.0.2.53"),
            "file": Bad({"file": "nameserver 192.0.2.53\n"}, FAIL, "192.0.2.53"),
            "cut": Bad({"resolved": "nameserver 10.20.0.5\n"}, UNKNOWN, "# end"),
        },
        ("nameserver 127", "nameserver 10", "# end"),
    ),
}
