"""Every parser of captured text, and the texts that it accepts."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from gpu_samples import document, gpu
from test_management_tools import REDFISH

from bench.healthy.answers import SAMPLES
from sovctl.engine import fabric, facts
from sovctl.engine.facts import operating_system, probes
from sovctl.engine.facts.management import nvme
from sovctl.engine.facts.unreadable import Unreadable

Parser = Callable[[str], Any]
TESTS = Path(__file__).resolve().parents[2]
MAX_CHARACTERS = 12_000

_BOUND: dict[str, Parser] = {
    "management.nvme.parse_nvme_controller": partial(nvme.parse_nvme_controller, device="/dev/nvme0"),
    "operating_system.parse_secure_boot": partial(operating_system.parse_secure_boot, variable=None),
}
"""Parsers with further arguments."""


_MORE = (
    '[["BIOS", 4, 131072, 1700000000], ["NIC", 2, 0, 1700000001]]',  # fwupd
    "ops\tops:x:1000:1000::/home/ops:/bin/bash\tsudo adm\tL\n",  # accounts
    "Filename\tType\tSize\tUsed\tPriority\n/dev/dm-1\tpartition\t8388604\t0\t-2\n",
    '{"Devices": [{"DevicePath": "/dev/nvme0n1", "ModelNumber": "M", "SerialNumber": "S", "Firmware": "1"}]}',
    '{"smartctl": {"exit_status": 0}, "device": {"name": "/dev/nvme0", "protocol": "ATA"}, "smart_status": {}}',
    "|   0  MIG 3g.40gb          9        2          4:4     |\n",
    "  MIG 3g.40gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)\n",
    '{"reason": "requests wait", "engines": [{"pool": "chat", "state": "awake", "held": 0}]}',  # swap groups
)
"""Invented texts of parsers that no case has."""


@cache
def parsers() -> dict[str, Parser]:
    """Return every public function `parse_*` of `engine/facts` and `engine/fabric` that reads a text, by its path."""
    found: dict[str, Parser] = {}
    for package in (facts, fabric):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.ispkg or info.name.startswith(f"{probes.__name__}."):
                continue
            module = importlib.import_module(info.name)
            for name, function in vars(module).items():
                if name.startswith("parse_") and getattr(function, "__module__", "") == info.name:
                    path = f"{info.name.removeprefix(f'{package.__name__}.')}.{name}"
                    found[path] = _BOUND.get(path, function)
    return {path: each for path, each in found.items() if _reads_text(each)}


def _reads_text(parser: Parser) -> bool:
    parameters = [each for each in inspect.signature(parser).parameters.values() if each.default is each.empty]
    return [each.annotation for each in parameters] == ["str"]


@cache
def invented() -> tuple[str, ...]:
    """Return the texts of the cases of all checks and of the tests of parsers, each once, the shortest first."""
    parts = [part for sample in SAMPLES.values() for part in sample.good.values()]
    texts = {part if isinstance(part, str) else part[1] for part in parts}
    texts.update((*_MORE, REDFISH, document(gpu(0), gpu(1))))
    for file in (*sorted(Path(__file__).parent.rglob("test_*.py")), TESTS / "fabric_specimens.py"):
        texts.update(
            each.value
            for each in ast.walk(ast.parse(file.read_text()))
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )
    return tuple(
        sorted((each for each in texts if 0 < len(each) <= MAX_CHARACTERS), key=lambda text: (len(text), text))
    )


@cache
def accepted(parser: Parser, texts: tuple[str, ...]) -> list[str]:
    """Return the texts from which the parser reads a value that is not empty."""
    return [text for text in texts if _reads(parser, text)]


def _reads(parser: Parser, text: str) -> bool:
    try:
        value = parser(text)
        return bool(list(value) if isinstance(value, Iterator) else value)
    except Unreadable:
        return False


@cache
def captured(folder: Path) -> tuple[str, ...]:
    """Return the texts of all captures."""
    return tuple(file.read_text(errors="replace") for file in sorted(folder.rglob("*")) if file.is_file())
