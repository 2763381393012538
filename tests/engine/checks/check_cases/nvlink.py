"""Cases of the checks of nvlink."""

from __future__ import annotations

from check_cases.case import DEAD_UNIT, FAIL, FM_UNIT, UNKNOWN, Bad, Sample
from gpu_samples import eight

from sovctl.engine.checks.definitions.nvlink import _links, fabric_ready

LINKS = _links.Expected(gpu_count=8, links_per_gpu=18, link_gb_s=26.562, topology="NV18")


def nvlink_status(*, down: tuple[int, int] | None = None, gpus: int = 8, speed: str = "26.562 GB/s") -> str:
    """18 links per GPU; `down` is (gpu, link)."""
    text = ""
    for index in range(gpus):
        text += f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-00000000000{index})\n"
        text += "".join(f"\t Link {link}: {'<inactive>' if (index, link) == down else speed}\n" for link in range(18))
    return text


def nvlink_errors(*, count: int = 0, name: str = "Recovery Errors") -> str:
    """Three counters per link; GPU 3 link 4 has `count`."""
    text = ""
    for index in range(8):
        text += f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-00000000000{index})\n"
        for link in range(18):
            for each in ("Replay Errors", "Recovery Errors", "CRC Errors"):
                value = count if (index, link, each) == (3, 4, "Recovery Errors") else 0
                label = name if (index, link, each) == (3, 4, "Recovery Errors") else each
                text += f"\t Link {link}: {label}: {value}\n"
    return text


def matrix(cell: str, *, odd: str | None = None) -> str:
    """Eight GPUs; `odd` is what GPU2 says of GPU5."""
    names = [f"GPU{index}" for index in range(8)]
    rows = [
        "\t".join([a, *("X" if a == b else odd if odd and (a, b) == ("GPU2", "GPU5") else cell for b in names)])
        for a in names
    ]
    return "\t" + "\t".join(names) + "\n" + "\n".join(rows) + "\n\nLegend:\n\n  X    = Self\n"


H100_FABRIC = fabric_ready.Expected(
    gpu_count=8, services=("nvidia-fabricmanager",), state="Completed", status="Success", health=None, has_cluster=False
)


SAMPLES = {
    "nvlink.links-active": Sample(
        LINKS,
        {"links": nvlink_status()},
        {
            "one-down": Bad(
                {"links": nvlink_status(down=(3, 7))}, FAIL, "18 active links on GPU 3, got 17, link 7 inactive"
            ),
            "seven-gpus": Bad({"links": nvlink_status(gpus=7)}, FAIL, "links of 8 GPUs, got 7"),
            "slow": Bad({"links": nvlink_status(speed="20 GB/s")}, FAIL, "got 20.0 GB/s"),
            "all-down": Bad(
                {
                    "links": nvlink_status(gpus=7)
                    + "GPU 7: H100\nNVML: Unable to retrieve NVLink information as all links are inactive\n"
                },
                FAIL,
                "GPU 7, got 0",
            ),
        },
        ("Link 17", "GPU 7:"),
    ),
    "nvlink.errors-zero": Sample(
        LINKS,
        {"errors": nvlink_errors()},
        {
            "counted": Bad({"errors": nvlink_errors(count=3)}, FAIL, "0 Recovery Errors on GPU 3 link 4, got 3"),
            "unknown-counter": Bad({"errors": nvlink_errors(name="New Errors")}, UNKNOWN, "New Errors"),
        },
        ("GPU 7:",),
    ),
    "nvlink.peer-access": Sample(
        LINKS,
        {"topology": matrix("NV18"), "access": matrix("OK")},
        {
            "seventeen": Bad({"topology": matrix("NV18", odd="NV17")}, FAIL, "NV18 from GPU2 to GPU5, got NV17"),
            "one-way": Bad({"access": matrix("OK", odd="NS")}, FAIL, "OK from GPU2 to GPU5, got NS"),
        },
        ("\tGPU1\t", "GPU5\t"),
    ),
    "nvlink.fabric-ready": Sample(
        H100_FABRIC,
        {"services": FM_UNIT, "gpus": eight()},
        {
            "service-dead": Bad({"services": DEAD_UNIT}, FAIL, "nvidia-fabricmanager running"),
            "in-progress": Bad({"gpus": eight(state="In Progress")}, FAIL, "In Progress"),
            "failure": Bad({"gpus": eight(status="Failure")}, FAIL, "status Success"),
            "degraded": Bad({"gpus": eight(summary="Unhealthy", route_unhealthy="True")}, FAIL, "Unhealthy"),
            "route": Bad({"gpus": eight(route_unhealthy="True")}, FAIL, "route_unhealthy"),
            "lost": Bad({"gpus": eight(state="GPU is lost")}, FAIL, "GPU is lost"),
            "not-said": Bad({"gpus": eight(state="N/A")}, UNKNOWN, "state Completed"),
        },
        (
            "<state>",
            "<status>",
            "<summary>",
            "<bandwidth>",
            "<route_unhealthy>",
            "ActiveState",
            "SubState",
            "LoadState",
        ),
    ),
}
