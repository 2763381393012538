"""Cases of the checks of management controllers."""

from __future__ import annotations

import json

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.bmc import _controller, power_redundant, separate_network

MACHINE = {"machine": "none\n"}
ELSEWHERE = {
    "container": Bad({"machine": "systemd-nspawn\n"}, NOT_APPLICABLE, "a container (systemd-nspawn)"),
    "virtual-machine": Bad({"machine": "kvm\n"}, NOT_APPLICABLE, "a virtual machine (kvm)"),
    "unknown-machine": Bad({"machine": "cloud\n"}, UNKNOWN, "a hypervisor"),
}
PLAIN = _controller.Expected()
CONTROLLER = """Device ID                 : 32
Firmware Revision         : 23.09
IPMI Version              : 2.0
Manufacturer Name         : Example
Product ID                : 4400 (0x1130)
Device Available          : yes
Aux Firmware Rev Info     :
    0x17
"""
SUPPLIES = """PSU0 Status      | 48h | ok  | 10.1 | Presence detected
PSU1 Status      | 49h | ok  | 10.2 | Presence detected
PSU2 Status      | 4Ah | ns  | 10.3 | No Reading
PSU Redundancy   | 60h | ok  |  7.1 | Fully Redundant
"""
FANS = "FAN0_F           | 70h | ok  | 29.1 | 5880 RPM\nFAN0_R           | 71h | ok  | 29.2 | 5760 RPM\n"
TEMPERATURES = (
    "Inlet            | 10h | ok  | 55.1 | 24 degrees C\nCPU0             | 11h | ok  |  3.1 | 48 degrees C\n"
)
CHASSIS = """System Power         : on
Power Overload       : false
Main Power Fault     : false
Power Control Fault  : false
Chassis Intrusion    : inactive
Drive Fault          : false
Cooling/Fan Fault    : false
"""
LOG_STATE = "SEL Information\nEntries          : 2\nPercent Used     : 4%\nOverflow         : false\n"
EVENTS = (
    "   1 | 11/20/2026 | 10:00:00 | Power Supply PSU3 | Failure detected | Asserted\n"
    "   2 | 11/28/2026 | 06:00:01 | System Boot Initiated | Initiated by power up | Asserted\n"
)
BOOT_S = "1795845600\n"  # 2026-11-28T06:00:00Z
CHANNELS = """## 1
Auth Type Enable        : Callback : MD5
                        : Admin    : MD5
IP Address Source       : Static Address
IP Address              : 198.51.100.10
Subnet Mask             : 255.255.255.0
RMCP+ Cipher Suites     : 0,3,17
Cipher Suite Priv Max   : XaaXXXXXXXXXXXX
user 1,anonymous,true,false,false,NO ACCESS
user 2,named,true,false,true,ADMINISTRATOR
"""
ADDRESSES = json.dumps([{"addr_info": [{"family": "inet", "local": "192.0.2.11", "prefixlen": 24}]}])


def event(text: str) -> Bad:
    """The log with another second event, which is FAIL."""
    return Bad(
        {"events": EVENTS.replace("System Boot Initiated | Initiated by power up", text)}, FAIL, "since the boot"
    )


SAMPLES = {
    "bmc.responds": Sample(
        PLAIN,
        {**MACHINE, "controller": CONTROLLER, "self_test": "Selftest: passed\n"},
        {
            "update": Bad({"controller": CONTROLLER.replace(": yes", ": no")}, FAIL, "an update of its firmware"),
            "corrupted": Bad({"self_test": "Selftest: device corrupted\n"}, FAIL, "device corrupted"),
            "without-driver": Bad({"controller": (1, "Could not open device at /dev/ipmi0")}, UNKNOWN, "/dev/ipmi0"),
            **ELSEWHERE,
        },
        ("none", "Firmware Revision", "Device Available", "Selftest"),
    ),
    "bmc.power-redundant": Sample(
        power_redundant.Expected(count=2),
        {**MACHINE, "supplies": SUPPLIES},
        {
            "failed": Bad(
                {"supplies": SUPPLIES.replace("| 10.2 | Presence detected", "| 10.2 | Presence detected, AC lost")},
                FAIL,
                "PSU1 Status without a failure",
            ),
            "missing": Bad(
                {"supplies": SUPPLIES.replace("ok  | 10.2 | Presence detected", "ns  | 10.2 | No Reading")},
                FAIL,
                "2 power supplies, got 1",
            ),
            "degraded": Bad(
                {"supplies": SUPPLIES.replace("Fully Redundant", "Redundancy Lost")}, FAIL, "PSU Redundancy fully"
            ),
            "predicted": Bad(
                {"supplies": SUPPLIES.replace("10.2 | Presence", "10.2 | Predictive failure, Presence")},
                WARN,
                "Predictive failure",
            ),
            "none": Bad({"supplies": "\n"}, UNKNOWN, "the state of power supplies"),
            **ELSEWHERE,
        },
        ("none", "PSU0", "PSU1"),
    ),
    "bmc.fans-running": Sample(
        PLAIN,
        {**MACHINE, "fans": FANS},
        {
            "stopped": Bad({"fans": FANS.replace("5760", "0")}, FAIL, "FAN0_R to turn"),
            "slow": Bad({"fans": FANS.replace("71h | ok ", "71h | cr ")}, FAIL, "FAN0_R within its thresholds"),
            "unspecified": Bad({"fans": FANS.replace("71h | ok ", "71h | us ")}, UNKNOWN, "a status of FAN0_R"),
            "none": Bad({"fans": "\n"}, UNKNOWN, "readings of fans"),
            **ELSEWHERE,
        },
        ("none",),
    ),
    "bmc.temperatures-low": Sample(
        PLAIN,
        {**MACHINE, "temperatures": TEMPERATURES},
        {
            "hot": Bad({"temperatures": TEMPERATURES.replace("10h | ok ", "10h | nr ")}, FAIL, "Inlet within"),
            "state": Bad(
                {"temperatures": TEMPERATURES.replace("48 degrees C", "Limit Exceeded")}, FAIL, "a good state of CPU0"
            ),
            "warm": Bad({"temperatures": TEMPERATURES.replace("10h | ok ", "10h | nc ")}, WARN, "Inlet within"),
            "none": Bad({"temperatures": "\n"}, UNKNOWN, "readings of temperatures"),
            **ELSEWHERE,
        },
        ("none",),
    ),
    "bmc.chassis-without-fault": Sample(
        PLAIN,
        {**MACHINE, "chassis": CHASSIS},
        {
            "open": Bad({"chassis": CHASSIS.replace("inactive", "active")}, FAIL, "Chassis Intrusion inactive"),
            "drive": Bad(
                {"chassis": CHASSIS.replace("Drive Fault          : false", "Drive Fault : true")}, FAIL, "Drive"
            ),
            "unknown-word": Bad({"chassis": CHASSIS.replace("inactive", "maybe")}, UNKNOWN, "maybe"),
            **ELSEWHERE,
        },
        ("none", "Power Overload", "Chassis Intrusion", "Drive Fault", "Cooling/Fan Fault"),
    ),
    "bmc.event-log-clean": Sample(
        PLAIN,
        {**MACHINE, "log_state": LOG_STATE, "events": EVENTS, "boot_time": BOOT_S},
        {
            "memory": event("Memory A1 | Uncorrectable ECC"),
            "power": event("Power Supply PSU3 | Power Supply AC lost"),
            "firmware": event("System Firmware Error #0x11 | No usable system memory"),
            "threshold": event("Temperature Inlet | Upper Critical going high | Asserted | Reading 60"),
            "without-time": Bad(
                {"events": EVENTS.replace("11/20/2026 | 10:00:00", "Pre-Init  |0000000012")}, FAIL, "Failure detected"
            ),
            "vendor": Bad(
                {
                    "events": EVENTS.replace("Initiated by power up", "Unit 7 changed").replace(
                        "System Boot Initiated", "X"
                    )
                },
                WARN,
                "Unit 7 changed",
            ),
            "fewer": Bad({"events": EVENTS.splitlines()[0]}, UNKNOWN, "2 events, got 1"),
            "only-new": Bad(
                {"log_state": LOG_STATE.replace(": 2", ": 900"), "events": EVENTS.splitlines(keepends=True)[1] * 100},
                UNKNOWN,
                "an event before the boot",
            ),
            **ELSEWHERE,
        },
        ("none", "Entries", "Overflow", "Initiated by", "1795845600"),
    ),
    "bmc.event-log-space": Sample(
        PLAIN,
        {**MACHINE, "log_state": LOG_STATE},
        {
            "nearly": Bad({"log_state": LOG_STATE.replace("4%", "97%")}, WARN, "97 %"),
            "overflow": Bad({"log_state": LOG_STATE.replace("false", "true")}, FAIL, "overflow"),
            "not-stated": Bad({"log_state": LOG_STATE.replace("4%", "unknown")}, UNKNOWN, "the used part"),
            **ELSEWHERE,
        },
        ("none", "Entries", "Percent Used", "Overflow"),
    ),
    "bmc.clock-correct": Sample(
        PLAIN,
        {**MACHINE, "times": "11/28/2026 06:00:05\n1795845600 end\n"},
        {
            "ahead": Bad({"times": "11/28/2026 07:00:00 UTC\n1795845600 end\n"}, WARN, "3600 s"),
            "garbled": Bad({"times": "soon\n1795845600 end\n"}, UNKNOWN, "a date"),
            **ELSEWHERE,
        },
        ("none", "11/28/2026", "1795845600 end"),
    ),
    "bmc.separate-network": Sample(
        separate_network.Expected(networks=("198.51.100.0/24",)),
        {**MACHINE, "channels": CHANNELS, "addresses": ADDRESSES},
        {
            "shared": Bad(
                {"channels": CHANNELS.replace("198.51.100.10", "192.0.2.10")}, FAIL, "192.0.2.10/24 in 192.0.2.0/24"
            ),
            "elsewhere": Bad({"channels": CHANNELS.replace("198.51.100.10", "203.0.113.1")}, FAIL, "198.51.100.0/24"),
            "without-address": Bad({"channels": CHANNELS.replace("198.51.100.10", "0.0.0.0")}, UNKNOWN, "an address"),
            "without-networks": Bad({"addresses": "[]"}, UNKNOWN, "a network of the node"),
            **ELSEWHERE,
        },
        ("none", "IP Address  ", "Subnet Mask"),
    ),
    "bmc.no-cipher-zero": Sample(
        PLAIN,
        {**MACHINE, "channels": CHANNELS},
        {
            "usable": Bad({"channels": CHANNELS.replace(": Xaa", ": aaa")}, FAIL, "a privilege level with it"),
            "not-listed": Bad({"channels": CHANNELS.replace("0,3,17", "None")}, UNKNOWN, "the cipher suites"),
            "without-channel": Bad({"channels": "\n"}, UNKNOWN, "a network channel"),
            **ELSEWHERE,
        },
        ("none", "RMCP+ Cipher Suites", "Cipher Suite Priv Max"),
    ),
    "bmc.no-anonymous-user": Sample(
        PLAIN,
        {**MACHINE, "channels": CHANNELS},
        {
            "anonymous": Bad(
                {"channels": CHANNELS.replace("false,false,NO ACCESS", "false,true,OPERATOR")},
                FAIL,
                "a name of user 1, got none, and level OPERATOR",
            ),
            "open": Bad({"channels": CHANNELS.replace("Admin    : MD5", "Admin    : NONE")}, FAIL, "got NONE"),
            "clear-text": Bad(
                {"channels": CHANNELS.replace("Admin    : MD5", "Admin    : PASSWORD")}, WARN, "clear text"
            ),
            "with-names": Bad({"channels": CHANNELS.replace("named,", "root,")}, UNKNOWN, "number, name"),
            "without-users": Bad({"channels": CHANNELS[: CHANNELS.index("user ")]}, UNKNOWN, "users of each channel"),
            **ELSEWHERE,
        },
        ("none", "Auth Type Enable"),
    ),
}
