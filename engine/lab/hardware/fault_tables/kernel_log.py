"""Faults of the messages of the kernel."""

from __future__ import annotations

from .fault import Fault, FaultTarget

FAULTS = (
    Fault(
        "xid-79", FaultTarget.NODE, {"kernel_log": ["NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus."]},
        "dmesg: Xid 79", {"xid.none-since-boot": "FAIL"},
    ),
    Fault(
        "xid-31", FaultTarget.NODE, {"kernel_log": ["NVRM: Xid (PCI:0000:61:00): 31, pid=77, name=python3, MMU Fault"]},
        "dmesg: Xid 31", {"xid.none-since-boot": "WARN"},
    ),
    Fault(
        "xid-unknown", FaultTarget.NODE, {"kernel_log": ["NVRM: Xid (PCI:0000:61:00): 999, invented"]},
        "dmesg: a code that is not in the catalogue", {"xid.none-since-boot": "UNKNOWN"},
    ),
    Fault(
        "sxid", FaultTarget.NODE, {
            "kernel_log": [
                "nvidia-nvswitch3: SXid (PCI:0000:0a:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"]
        },
        "dmesg: SXid 20034", {"xid.no-switch-errors": "FAIL"},
    ),
    Fault(
        "adapter-fault", FaultTarget.NODE, {
            "kernel_log": [
                "mlx5_core 0000:5e:00.0: device's health compromised - reached miss count"]
        },
        "dmesg: health of an adapter", {"xid.no-adapter-faults": "FAIL"},
    ),
    Fault(
        "bus-error", FaultTarget.NODE, {
            "kernel_log": [
                "pcieport 0000:60:01.0: AER: Uncorrected (Fatal) error received: 0000:61:00.0"]
        },
        "dmesg: AER", {"xid.no-bus-errors": "FAIL"},
    ),
)  # fmt: skip
