"""Cases of the checks of ib."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.ib import ports_active


def sysfs(*, adapters: int = 8, rate: str = "400 Gb/sec (4X NDR)", state: str = "4: ACTIVE") -> dict[str, str]:
    """Parts of the InfiniBand probe; mlx5_3 has `rate` and `state`, and there is an Ethernet bond beside them."""
    tree = (
        "mlx5_bond_0/hca_type:MT41692\nmlx5_bond_0/ports/1/state:4: ACTIVE\nmlx5_bond_0/ports/1/link_layer:Ethernet\n"
    )
    for index in range(adapters):
        odd = index == 3
        tree += (
            f"mlx5_{index}/hca_type:MT4129\nmlx5_{index}/ports/1/state:{state if odd else '4: ACTIVE'}\n"
            f"mlx5_{index}/ports/1/phys_state:5: LinkUp\nmlx5_{index}/ports/1/link_layer:InfiniBand\n"
            f"mlx5_{index}/ports/1/rate:{rate if odd else '400 Gb/sec (4X NDR)'}\n"
        )
    return {"adapters": f"{adapters + 1}\n", "tree": tree, "bus": "0x15b3 0x1021 0x020700\n" * adapters}


SAMPLES = {
    "ib.ports-active": Sample(
        ports_active.Expected(ports=8, rate_gbit_s=400),
        sysfs(),
        {
            "no-subnet-manager": Bad(sysfs(state="2: INIT"), FAIL, "no subnet manager"),
            "slow": Bad(sysfs(rate="200 Gb/sec (2X NDR)"), FAIL, "got 200"),
            "seven": Bad(sysfs(adapters=7), FAIL, "8 compute ports, got 7"),
            "nine": Bad(sysfs(adapters=9), UNKNOWN, "9"),
            "none": Bad({"adapters": "0\n", "tree": "", "bus": "0x15b3 0x1021 0x020700\n"}, UNKNOWN, "no adapter"),
        },
        ("mlx5_0/ports/1/state", "mlx5_0/ports/1/rate", "mlx5_0/ports/1/phys_state", "mlx5_0/ports/1/link_layer"),
    ),
}
