"""Cases of the checks of ib."""

from __future__ import annotations

from benchmark_samples import perftest_bandwidth, perftest_latency
from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample, boot

from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.checks.definitions.ib import _pairs
from sovctl.engine.checks.probes.compute_ports import Expected

COUNTERS = (
    "symbol_error",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)
BOND = "mlx5_bond_0/hca_type:MT41692\nmlx5_bond_0/ports/1/state:4: ACTIVE\nmlx5_bond_0/ports/1/link_layer:Ethernet\n"


def adapter(name: str, slot: str, **changes: str) -> str:
    """The lines of one adapter; keys of `changes` are file names."""
    values = {
        "slot": slot,
        "hca_type": "MT4129",
        "fw_ver": "28.41.1000",
        "board_id": "MT_0000000838",
        "node_desc": f"n1 {name}",
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "link_layer": "InfiniBand",
        "rate": "400 Gb/sec (4X NDR)",
        "sm_lid": "0x1",
        **dict.fromkeys(COUNTERS, "0"),
        **changes,
    }
    of_port = ("state", "phys_state", "link_layer", "rate", "sm_lid")
    folders = dict.fromkeys(of_port, "ports/1/") | dict.fromkeys(COUNTERS, "ports/1/counters/")
    return "".join(f"{name}/{folders.get(key, '')}{key}:{value}\n" for key, value in values.items())


def sysfs(*, adapters: int = 8, more: str = "", uptime: bool = False, bus: bool = True, **odd: str) -> dict[str, str]:
    """Parts of the InfiniBand probe: adapters, mlx5_3 with the values of `odd`, an Ethernet bond, and `more`."""
    tree = BOND + more
    for index in range(adapters):
        tree += adapter(f"mlx5_{index}", f"0000:1{index}:00.0", **(odd if index == 3 else {}))
    count = len({line.partition("/")[0] for line in tree.splitlines()})
    parts = {"adapters": f"{count}\n", "tree": tree}
    if bus:
        parts["bus"] = "0x15b3 0x1021 0x020700\n" * adapters
    if uptime:
        parts["boot"] = boot()
    return parts


def plain(**odd: str) -> dict[str, str]:
    """Parts of the checks that do not read the PCI bus."""
    return sysfs(bus=False, **odd)


NONE = {"adapters": "0\n", "tree": ""}
SLOTS = frozenset(f"0000:1{index}:00.0" for index in range(8))
FREE, NAMED = Expected(ports=8, rate_gbit_s=400), Expected(ports=8, rate_gbit_s=400, compute=SLOTS)
STORAGE = adapter("mlx5_8", "0000:aa:00.0", rate="200 Gb/sec (4X HDR)")
ESSENTIAL = ("mlx5_0/ports/1/state", "mlx5_0/ports/1/rate", "mlx5_0/ports/1/phys_state", "mlx5_0/ports/1/link_layer")
PAIR = _pairs.Expected(
    subject="n1+n2",
    nodes=("n1", "n2"),
    server_address="10.0.0.1",
    rails=("0000:18:00.0", "0000:40:00.0"),
    link_gbit_s=400,
    limit=load_benchmarks().rdma_limit(400),
)


def pair(text: str, *, runs: int, rail: int = 0, slow: str | tuple[int, str] = "") -> dict[str, str | tuple[int, str]]:
    """Client's outputs of both rails; those of `rail` are `slow`, if given."""
    numbers = [(each, run) for each in (0, 1) for run in range(1, runs + 1)]
    return {f"rail{each}-run{run}": slow if slow and each == rail else text for each, run in numbers}


RATE, LATE = perftest_bandwidth(size=1 << 20), perftest_latency()
SLOW = perftest_bandwidth(196.2, size=1 << 20)

SAMPLES = {
    "ib.pair-bandwidth": Sample(
        PAIR,
        pair(RATE, runs=3),
        {
            "slow-rail": Bad(
                pair(RATE, runs=3, rail=1, slow=SLOW),
                FAIL,
                "380 Gbit/s on rail 1 (0000:40:00.0) between n2 and n1, got 196.2",
            ),
            "two-of-three": Bad({"rail0-run1": SLOW, "rail0-run3": SLOW}, FAIL, "rail 0"),
            "in-mebibytes": Bad(
                pair(perftest_bandwidth(196.2, size=1 << 20, unit="MiB/sec"), runs=3), FAIL, "got 196.2"
            ),
            "ethernet": Bad(pair(perftest_bandwidth(size=1 << 20, link="Ethernet"), runs=3), UNKNOWN, "over Ethernet"),
            "no-connection": Bad(
                pair(RATE, runs=3, slow=(1, "Couldn't connect to 10.0.0.1:18515\n")), UNKNOWN, "Couldn't connect"
            ),
            "no-adapter": Bad(pair(RATE, runs=3, slow=(3, "")), UNKNOWN, "got 3"),
            "hangs": Bad({"rail1-run2": (124, "")}, UNKNOWN, "124"),
            "latency-instead": Bad({"rail1-run2": LATE}, UNKNOWN, "3 bandwidths"),
        },
        ("RDMA_Write", "Link type", "#bytes", "1048576"),
    ),
    "ib.pair-latency": Sample(
        PAIR,
        pair(LATE, runs=1),
        {
            "late": Bad(
                pair(LATE, runs=1, rail=1, slow=perftest_latency(31.7)),
                FAIL,
                "5 us on rail 1 (0000:40:00.0) between n2 and n1, got 31.7",
            ),
            "no-connection": Bad(pair(LATE, runs=1, slow=(1, "")), UNKNOWN, "exit code 0"),
            "bandwidth-instead": Bad({"rail1-run1": RATE}, UNKNOWN, "one latency"),
        },
        ("RDMA_Write", "Link type", "#bytes", "1000 "),
    ),
    "ib.ports-active": Sample(
        FREE,
        sysfs(),
        {
            "no-subnet-manager": Bad(sysfs(state="2: INIT"), FAIL, "no subnet manager"),
            "slow": Bad(sysfs(rate="200 Gb/sec (2X NDR)"), FAIL, "got 200"),
            "seven": Bad(sysfs(adapters=7), FAIL, "8 compute ports, got 7"),
            "nine": Bad(sysfs(adapters=9), UNKNOWN, "9"),
            "none": Bad({**NONE, "bus": "0x15b3 0x1021 0x020700\n"}, UNKNOWN, "no adapter"),
        },
        ESSENTIAL,
    ),
    "ib.counters-zero": Sample(
        NAMED,
        sysfs(more=STORAGE, uptime=True, bus=False),
        {
            "symbol-errors": Bad(plain(symbol_error="65535"), FAIL, "65535 in 10 h"),
            "integrity": Bad(
                plain(local_link_integrity_errors="1"), FAIL, "integrity_errors 0 on mlx5_3 port 1, got 1"
            ),
            "link-downed": Bad(plain(link_downed="1"), WARN, "link_downed"),
            "unreadable": Bad(plain(link_downed="none"), UNKNOWN, "link_downed"),
        },
        ("mlx5_0/ports/1/counters/link_downed", "mlx5_0/ports/1/counters/symbol_error", "mlx5_0/slot"),
    ),
    "ib.subnet-manager-known": Sample(
        NAMED,
        plain(),
        {
            "none": Bad(plain(sm_lid="0x0"), FAIL, "mlx5_3 port 1, got LID 0"),
            "two-fabrics": Bad(plain(sm_lid="0x9"), FAIL, "LIDs 1, 9"),
            "fewer": Bad(sysfs(adapters=7, bus=False), UNKNOWN, "8 compute ports"),
        },
        ("mlx5_0/ports/1/sm_lid", "mlx5_0/slot"),
    ),
    "ib.node-description-set": Sample(
        NAMED,
        plain(),
        {
            "default": Bad(plain(node_desc="MT4129 ConnectX7   Mellanox Technologies"), FAIL, "mlx5_3"),
            "fresh-host": Bad(plain(node_desc="localhost mlx5_3"), FAIL, "localhost"),
        },
        ("mlx5_0/node_desc", "mlx5_0/slot"),
    ),
    "ib.psid-uniform": Sample(
        NAMED,
        plain(),
        {
            "board": Bad(plain(board_id="MT_0000000999"), FAIL, "MT_0000000999 on mlx5_3"),
            "firmware": Bad(plain(fw_ver="28.39.1002"), FAIL, "28.39.1002 on mlx5_3"),
        },
        ("mlx5_0/board_id", "mlx5_0/fw_ver", "mlx5_0/slot"),
    ),
}
