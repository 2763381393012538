"""Cases of the checks of bus."""

from __future__ import annotations

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample, boot
from gpu_samples import eight

from sovctl.engine.checks.definitions.bus import _bus_check, _path_check

BOARD = _bus_check.Expected(gpu_count=8, has_two_sockets=True)
ADDRESSES = [f"0000:{16 + index:02x}:00.0" for index in range(8)]


def proc(*, uuid_of_3: str = "GPU-00000000-0000-0000-0000-000000000003") -> str:
    """The information files of eight GPUs."""
    uuids = [f"GPU-00000000-0000-0000-0000-00000000000{index}" for index in range(8)]
    uuids[3] = uuid_of_3
    return "".join(
        f"{address}\nModel: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {uuid}\nDevice Minor: \t {index}\n"
        for index, (address, uuid) in enumerate(zip(ADDRESSES, uuids, strict=True))
    )


def pci(*, nodes: tuple[int, ...] = (0, 0, 0, 0, 1, 1, 1, 1), width: int = 16, device: str = "0x2330") -> str:
    """A host bridge, four NVSwitches and eight GPUs; `width` and `device` are of GPU 3."""
    lines = ["0000:00:00.0 0x8086 0x1237 0x060000 -1 - -"]
    lines += [f"0000:0{switch}:00.0 0x10de 0x22a3 0x068000 0 16.0 2" for switch in (7, 8, 9)]
    lines.append("0000:0a:00.0 0x10de 0x22a3 0x068000 0 16.0 2")
    for index, (address, node) in enumerate(zip(ADDRESSES, nodes, strict=True)):
        lanes, kind = (width, device) if index == 3 else (16, "0x2330")
        lines.append(f"{address} 0x10de {kind} 0x030200 {node} 32.0 {lanes}")
    return "\n".join(lines) + "\n"


def tree(*, source_valid: str = "-", bridge: str = "ok", gpu: str = "ok", gpus: int = 8) -> str:
    """Bridges with one GPU and one adapter each, and a chipset bridge with ACS and a downgraded link; as lspci -vvv."""
    acs = "ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-"
    text = (
        "00:0c.0 PCI bridge: Example Chipset\n\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
        f"\t\tLnkSta:\tSpeed 5GT/s (downgraded), Width x1 (ok)\n\t\tACSCtl:\tSrcValid+ TransBlk- {acs}\n\n"
    )
    for index in range(gpus):
        bus, flag, speed, own = 0x10 + 2 * index, "-", "ok", "ok"
        if index == 3:
            flag, speed, own = source_valid, bridge, gpu
        text += (
            f"{bus:02x}:01.0 PCI bridge: Example Switch\n"
            f"\tBus: primary={bus:02x}, secondary={bus + 1:02x}, subordinate={bus + 1:02x}, sec-latency=0\n"
            f"\t\tLnkSta:\tSpeed 32GT/s ({speed}), Width x16 (ok)\n\t\tACSCtl:\tSrcValid{flag} TransBlk- {acs}\n\n"
            f"{bus + 1:02x}:00.0 3D controller: NVIDIA Corporation GH100\n"
            f"\t\tLnkSta:\tSpeed 32GT/s ({own}), Width x16 (ok)\n\n"
            f"{bus + 1:02x}:01.0 Infiniband controller: Mellanox Technologies MT2910\n"
            "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n\n"
        )
    return text


PATHS = _path_check.Expected(gpu_count=8)
METAL = {"container": "none\n"}

SAMPLES = {
    "bus.acs-off-on-path": Sample(
        PATHS,
        {**METAL, "devices": tree()},
        {
            "redirects": Bad({"devices": tree(source_valid="+")}, FAIL, "bridge 16:01.0 above 17:00.0"),
            "seven-gpus": Bad({"devices": tree(gpus=7)}, FAIL, "8 GPUs on the PCI bus, got 7"),
            "not-root": Bad({"devices": "00:0c.0 3D controller: NVIDIA Corporation GH100\n"}, UNKNOWN, "as root"),
            "container": Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "container"),
        },
        ("1f:00.0 3D",),
    ),
    "bus.full-speed-on-path": Sample(
        PATHS,
        {**METAL, "devices": tree()},
        {
            "bridge": Bad({"devices": tree(bridge="downgraded")}, FAIL, "bridge 16:01.0 above 17:00.0, got downgraded"),
            "gpu": Bad({"devices": tree(gpu="downgraded")}, WARN, "17:00.0, got downgraded"),
            "seven-gpus": Bad({"devices": tree(gpus=7)}, FAIL, "8 GPUs on the PCI bus, got 7"),
            "container": Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "container"),
        },
        ("1f:00.0 3D",),
    ),
    "bus.views-agree": Sample(
        BOARD,
        {"gpus": eight(), "proc": proc(), "pci": pci()},
        {
            "other-uuid": Bad({"proc": proc(uuid_of_3="GPU-ffffffff")}, FAIL, "the UUID of GPU 3"),
            "unread-uuid": Bad({"proc": proc(uuid_of_3="GPU-????????")}, UNKNOWN, "the UUID of GPU 3"),
            "seven-in-proc": Bad({"proc": proc().partition(ADDRESSES[7])[0]}, FAIL, "8 GPUs in /proc/driver/nvidia"),
            "seven-on-bus": Bad({"pci": pci().partition(ADDRESSES[7])[0]}, FAIL, "8 GPUs in the PCI bus"),
            "other-slot": Bad({"pci": pci().replace("0000:11:", "0000:55:")}, FAIL, "0000:11:00.0, 0000:55:00.0"),
            "other-device": Bad({"pci": pci(device="0x2331")}, FAIL, "PCI device 2331 of GPU 3"),
            "other-width": Bad({"pci": pci(width=8)}, FAIL, "8 lanes of GPU 3 as in sysfs, got 16"),
        },
        ("pci_device_id", "GPU UUID", "<uuid>", "0x2330"),
    ),
    "bus.identities-unique": Sample(
        BOARD,
        {"gpus": eight()},
        {
            "serial": Bad({"gpus": eight().replace("INVENTED-3", "INVENTED-4")}, FAIL, "serial for every GPU"),
            "no-serial": Bad({"gpus": eight().replace("INVENTED-3", "N/A")}, UNKNOWN, "GPU 3"),
        },
        ("<serial>", "<uuid>"),
    ),
    "bus.numa-split": Sample(
        BOARD,
        {"pci": pci()},
        {
            "one-node": Bad({"pci": pci(nodes=(0,) * 8)}, FAIL, "8 on node 0"),
            "five-three": Bad({"pci": pci(nodes=(0, 0, 0, 0, 0, 1, 1, 1))}, FAIL, "5 on node 0, 3 on node 1"),
            "unset": Bad({"pci": pci(nodes=(-1,) * 8)}, FAIL, "got -1"),
        },
        ("0x2330",),
    ),
    "bus.replay-rate": Sample(
        BOARD,
        {"before": eight(), "after": eight(), "boot": boot()},
        {
            "fast": Bad({"after": eight(replays="140")}, FAIL, "replays a minute on GPU 3, got 60"),
            "slow": Bad({"after": eight(replays="121")}, WARN, "got 1"),
            "restarted": Bad({"after": eight(replays="0")}, UNKNOWN, "120, then 0"),
        },
        ("replay_counter",),
    ),
}
