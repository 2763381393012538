"""Cases of the checks of firmware."""

from __future__ import annotations

from check_cases.bmc import CONTROLLER, ELSEWHERE, MACHINE
from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, Bad, Sample
from check_cases.ib import NONE, plain
from gpu_samples import eight

from sovctl.engine.checks.definitions.firmware._versions import Expected

BIOS = """# dmidecode 3.4
Getting SMBIOS data from sysfs.
SMBIOS 3.6.0 present.

Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
\tVendor: Example
\tVersion: 1.6.7
"""

SAMPLES = {
    "firmware.bios": Sample(
        Expected(versions=("1.6.7", "1.6.8")),
        {**MACHINE, "bios": BIOS, "sysfs": "1.6.7\n"},
        {
            "old": Bad(
                {"bios": BIOS.replace("1.6.7", "1.1.3"), "sysfs": "1.1.3\n"},
                FAIL,
                "1.6.7 or 1.6.8 of the BIOS, got 1.1.3",
            ),
            "two-views": Bad({"sysfs": "1.6.8\n"}, FAIL, "BIOS 1.6.8 in both views"),
            "not-set": Bad({"bios": BIOS.replace("1.6.7", "Not Specified")}, UNKNOWN, "the firmware of the BIOS"),
            "without-tool": Bad({"bios": (127, "")}, UNKNOWN, "127"),
            **ELSEWHERE,
        },
        ("none", "SMBIOS 3.6.0", "Version:"),
    ),
    "firmware.bmc": Sample(
        Expected(versions=("23.09",)),
        {**MACHINE, "controller": CONTROLLER},
        {
            "old": Bad({"controller": CONTROLLER.replace("23.09", "22.01")}, FAIL, "got 22.01 (0x17)"),
            **ELSEWHERE,
        },
        ("none", "Firmware Revision", "Device Available"),
    ),
    "firmware.gpu": Sample(
        Expected(versions=("96.00.00.00.01",)),
        {"gpus": eight()},
        {
            "old": Bad({"gpus": eight(vbios="96.00.68.00.01")}, FAIL, "96.00.68.00.01"),
            "not-stated": Bad({"gpus": eight(vbios="N/A")}, UNKNOWN, "the firmware of GPU 3"),
        },
        ("96.00.00.00.01",),
    ),
    "firmware.nic": Sample(
        Expected(versions=("28.41.1000",)),
        plain(),
        {
            "old": Bad(plain(fw_ver="28.39.1002"), FAIL, "mlx5_3, got 28.39.1002"),
            "none": Bad(NONE, UNKNOWN, "0 adapters"),
        },
        ("mlx5_0/fw_ver",),
    ),
    "firmware.nvme": Sample(
        Expected(versions=("0107",)),
        {"container": "none\n", "drives": "nvme0 0107\nnvme1 0107\n2\n"},
        {
            "old": Bad({"drives": "nvme0 0107\nnvme1 0105\n2\n"}, FAIL, "nvme1, got 0105"),
            "not-stated": Bad({"drives": "nvme0 \n1\n"}, UNKNOWN, "the firmware of nvme0"),
            "fewer": Bad({"drives": "nvme0 0107\n2\n"}, UNKNOWN, "drives, then their number"),
            "none": Bad({"drives": "0\n"}, NOT_APPLICABLE, "NVMe drives"),
            "container": Bad({"container": "lxc\n"}, NOT_APPLICABLE, "lxc"),
        },
        ("none", "nvme0"),
    ),
}
