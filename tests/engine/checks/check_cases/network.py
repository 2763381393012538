"""Cases of the checks of the network configuration."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.network import dns_only_site_resolvers, no_extra_addresses, routes_inside_site


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


def routes(*more: dict[str, object]) -> str:
    """Loopback, the network of an interface, and further routes."""
    own = {"dst": "10.77.0.0/24", "dev": "eth0", "protocol": "kernel", "scope": "link", "prefsrc": "10.77.0.11"}
    return json.dumps([{"type": "local", "dst": "127.0.0.1", "dev": "lo", "table": "local"}, own, *more])


LINK_LOCAL = {"dst": "fe80::/64", "dev": "eth0", "protocol": "kernel"}
CLOUD = {"dst": "10.88.0.0/24", "gateway": "10.77.0.254", "dev": "eth0", "flags": []}
WIREGUARD = {"ifname": "wg0", "linkinfo": {"info_kind": "wireguard"}}
LINKS = [{"ifname": "lo", "link_type": "loopback"}, {"ifname": "eth0", "linkinfo": {"info_kind": "veth"}}]


def outside(word: str, *found: dict[str, object], family: str = "ipv4") -> Bad:
    return Bad({family: routes(*found) if family == "ipv4" else json.dumps([LINK_LOCAL, *found])}, FAIL, word)


SAMPLES = {
    "network.routes-inside-site": Sample(
        routes_inside_site.Expected(
            networks=("10.41.0.0/16", "10.77.0.1"),
            permitted=(("10.88.0.0/24", "10.77.0.254"), ("fd00:88::/64", "fe80::1")),
        ),
        {
            "ipv4": routes(
                CLOUD,
                {"dst": "10.88.0.2", "gateway": "10.77.0.254", "dev": "eth0", "table": "100", "protocol": "static"},
                {"dst": "10.41.3.0/24", "gateway": "10.77.0.9", "dev": "eth0", "protocol": "static"},
                {"type": "blackhole", "dst": "default", "dev": "lo"},
            ),
            "ipv6": json.dumps([LINK_LOCAL, {"dst": "fd00:88::/64", "gateway": "fe80::1", "dev": "eth0"}]),
            "interfaces": json.dumps(LINKS),
        },
        {
            "default": outside("default via 10.77.0.254", {"dst": "default", "gateway": "10.77.0.254", "dev": "eth0"}),
            "default-ipv6": outside(
                "default via fe80::1", {"dst": "default", "gateway": "fe80::1", "dev": "eth0"}, family="ipv6"
            ),
            "other-table": outside(
                "table 200", {"dst": "default", "gateway": "10.77.0.1", "dev": "eth0", "table": "200"}
            ),
            "other-router": outside("via 10.77.0.7", {**CLOUD, "gateway": "10.77.0.7"}),
            "one-of-two-hops": outside(
                "via 10.77.0.7",
                {
                    "dst": "10.88.0.0/24",
                    "nexthops": [
                        {"gateway": "10.77.0.254", "dev": "eth0", "weight": 1},
                        {"gateway": "10.77.0.7", "dev": "eth0", "weight": 1},
                    ],
                },
            ),
            "router-of-other-family": outside(
                "via fe80::7", {"dst": "10.88.0.0/24", "via": {"family": "inet6", "host": "fe80::7"}, "dev": "eth0"}
            ),
            "wider": outside("10.88.0.0/23", {**CLOUD, "dst": "10.88.0.0/23"}),
            "on-link": outside("10.99.0.0/24 dev eth0", {"dst": "10.99.0.0/24", "dev": "eth0", "scope": "link"}),
            "public": outside("203.0.113.0/24", {"dst": "203.0.113.0/24", "dev": "eth0", "protocol": "kernel"}),
            "tunnel": Bad(
                {
                    "ipv4": routes({"dst": "10.8.0.0/24", "dev": "wg0", "protocol": "kernel"}),
                    "interfaces": json.dumps([*LINKS, WIREGUARD]),
                },
                FAIL,
                "10.8.0.0/24 dev wg0",
            ),
            "no-interfaces": Bad({"interfaces": "[]"}, UNKNOWN, "network interfaces"),
            "ipv6-absent": Bad({"ipv6": ""}, UNKNOWN, "JSON of ip"),
            "wrong-family": Bad({"ipv6": json.dumps([CLOUD])}, UNKNOWN, "JSON of ip"),
        },
    ),
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
