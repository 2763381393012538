"""Faults of the board of the node and its management controller."""

from __future__ import annotations

from .fault import Fault, FaultTarget

FAULTS = (
    Fault(
        "psu-failed", FaultTarget.NODE, {
            "bmc.supplies.PSU3_Status": "Presence detected, Failure detected", "bmc.power_redundancy": "Redundancy Lost"
        },
        "ipmitool sdr type 'Power Supply': PSU3 Failure detected", {"bmc.power-redundant": "FAIL"},
    ),
    Fault(
        "psu-missing", FaultTarget.NODE, {"bmc.supplies.PSU5_Status": None},
        "ipmitool sdr type 'Power Supply': five of six", {"bmc.power-redundant": "FAIL"},
    ),
    Fault(
        "fan-stopped", FaultTarget.NODE, {"bmc.fans.FAN3_F": 0},
        "ipmitool sdr type Fan: 0 RPM", {"bmc.fans-running": "FAIL"},
    ),
    Fault(
        "inlet-hot", FaultTarget.NODE, {"bmc.inlet_c": 46, "bmc.inlet_status": "cr"},
        "ipmitool sdr type Temperature: 46 degrees C, critical", {"bmc.temperatures-low": "FAIL"},
    ),
    Fault(
        "bmc-event", FaultTarget.NODE, {"bmc.events": [["Memory CPU0_DIMM_A1", "Uncorrectable ECC"]]},
        "ipmitool sel elist: Uncorrectable ECC", {"bmc.event-log-clean": "FAIL"},
    ),
    Fault(
        "bmc-log-full", FaultTarget.NODE, {"bmc.log_percent": 97},
        "ipmitool sel info: 97 % used", {"bmc.event-log-space": "WARN"},
    ),
    Fault(
        "bmc-clock-wrong", FaultTarget.NODE, {"bmc.clock_offset_s": 7200},
        "ipmitool sel time get: two hours ahead", {"bmc.clock-correct": "WARN"},
    ),
    Fault(
        "bmc-cipher-zero", FaultTarget.NODE, {"bmc.cipher_levels": "aaaXXXXXXXXXXXX"},
        "ipmitool lan print: cipher suite 0 with level a", {"bmc.no-cipher-zero": "FAIL"},
    ),
    Fault(
        "bmc-anonymous", FaultTarget.NODE, {"bmc.users.1": ["", "ADMINISTRATOR"]},
        "ipmitool user list: user 1 without a name", {"bmc.no-anonymous-user": "FAIL"},
    ),
    Fault(
        "bmc-in-node-network", FaultTarget.NODE, {"bmc.address": "10.77.0.211"},
        "ipmitool lan print: an address in the network of the nodes", {"bmc.separate-network": "FAIL"},
    ),
    Fault(
        "bmc-damaged", FaultTarget.NODE, {"bmc.self_test": "device corrupted"},
        "ipmitool mc selftest: device corrupted", {"bmc.responds": "FAIL"},
    ),
    Fault(
        "chassis-open", FaultTarget.NODE, {"bmc.intrusion": "active"},
        "ipmitool chassis status: intrusion", {"bmc.chassis-without-fault": "FAIL"},
    ),
    Fault(
        "bios-old", FaultTarget.NODE, {"plate.bios_version": "1.1.3"},
        "dmidecode -t bios: 1.1.3; FAIL if site.yaml permits only another", {"firmware.bios": "FAIL"},
    ),
    Fault(
        "bios-two-views", FaultTarget.NODE, {"board.bios": "1.6.8"},
        "dmidecode -t bios: another version than sysfs", {"firmware.bios": "FAIL"},
    ),
    Fault(
        "bmc-old", FaultTarget.NODE, {"bmc.firmware": "22.01"},
        "ipmitool mc info: 22.01; FAIL if site.yaml permits only another", {"firmware.bmc": "FAIL"},
    ),
    Fault(
        "module-lost", FaultTarget.NODE, {"board.modules.CPU0_DIMM_A1": 0},
        "dmidecode -t memory: an empty socket, 1984 GiB", {"memory.size": "FAIL"},
    ),
)  # fmt: skip
