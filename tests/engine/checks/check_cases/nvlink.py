"""Cases of the checks of nvlink."""

from __future__ import annotations

from check_cases.bus import pci
from check_cases.case import DEAD_UNIT, FAIL, FM_UNIT, UNKNOWN, WARN, Bad, Sample, boot
from gpu_samples import eight

from sovctl.engine.checks.definitions.nvlink import _links, fabric_ready, imex_ready, switches_present

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


def near(cell: str, *, odd: str | None = None) -> str:
    """Eight GPUs and as many adapters; a GPU has `cell` to its own adapter, GPU2 has `odd`."""
    gpus, nics = [f"GPU{index}" for index in range(8)], [f"NIC{index}" for index in range(8)]
    rows = []
    for row in range(8):
        own = odd if odd and row == 2 else cell
        cells = ["X" if row == column else "NV18" for column in range(8)]
        rows.append("\t".join([gpus[row], *cells, *(own if row == column else "NODE" for column in range(8))]))
    return "\t" + "\t".join([*gpus, *nics]) + "\n" + "\n".join(rows) + "\n"


FM_LOG = (
    "[Feb 25 2025 13:59:45] [INFO] [tid 7] Fabric Manager version 580.126.20 is running with the following options\n"
    "[Feb 25 2025 13:59:46] [INFO] [tid 7] configured all switches\n"
)
FM_ERROR = "[Feb 25 2025 14:59:46] [ERROR] [tid 7] detected NVSwitch {}fatal error 20034 on link 30\n"
IMEX = (
    "Nodes:\nNode #0   * 192.0.2.1 *   - READY - Version: 580.126.20\n"
    "Node #1   - 192.0.2.2     - READY - Version: 580.126.20\n\nDomain State: UP\n"
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
    "nvlink.no-flapping": Sample(
        LINKS,
        {"errors": nvlink_errors(), "boot": boot()},
        {
            "flaps": Bad({"errors": nvlink_errors(count=4)}, FAIL, "3 recoveries a day of GPU 3 link 4 since the boot"),
            "recovered": Bad({"errors": nvlink_errors(count=1)}, WARN, "no recovery of GPU 3 link 4"),
            "without-counter": Bad({"errors": nvlink_errors(name="New Errors")}, UNKNOWN, "recoveries of"),
        },
        ("GPU 7:", "Recovery Errors"),
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
    "nvlink.switches-present": Sample(
        switches_present.Expected(count=4, pci_device_id="22a3"),
        {"pci": pci()},
        {
            "three": Bad({"pci": pci().replace("0x068000", "0x060400", 1)}, FAIL, "4 NVSwitches 22a3, got 3"),
            "other": Bad({"pci": pci().replace("0x22a3", "0x1af1", 1)}, FAIL, "1af1"),
        },
        ("0000:0a:00.0",),
    ),
    "nvlink.read-access": Sample(
        LINKS,
        {"read": matrix("OK")},
        {
            "one-way": Bad({"read": matrix("OK", odd="CNS")}, FAIL, "read access from GPU2 to GPU5, got CNS"),
            "none": Bad({"read": matrix("NS")}, FAIL, "got NS"),
        },
        ("\tGPU1\t", "GPU5\t"),
    ),
    "nvlink.nic-affinity": Sample(
        LINKS,
        {"topology": near("PIX")},
        {
            "far": Bad({"topology": near("PIX", odd="NODE")}, FAIL, "an adapter at PIX or PXB of GPU2, got NODE"),
            "no-adapters": Bad({"topology": matrix("NV18")}, FAIL, "network adapters"),
        },
        ("\tGPU1\t", "GPU5\t"),
    ),
    "nvlink.fabric-manager-log-clean": Sample(
        LINKS,
        {"manager_log": FM_LOG},
        {
            "error": Bad({"manager_log": FM_LOG + FM_ERROR.format("")}, FAIL, "link 30"),
            "non-fatal": Bad({"manager_log": FM_LOG + FM_ERROR.format("non-")}, WARN, "link 30"),
            "cut": Bad({"manager_log": FM_LOG.partition("\n")[2]}, UNKNOWN, "the start of fabric manager"),
            "strange-level": Bad({"manager_log": FM_LOG + FM_ERROR.replace("ERROR", "ODD")}, UNKNOWN, "a level of"),
        },
        ("is running",),
    ),
    "nvlink.imex-ready": Sample(
        imex_ready.Expected(),
        {"imex": IMEX},
        {
            "down": Bad({"imex": IMEX.replace("UP", "DEGRADED")}, FAIL, "got DEGRADED"),
            "one-away": Bad({"imex": IMEX.replace("READY", "UNAVAILABLE", 1)}, FAIL, "node 0 of the domain READY"),
            "versions": Bad({"imex": IMEX.replace("580.126.20", "580.173.02", 1)}, FAIL, "one version of IMEX"),
        },
        ("Domain State",),
    ),
}
