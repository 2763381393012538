"""Output of nvidia-smi about MIG: instances with their places, and UUIDs of MIG devices. Pure.

Source: NVIDIA MIG User Guide, "Creating GPU Instances" (driver 580, read 2026-11); no capture of a divided GPU exists.
"""

from __future__ import annotations

import re

# |   0  MIG 3g.40gb           9        2          4:4     |
_INSTANCE = re.compile(r"^\|\s*(\d{1,4})\s+MIG\s+(\S+)\s+\d+\s+\d+\s+(\d{1,4}):\d+\s*\|$")
_UUID = re.compile(r"^\s+MIG\s+\S+\s+Device\s+\d+:\s+\(UUID:\s+(MIG-[0-9A-Za-z/-]+)\)$")


def parse_gpu_instances(text: str) -> dict[int, list[str]]:
    """Return the GPU instances in `nvidia-smi mig -lgi` by GPU, by place: `3g.40gb@4`. Undivided GPUs are absent."""
    rows = [match.groups() for line in text.splitlines() if (match := _INSTANCE.match(line.strip()))]
    found: dict[int, list[str]] = {}
    for gpu, profile, start in sorted(rows, key=lambda row: (int(row[0]), int(row[2]))):
        found.setdefault(int(gpu), []).append(f"{profile}@{start}")
    return found


def parse_uuids(text: str) -> list[str]:
    """Return the UUIDs of the MIG devices in `nvidia-smi -L`, in its order."""
    return [match[1] for line in text.splitlines() if (match := _UUID.match(line.rstrip()))]
