"""Simulated dmidecode: BIOS, system, memory sockets and the management controller of the simulated board."""

from __future__ import annotations

from pathlib import Path

from .board import SIMULATED, Board

_TYPES = {"bios": (0,), "system": (1,), "memory": (17,), "0": (0,), "1": (1,), "17": (17,), "38": (38,)}
_ALL = (0, 1, 17, 38)


def main(arguments: list[str], root: Path = Path("/")) -> int:
    """Run dmidecode: without arguments, or `-t` with a keyword or a type. Return the exit code."""
    code, text = answer(Board(root), arguments)
    print(text)  # noqa: T201 - this is a program
    return code


def answer(board: Board, arguments: list[str]) -> tuple[int, str]:
    """Return exit code and output."""
    types = _ALL if not arguments else _TYPES.get(arguments[-1]) if arguments[0] == "-t" else None
    if types is None or len(arguments) not in (0, 2):
        return 2, f"Invalid type keyword: {' '.join(arguments)}"
    blocks = [
        f"Handle 0x{number:04X}, DMI type {kind}, 26 bytes\n{block}"
        for number, (kind, block) in enumerate(_structures(board))
        if kind in types
    ]
    head = f"# dmidecode 3.4\n# {SIMULATED}\nGetting SMBIOS data from sysfs.\nSMBIOS 3.6.0 present.\n"
    return 0, "\n".join([head, *(f"{block}\n" for block in blocks)])


def _structures(board: Board) -> list[tuple[int, str]]:
    plate, own = board.facts["plate"], board.facts["board"]
    found = [
        (0, f"BIOS Information\n\tVendor: {SIMULATED}\n\tVersion: {own['bios'] or plate['bios_version']}"),
        (1, f"System Information\n\tManufacturer: {plate['sys_vendor']}\n\tProduct Name: {plate['product_name']}"),
        (38, "IPMI Device Information\n\tInterface Type: KCS (Keyboard Control Style)\n\tSpecification Version: 2.0"),
    ]
    for locator, size_gib in own["modules"].items():
        size, speed = (f"{size_gib} GB", "4800 MT/s") if size_gib else ("No Module Installed", "Unknown")
        found.append((17, f"Memory Device\n\tSize: {size}\n\tLocator: {locator}\n\tConfigured Memory Speed: {speed}"))
    return found
