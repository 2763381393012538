"""Parser of the kernel log of the current boot, from `journalctl -k -b -o short-monotonic` or `dmesg`.

The line "Linux version ..." is the first one of every boot. A log without it begins later, so that faults before its
first line are not in it, and it is unreadable.

Sources: captures of leptonai/gpud (Xid 119 on 8 x H100; nvidia-peermem), read 2026-11-20; message formats of
NVIDIA/open-gpu-kernel-modules (NVRM: Xid, SXid) and of the kernel (drivers/pci/pcie/aer.c, drivers/edac), read
2026-11-28.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..numbers import integer
from ..unreadable import Unreadable

WHERE = "kernel log"
_BOOT = re.compile(r"(?:^|\s)Linux version \d")
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<address>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, *(?P<text>.*))?$")
_XID_LIKE = re.compile(r"NVRM: (?:GPU\d+ )?Xid\b")
_SXID = re.compile(r"SXid \((?:PCI:)?(?P<address>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, *(?P<text>.*))?$")
_MLX5 = re.compile(
    r"mlx5_core (?P<address>[0-9a-f:.]+).*?(?P<text>health compromised.*|leak of a command resource.*|"
    r"unrecoverable hardware error.*|device's health.*|internal error.*|command .* timeout.*)",
    re.IGNORECASE,
)
# Lines such as "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received" and
# "{1}[Hardware Error]: event severity: fatal". A corrected error has the word "Corrected".
_AER = re.compile(r"(?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d).*?(?:AER|PCIe Bus Error): (?P<text>.*)")
_EDAC = re.compile(r"EDAC \S*?MC(?P<controller>\d+): \d+ (?P<kind>CE|UE) (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class KernelMessage:
    """A message about a device.

    Args:
        address: PCI address as printed, such as "0000:9b:00"; lower case.
        code: of an Xid or SXid; 0 for other messages.
        is_fatal: False if the message reports a corrected error.
    """

    address: str
    code: int
    text: str
    is_fatal: bool = True


@dataclass(frozen=True, slots=True)
class KernelLog:
    """Messages of the current boot in the order of the log."""

    xids: tuple[KernelMessage, ...]
    sxids: tuple[KernelMessage, ...]
    adapters: tuple[KernelMessage, ...]
    """Faults that mlx5_core reports."""
    bus: tuple[KernelMessage, ...]
    """PCI Express errors (AER)."""
    memory: tuple[KernelMessage, ...]
    """Memory errors of the host (EDAC)."""


@lru_cache(maxsize=4)
def parse_kernel_log(text: str) -> KernelLog:
    """Parse the log of one boot.

    Raises:
        Unreadable: the log is empty, does not contain the start of the boot, or has an Xid of an unknown form.
    """
    lines = text.splitlines()
    if not any(_BOOT.search(line) for line in lines):
        raise Unreadable("the line `Linux version` of the start of the boot", text, where=WHERE)
    xids, sxids, adapters, bus, memory = [], [], [], [], []
    for line in lines:
        if match := _XID.search(line):
            xids.append(KernelMessage(match["address"].lower(), integer(match["code"]), (match["text"] or "").strip()))
        elif match := _SXID.search(line):
            words = match["text"] or ""
            is_fatal = not words.lower().startswith("non-fatal")
            sxids.append(KernelMessage(match["address"].lower(), integer(match["code"]), words.strip(), is_fatal))
        elif _XID_LIKE.search(line):
            raise Unreadable("`Xid (PCI:address): code`", line, where=WHERE)
        elif match := _MLX5.search(line):
            adapters.append(KernelMessage(match["address"], 0, match["text"].strip()))
        elif match := _EDAC.search(line):
            memory.append(KernelMessage(f"mc{match['controller']}", 0, match["text"], match["kind"] == "UE"))
        elif match := _AER.search(line):
            words = match["text"]
            if "error" in words.lower() and "enabled with" not in words.lower():
                is_fatal = "uncorrect" in words.lower() or "fatal" in words.lower()
                bus.append(KernelMessage(match["address"], 0, words.strip(), is_fatal))
    return KernelLog(tuple(xids), tuple(sxids), tuple(adapters), tuple(bus), tuple(memory))
