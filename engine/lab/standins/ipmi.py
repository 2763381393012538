"""Simulated ipmitool: the management controller of the simulated board, as ipmitool 1.8.19 prints it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from .board import SIMULATED, Board

_CHANNEL = "1"


def main(arguments: list[str], root: Path = Path("/")) -> int:
    """Run ipmitool with one of the commands of `_ANSWERS`. Return the exit code."""
    code, text = answer(Board(root), arguments)
    (sys.stdout if code == 0 else sys.stderr).write(f"{text}\n" if text else "")
    return code


def answer(board: Board, arguments: list[str], *, now_s: float | None = None) -> tuple[int, str]:
    """Return exit code and output.

    Args:
        now_s: Unix time; default: the current time.
    """
    own = board.facts["bmc"]
    words = " ".join(arguments)
    now_s = time.time() if now_s is None else now_s
    if words in (f"lan print {_CHANNEL}", f"-c user list {_CHANNEL}"):
        return 0, _lan(own) if words.startswith("lan") else _users(own)
    if arguments[:2] in (["lan", "print"], ["-c", "user"]):
        return 1, f"Channel {arguments[-1]} is not a LAN channel!"
    answers = {
        "mc info": _controller,
        "mc selftest": lambda own: f"Selftest: {own['self_test']}",
        "chassis status": _chassis,
        "sdr type Power Supply": _supplies,
        "sdr type Fan": _fans,
        "sdr type Temperature": _temperatures,
        "sel info": _log_state,
        "sel time get": lambda own: _moment(now_s + own["clock_offset_s"]).replace(" | ", " "),
        "sel elist last 100": lambda own: _events(own, now_s),
    }
    if words not in answers:
        return 1, f"Invalid command: {words}; other commands are not {SIMULATED}"
    return 0, answers[words](own)


def _rows(values: dict[str, Any], width: int) -> str:
    return "\n".join(f"{name:<{width}}: {value}" for name, value in values.items())


def _controller(own: dict[str, Any]) -> str:
    values = {
        "Device ID": 32,
        "Firmware Revision": own["firmware"],
        "IPMI Version": "2.0",
        "Manufacturer Name": SIMULATED,
        "Product ID": "1 (0x0001)",
        "Device Available": "yes",
    }
    auxiliary = "\n".join(f"    {byte}" for byte in own["auxiliary"].split())
    return f"{_rows(values, 26)}\nAux Firmware Rev Info     : \n{auxiliary}"


def _chassis(own: dict[str, Any]) -> str:
    values = {
        "System Power": "on",
        "Power Overload": "false",
        "Main Power Fault": "false",
        "Power Control Fault": "false",
        "Chassis Intrusion": own["intrusion"],
        "Drive Fault": "false",
        "Cooling/Fan Fault": "false",
    }
    return _rows(values, 21)


def _sensor(name: str, number: int, status: str, entity: str, reading: str) -> str:
    return f"{name:<16} | {number:02X}h | {status:<3} | {entity:>5} | {reading}"


def _supplies(own: dict[str, Any]) -> str:
    lines = [
        _sensor(name, 0x40 + index, "ok" if state else "ns", f"10.{index + 1}", state or "No Reading")
        for index, (name, state) in enumerate(own["supplies"].items())
    ]
    return "\n".join([*lines, _sensor("PS_Redundancy", 0x60, "ok", "10.96", own["power_redundancy"])])


def _fans(own: dict[str, Any]) -> str:
    return "\n".join(
        _sensor(name, 0x70 + index, "ok" if rpm else "cr", f"29.{index + 1}", f"{rpm} RPM")
        for index, (name, rpm) in enumerate(own["fans"].items())
    )


def _temperatures(own: dict[str, Any]) -> str:
    inlet = _sensor("TEMP_Ambient", 0x10, own["inlet_status"], "55.1", f"{own['inlet_c']} degrees C")
    return "\n".join([inlet, _sensor("TEMP_CPU0", 0x11, "ok", "3.1", "48 degrees C")])


def _log_state(own: dict[str, Any]) -> str:
    values = {
        "Version": "1.5 (v1.5, v2 compliant)",
        "Entries": len(own["events"]),
        "Percent Used": f"{own['log_percent']}%",
        "Overflow": "false",
    }
    return f"SEL Information\n{_rows(values, 17)}"


def _events(own: dict[str, Any], now_s: float) -> str:
    return "\n".join(
        f"{number + 1:>4x} | {_moment(now_s - 60)} | {sensor} | {text} | Asserted"
        for number, (sensor, text) in enumerate(own["events"])
    )


def _moment(unix_s: float) -> str:
    return time.strftime("%m/%d/%Y | %H:%M:%S UTC", time.gmtime(unix_s))


def _lan(own: dict[str, Any]) -> str:
    address, mask = own["address"], "255.255.255.0"
    levels = "\n".join(f"{'':<24}: {text}" for text in ("    X=Cipher Suite Unused", "    a=ADMIN"))
    values = {
        "Set in Progress": "Set Complete",
        "Auth Type Support": "MD5",
        "Auth Type Enable": "Callback : MD5",
        "IP Address Source": "Static Address",
        "IP Address": address,
        "Subnet Mask": mask,
        "SNMP Community String": SIMULATED,
        "RMCP+ Cipher Suites": "0,3,17",
        "Cipher Suite Priv Max": own["cipher_levels"],
    }
    return f"{_rows(values, 24)}\n{levels}"


def _users(own: dict[str, Any]) -> str:
    return "\n".join(f"{number},{name},true,false,true,{level}" for number, (name, level) in own["users"].items())
