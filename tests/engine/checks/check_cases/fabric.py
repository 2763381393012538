"""Cases of the checks of fabric."""

from __future__ import annotations

from collections.abc import Callable

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample
from fabric_specimens import IBQUERYERRORS, SMINFO, SMIR

from bench.fabric import InventedFabric
from sovctl.engine.checks.definitions.fabric._fabric_check import Expected
from sovctl.engine.fabric.cabling import parse_plan, plan_of
from sovctl.engine.fabric.topology import Fabric
from sovctl.engine.facts.fabric.ibnetdiscover import parse_ibnetdiscover

NO_ERRORS = """\

## Summary: 3 nodes checked, 0 bad nodes found
##          6 ports checked, 0 ports have errors beyond threshold
## Thresholds:
## Suppressed:
"""


def healthy() -> InventedFabric:
    """Three hosts with two adapters, two leaves, three spines, and SHARP on every switch."""
    fabric = InventedFabric(hosts=3, rails=2, hosts_per_leaf=3, uplinks=3)
    for number, switch in enumerate([name for name in fabric.names if name.startswith("S-")]):
        fabric.names[f"H-sharp-{number}"] = "Mellanox Technologies Aggregation Node"
        fabric.connect((switch, 65), (f"H-sharp-{number}", 1))
    return fabric


def damaged(damage: Callable[[InventedFabric], object]) -> dict[str, str]:
    """The part of the probe for a damaged fabric."""
    fabric = healthy()
    damage(fabric)
    return {"topology": fabric.text()}


def named(**names: str) -> Callable[[InventedFabric], object]:
    """Rename devices; `H_0_0` is adapter 0 of host 0."""
    return lambda fabric: fabric.names.update({key.replace("_", "-"): value for key, value in names.items()})


TEXT = healthy().text()
GOOD = {"topology": TEXT}
PLAN = parse_plan(plan_of(Fabric.of(parse_ibnetdiscover(TEXT))))[0]
ADAPTERS = (("dgx-0001", 2), ("dgx-0002", 2), ("dgx-0003", 2))
PLANNED = Expected(plan=PLAN, adapters=ADAPTERS)
FREE = Expected(adapters=ADAPTERS)
UNSET = "MT4129 ConnectX7   Mellanox Technologies"
CUT_UPLINK = damaged(lambda fabric: fabric.cut(("S-leaf-0-0", 4)))
CUT_ADAPTER = damaged(lambda fabric: (fabric.cut(("S-leaf-0-0", 1)), fabric.names.pop("H-0-0")))
SWAPPED = damaged(lambda fabric: fabric.swap(("S-leaf-0-0", 1), ("S-leaf-0-1", 1)))
SLOW = damaged(lambda fabric: fabric.slow(("S-leaf-0-0", 2), "4xHDR"))
CUT_TEXT = {"topology": "".join(TEXT.splitlines(keepends=True)[:20])}
LEAF = 'MF0;leaf-1-1:MQM9700/U1" enhanced'

SAMPLES = {
    "fabric.cabling-as-planned": Sample(
        PLANNED,
        GOOD,
        {
            "swapped": Bad(SWAPPED, FAIL, "leaf-1-1 port 1 connected to dgx-0001 mlx5_1 port 1"),
            "additional": Bad(
                damaged(lambda fabric: fabric.connect(("S-leaf-0-0", 60), ("S-leaf-0-1", 60))), WARN, "port 60"
            ),
            "cut-text": Bad(CUT_TEXT, UNKNOWN, "both ends"),
        },
        (LEAF,),
    ),
    "fabric.rails-not-swapped": Sample(
        FREE,
        GOOD,
        {
            "swapped": Bad(SWAPPED, FAIL, "swapped: mlx5_0 on leaf-1-2 port 1, rail mlx5_1"),
            "misplaced": Bad(
                damaged(lambda fabric: fabric.swap(("S-leaf-0-0", 1), ("S-leaf-0-1", 2))), FAIL, "dgx-0002 mlx5_1"
            ),
            "without-names": Bad(
                damaged(named(**{f"H_{host}_{rail}": UNSET for host in range(3) for rail in range(2)})),
                UNKNOWN,
                "descriptions",
            ),
        },
        (LEAF,),
    ),
    "fabric.no-missing-links": Sample(
        PLANNED,
        GOOD,
        {
            "cut-uplink": Bad(CUT_UPLINK, FAIL, "a link from leaf-1-1 port 4 to spine-1 port 1"),
            "cut-adapter": Bad(CUT_ADAPTER, FAIL, "2 adapters of dgx-0001"),
            "unnamed": Bad(damaged(named(H_0_0=UNSET)), UNKNOWN, "1 adapters without a name"),
        },
        (LEAF,),
    ),
    "fabric.no-slow-links": Sample(
        FREE,
        GOOD,
        {
            "slow": Bad(SLOW, FAIL, "leaf-1-1 port 2 - dgx-0002 mlx5_0 port 1"),
            "unknown-speed": Bad({"topology": TEXT.replace("4xNDR", "4xWARP", 1)}, UNKNOWN, "4xWARP"),
        },
        (LEAF,),
    ),
    "fabric.names-unique": Sample(
        FREE,
        GOOD,
        {"twice": Bad(damaged(named(H_1_0="dgx-0001 mlx5_0")), FAIL, "one device with the name dgx-0001 mlx5_0")},
        (LEAF,),
    ),
    "fabric.guids-unique": Sample(
        FREE,
        GOOD,
        {
            "lid-twice": Bad(
                {"topology": TEXT.replace("port 0 lid 1 lmc", "port 0 lid 2 lmc")}, FAIL, "one device with LID 2"
            ),
        },
        (LEAF,),
    ),
    "fabric.descriptions-set": Sample(
        FREE,
        GOOD,
        {
            "unset": Bad(damaged(named(H_0_0=UNSET)), FAIL, "on leaf-1-1 port 1"),
            "fresh-host": Bad(damaged(named(H_0_0="localhost mlx5_0")), FAIL, "localhost"),
        },
        (LEAF,),
    ),
    "fabric.sharp-present": Sample(
        FREE,
        GOOD,
        {
            "absent": Bad(
                damaged(lambda fabric: (fabric.cut(("S-leaf-0-0", 65)), fabric.names.pop("H-sharp-0"))),
                FAIL,
                "aggregation node on leaf-1-1",
            )
        },
        (LEAF,),
    ),
    "fabric.oversubscription": Sample(
        FREE,
        GOOD,
        {"cut-uplink": Bad(CUT_UPLINK, FAIL, "got 1.50 (1200 Gbit/s down, 800 up)")},
        (LEAF,),
    ),
    "fabric.subnet-manager-and-standby": Sample(
        Expected(needs_standby=True),
        {"manager": SMINFO, "records": SMIR},
        {
            "no-standby": Bad({"records": SMIR[: SMIR.rindex("SMInfoRecord")]}, FAIL, "a standby"),
            "two-masters": Bad({"records": SMIR.replace("..2\n", "..3\n", 2)}, FAIL, "one master"),
            "discovering": Bad({"manager": SMINFO.replace("state 3", "state 1")}, FAIL, "DISCOVERING"),
            "no-answer": Bad({"manager": (255, "sminfo: iberror: failed: query\n")}, UNKNOWN, "255"),
        },
        ("sminfo:", "GUID..................0x02000000000000fe"),
    ),
    "fabric.errors-zero": Sample(
        Expected(),
        {"errors": NO_ERRORS},
        {
            "link-downed": Bad({"errors": (1, IBQUERYERRORS)}, FAIL, "leaf1 port 2 - n2 mlx5_0 port 1, got 3"),
            "symbol-errors": Bad(
                {"errors": (1, IBQUERYERRORS.replace(" [LinkDownedCounter == 3]", ""))}, WARN, "SymbolErrorCounter"
            ),
            "no-answer": Bad({"errors": NO_ERRORS + "##          2 PMA query failures\n"}, UNKNOWN, "2 ports"),
            "no-fabric": Bad({"errors": (255, "")}, UNKNOWN, "255"),
            "thresholds": Bad(
                {"errors": NO_ERRORS.replace("Thresholds:", "Thresholds: [LinkDownedCounter = 10]")},
                UNKNOWN,
                "[LinkDownedCounter = 10]",
            ),
            "suppressed": Bad(
                {"errors": NO_ERRORS.replace("Suppressed:", "Suppressed: LinkDownedCounter")}, UNKNOWN, "no suppressed"
            ),
        },
        ("## Summary", "ports checked"),
    ),
}  # fmt: skip
