"""Cases of the checks of xid."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.xid import _log_check

NODE = _log_check.Expected(driver_branch=580)
BOOT = "[    0.000000] host kernel: Linux version 6.8.0-1014-nvidia (invented)\n"
QUIET = BOOT + "[   12.000000] host kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.126.20\n"


def xid(code: int, text: str = "pid=77, name=python3, invented") -> str:
    """A log with one Xid."""
    return f"{QUIET}[  900.000000] host kernel: NVRM: Xid (PCI:0000:9b:00): {code}, {text}\n"


CUT = Bad({"log": QUIET.removeprefix(BOOT)}, UNKNOWN, "Linux version")
CHANGED = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"

SAMPLES = {
    "xid.none-since-boot": Sample(
        NODE,
        {"log": QUIET},
        {
            "fallen-off": Bad({"log": xid(79, "GPU has fallen off the bus.")}, FAIL, "Xid 79 of GPU 0000:9b:00"),
            "gsp": Bad({"log": xid(119)}, FAIL, "action RESET_GPU"),
            "application": Bad({"log": xid(31)}, WARN, "action RESTART_APP"),
            "reboot": Bad({"log": xid(154, CHANGED)}, FAIL, "RESTART_BM"),
            "undocumented": Bad({"log": xid(999)}, UNKNOWN, "documented action for Xid 999"),
            "undecoded": Bad({"log": xid(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0xdeadbeef 0x0)")}, UNKNOWN, "149"),
            "strange-form": Bad({"log": QUIET + "NVRM: Xid on some GPU\n"}, UNKNOWN, "Xid (PCI:address)"),
            "cut": CUT,
        },
        ("Linux version",),
    ),
    "xid.no-switch-errors": Sample(
        NODE,
        {"log": QUIET},
        {
            "fatal": Bad(
                {"log": QUIET + "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"},
                FAIL,
                "Link 30",
            ),
            "non-fatal": Bad(
                {"log": QUIET + "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 11004, Non-fatal, Link 30 error\n"},
                WARN,
                "Link 30",
            ),
            "cut": CUT,
        },
        ("Linux version",),
    ),
    "xid.no-adapter-faults": Sample(
        NODE,
        {"log": QUIET},
        {
            "health": Bad(
                {"log": QUIET + "mlx5_core 0000:9a:00.0: poll_health:800: device's health compromised - reached\n"},
                FAIL,
                "0000:9a:00.0",
            ),
            "cut": CUT,
        },
        ("Linux version",),
    ),
    "xid.no-bus-errors": Sample(
        NODE,
        {"log": QUIET},
        {
            "uncorrected": Bad(
                {"log": QUIET + "pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:1b:00.0\n"},
                FAIL,
                "Uncorrected",
            ),
            "corrected": Bad(
                {"log": QUIET + "pcieport 0000:15:01.0: AER: Corrected error received: 0000:1b:00.0\n"},
                WARN,
                "Corrected",
            ),
            "cut": CUT,
        },
        ("Linux version",),
    ),
}
