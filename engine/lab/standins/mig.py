"""Simulated MIG of H100 80 GB: mode, instances and UUIDs, with the messages of nvidia-smi.

Formats and messages: NVIDIA MIG User Guide (driver 580, read 2026-11). No capture of a divided GPU was compared.
"""

from __future__ import annotations

import json
import uuid

from .board import MIG_FILE, SIMULATED, Board, Facts

# By name: profile ID, memory slices, number of possible starts, compute slices.
PROFILES = {
    "1g.10gb": (19, 1, 7, 1),
    "1g.20gb": (15, 2, 4, 1),
    "2g.20gb": (14, 2, 3, 2),
    "3g.40gb": (9, 4, 2, 3),
    "4g.40gb": (5, 4, 1, 4),
}
COMPUTE_SLICES = 7
NOT_FOUND, IN_USE, BAD_ARGUMENT = 6, 19, 2
_NO_DEVICES = (NOT_FOUND, ["No MIG-enabled devices found."])
_HEAD = """\
+---------------------------------------------------------+
| GPU instances:                                          |
| GPU   Name               Profile  Instance   Placement  |
|                            ID       ID       Start:Size |
|=========================================================|"""
_RULE = "+---------------------------------------------------------+"

Answer = tuple[int, list[str]]


class Mig:
    """MIG of the GPUs of a node, read when the object is created."""

    def __init__(self, board: Board) -> None:
        self._board, self.state = board, board.mig

    def is_enabled(self, gpu: Facts) -> bool:
        """Whether MIG is enabled on a GPU; `mig_mode` of its facts is a fault without instances."""
        return bool(self.state.get(str(gpu["index"]), {}).get("enabled")) or gpu["mig_mode"] == "Enabled"

    def instances(self, gpu: Facts) -> list[Facts]:
        """Return the instances of a GPU, in the order of MIG devices."""
        found: list[Facts] = self.state.get(str(gpu["index"]), {}).get("instances", [])
        return found

    def save(self, gpu: Facts, *, is_enabled: bool, instances: list[Facts]) -> None:
        """Write the state of a GPU."""
        self.state[str(gpu["index"])] = {"enabled": is_enabled, "instances": instances}
        file = self._board.root / MIG_FILE
        new = file.with_suffix(".new")
        new.write_text(json.dumps(self.state))
        new.replace(file)


def set_mode(board: Board, gpus: list[Facts], *, is_enabled: bool) -> Answer:
    """Answer `nvidia-smi -mig 0|1`. This board needs no reset."""
    mig, lines = Mig(board), []
    for gpu in gpus:
        if mig.instances(gpu) and not is_enabled:
            return IN_USE, [f"Unable to disable MIG Mode for GPU {gpu['pci_bus_id']}: In use by another client"]
        mig.save(gpu, is_enabled=is_enabled, instances=[])
        lines.append(f"{'Enabled' if is_enabled else 'Disabled'} MIG Mode for GPU {gpu['pci_bus_id']} ({SIMULATED})")
    return 0, [*lines, "All done."]


def answer(board: Board, gpus: list[Facts], words: list[str]) -> Answer | None:
    """Answer `nvidia-smi mig ...`; None for other words than the simulated ones."""
    mig = Mig(board)
    divided = [gpu for gpu in gpus if mig.is_enabled(gpu)]
    if not divided:
        return _NO_DEVICES
    match words:
        case ["-lgi"]:
            return _listing(mig, divided)
        case ["-cgi", wanted, "-C"]:
            return _create(mig, divided, wanted.split(","))
        case ["-dci"]:
            return 0, [f"Successfully destroyed compute instances of GPU {gpu['index']}" for gpu in divided]
        case ["-dgi"]:
            for gpu in divided:
                mig.save(gpu, is_enabled=True, instances=[])
            return 0, [f"Successfully destroyed GPU instances of GPU {gpu['index']}" for gpu in divided]
    return None


def _listing(mig: Mig, gpus: list[Facts]) -> Answer:
    rows = []
    for gpu in gpus:
        for each in mig.instances(gpu):
            number, size, _, _ = PROFILES[each["profile"]]
            name = f"MIG {each['profile']}"
            rows.append(f"| {gpu['index']:>3}  {name:<20}{number:>4}{each['id']:>9}{each['start']:>11}:{size:<8} |")
    return (0, [*_HEAD.splitlines(), *rows, _RULE]) if rows else (NOT_FOUND, ["No GPU instances found: Not Found"])


def _create(mig: Mig, gpus: list[Facts], wanted: list[str]) -> Answer:
    lines = []
    for gpu in gpus:
        found = list(mig.instances(gpu))
        for each in wanted:
            profile, _, start = each.partition(":")
            if profile not in PROFILES or not start.isdigit():
                return BAD_ARGUMENT, [f"Invalid GPU instance profile: {each}"]
            number, size, starts, compute = PROFILES[profile]
            taken = {
                slice_ for one in found for slice_ in range(one["start"], one["start"] + PROFILES[one["profile"]][1])
            }
            used = sum(PROFILES[one["profile"]][3] for one in found)
            is_place = int(start) in range(0, starts * size, size)
            if not is_place or taken & set(range(int(start), int(start) + size)) or used + compute > COMPUTE_SLICES:
                what = f"Unable to create a GPU instance on GPU {gpu['index']:>2} using profile {number}"
                return IN_USE, [f"{what}: Insufficient Resources"]
            next_id = 1 + max((one["id"] for one in found), default=0)
            found.append({"id": next_id, "profile": profile, "start": int(start), "uuid": f"MIG-{uuid.uuid4()}"})
            lines.append(
                f"Successfully created GPU instance ID {next_id:>2} on GPU {gpu['index']:>2} using profile "
                f"MIG {profile} (ID {number:>2}) ({SIMULATED})"
            )
        mig.save(gpu, is_enabled=True, instances=found)
    return 0, lines


def device_lines(mig: Mig, gpu: Facts) -> list[str]:
    """Return the lines of the MIG devices of a GPU in `nvidia-smi -L`."""
    return [
        f"  MIG {each['profile']:<10}  Device {index:>2}: (UUID: {each['uuid']})"
        for index, each in enumerate(mig.instances(gpu))
    ]
