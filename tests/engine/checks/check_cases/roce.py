"""Cases of the checks of roce."""

from __future__ import annotations

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample
from check_cases.ib import adapter

from sovctl.engine.checks.definitions.roce._roce_check import Expected
from sovctl.engine.checks.probes.compute_ports import Expected as Ports
from sovctl.engine.spec.fabric import RoceNetwork

NAMES = ("mlx5_0", "mlx5_1")
SLOTS = frozenset(f"0000:1{index}:00.0" for index in range(len(NAMES)))
EXPECTED = Expected(ports=Ports(ports=2, rate_gbit_s=400, compute=SLOTS, link_layer="Ethernet"), network=RoceNetwork())


def sysfs(layer: str = "Ethernet", names: tuple[str, ...] = NAMES) -> dict[str, str]:
    """Parts of adapters and ports."""
    tree = "".join(adapter(name, f"0000:1{name[-1]}:00.0", link_layer=layer) for name in names)
    return {"adapters": f"{len(names)}\n", "tree": tree}


def interfaces(text: str, odd: str | None = None) -> str:
    """The text of each interface; `odd` is that of the second."""
    return "".join(
        f"interface {name} eth{name[-1]}\n{odd if odd is not None and name == NAMES[1] else text}" for name in NAMES
    )


QOS = """\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
Receive buffer size (bytes): 0,156096,0,0,0,0,0,0,
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: vendor
\t priority:  1
"""
ECN = "notification 1\nreaction 1\ntraffic_class Global tclass=106\n"
GID = "type RoCE v2\ndevice {device}\ngid 0000:0000:0000:0000:0000:ffff:0a28:0101\n"
COUNTERS = """\
NIC statistics:
     rx_packets: 1200
     rx_discards_phy: 0
     rx_crc_errors_phy: 0
     link_down_events_phy: 0
     rx_prio3_discards: 0
     tx_pause_storm_error_events: 0
     ch0_arm: 4
"""
DEVICES = "".join(
    f"hca_id:\t{name}\n\ttransport:\t\t\tInfiniBand (0)\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
    f"\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tlink_layer:\t\tEthernet\n"
    for name in NAMES
)
GIDS = "".join(f"interface {name} eth{name[-1]}\n{GID.format(device=f'eth{name[-1]}')}" for name in NAMES)
INFINIBAND = Bad(sysfs("InfiniBand"), NOT_APPLICABLE, "link layer InfiniBand")
ONE = Bad(sysfs(names=NAMES[:1]), UNKNOWN, "2 compute ports, got 1")
MIXED = Bad({"tree": sysfs()["tree"].replace("Ethernet", "InfiniBand", 1)}, UNKNOWN, "one link layer")
COMMON = {"infiniband": INFINIBAND, "one-port": ONE, "mixed": MIXED}
ESSENTIAL = ("interface mlx5_0",)


def qos(old: str, new: str) -> dict[str, str]:
    """The part of mlnx_qos with a change on the second interface."""
    assert old in QOS
    return {"qos": interfaces(QOS, QOS.replace(old, new))}


def gid(old: str, new: str) -> dict[str, str]:
    """The part of GIDs with a change on the last interface."""
    before, found, after = GIDS.rpartition(old)
    assert found
    return {"gid": before + new + after}


SAMPLES = {
    "roce.flow-control": Sample(
        EXPECTED,
        {**sysfs(), "qos": interfaces(QOS)},
        {
            **COMMON,
            "off": Bad(qos("enabled     0   0   0   1", "enabled     0   0   0   0"), FAIL, "mlx5_1 (eth1), got none"),
            "two": Bad(qos("enabled     0   0   0   1   0", "enabled     0   0   0   1   1"), FAIL, "got 3, 4"),
            "trust-pcp": Bad(qos("state: dscp", "state: pcp"), FAIL, "got pcp"),
            "unmapped": Bad(qos("27,26,25", "27,25"), UNKNOWN, "DSCP 26"),
            "other-priority": Bad(qos("prio:3 dscp", "prio:5 dscp"), FAIL, "got 5"),
            "no-tool": Bad({"qos": (1, "interface mlx5_0 eth0\nsh: mlnx_qos: not found\n")}, UNKNOWN, "exit code 0"),
        },
        (*ESSENTIAL, "Priority trust state", "enabled  "),
    ),
    "roce.congestion-notification": Sample(
        EXPECTED,
        {**sysfs(), "ecn": interfaces(ECN)},
        {
            **COMMON,
            "off": Bad({"ecn": interfaces(ECN, ECN.replace("reaction 1", "reaction 0"))}, FAIL, "reaction point"),
            "other-class": Bad({"ecn": interfaces(ECN, ECN.replace("106", "104"))}, FAIL, "got 104"),
            "no-class": Bad({"ecn": interfaces(ECN, "notification 1\nreaction 1\n")}, UNKNOWN, "traffic class"),
        },
        (*ESSENTIAL, "notification", "reaction", "traffic_class"),
    ),
    "roce.mtu": Sample(
        EXPECTED,
        {**sysfs(), "mtu": interfaces("mtu 9000\n"), "devices": DEVICES},
        {
            **COMMON,
            "small": Bad({"mtu": interfaces("mtu 9000\n", "mtu 1500\n")}, FAIL, "got 1500"),
            "rdma": Bad({"devices": DEVICES.replace("active_mtu:\t\t4096 (5)", "active_mtu:\t\t1024 (3)", 1)}, FAIL,
                        "RDMA MTU 4096 on mlx5_0 (eth0), got 1024"),
            "no-tool": Bad({"devices": (127, "")}, UNKNOWN, "127"),
        },
        (*ESSENTIAL, "mtu 9000", "active_mtu", "hca_id"),
    ),
    "roce.gid": Sample(
        EXPECTED,
        {**sysfs(), "gid": GIDS},
        {
            **COMMON,
            "empty": Bad(gid("ffff:0a28:0101", "0000:0000:0000"), FAIL, "an address"),
            "version-1": Bad(gid("RoCE v2", "IB/RoCE v1"), FAIL, "got IB/RoCE v1"),
            "link-local": Bad(gid("0000:0000:0000:0000:0000:ffff:0a28:0101", "fe80:0000:0000:0000:0a28:01ff:fe00:1"
                                  .replace(":1", ":0001")), FAIL, "link-local"),
            "other-device": Bad(gid("device eth1", "device eth7"), FAIL, "got eth7"),
            "no-type": Bad(gid("type RoCE v2", "type "), UNKNOWN, "the type"),
        },
        (*ESSENTIAL, "type RoCE", "gid 0000"),
    ),
    "roce.no-drops": Sample(
        EXPECTED,
        {**sysfs(), "counters": interfaces(COUNTERS)},
        {
            **COMMON,
            "dropped": Bad(
                {"counters": interfaces(COUNTERS, COUNTERS.replace("prio3_discards: 0", "prio3_discards: 9"))},
                FAIL, "rx_prio3_discards 0 on mlx5_1 (eth1), got 9",
            ),
            "storm": Bad(
                {"counters": interfaces(COUNTERS, COUNTERS.replace("error_events: 0", "error_events: 2"))}, FAIL, "2"
            ),
            "flapped": Bad(
                {"counters": interfaces(COUNTERS, COUNTERS.replace("events_phy: 0", "events_phy: 1"))}, WARN, "got 1"
            ),
        },
        (*ESSENTIAL, "rx_prio3_discards", "tx_pause_storm_error_events", "NIC statistics"),
    ),
}  # fmt: skip
