"""Copies of a model folder with one corruption each: a changed template, permuted rows of a weight, rounded weights.

make("permuted", source, target)
"""

from __future__ import annotations

import json
import shutil
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PERMUTED = "model.layers.1.self_attn.q_proj.weight"
ROWS = (3, 7)
BYTES_OF_LENGTH = 8
"""A file of safetensors: length of the header (little endian), header in JSON, tensors."""


def make(name: str, source: Path, target: Path) -> None:
    """Write the corrupted copy of a folder; its file of weights is in bfloat16."""
    shutil.copytree(source, target)
    CORRUPTIONS[name](target)


def _template(folder: Path) -> None:
    file = folder / "chat_template.jinja"
    text = file.read_text()
    changed = text.replace("<|im_start|>user\\n", "<|im_start|>user \\n")
    if changed == text:
        raise ValueError("the template has no role `user`")
    file.write_text(changed)


def _permuted(folder: Path) -> None:
    file = folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    start, end, shape = next(each[1:] for each in _tensors(data) if each[0] == PERMUTED)
    row = (end - start) // shape[0]
    first, second = (start + number * row for number in ROWS)
    kept = data[first : first + row]
    data[first : first + row] = data[second : second + row]
    data[second : second + row] = kept
    file.write_bytes(data)


def _rounded(bits: int) -> Callable[[Path], None]:
    """Return a corruption that keeps some of the 7 bits of the mantissa."""
    dropped = 7 - bits
    half, mask = 1 << (dropped - 1), 0xFFFF ^ ((1 << dropped) - 1)

    def corrupt(folder: Path) -> None:
        file = folder / "model.safetensors"
        data = bytearray(file.read_bytes())
        for _, start, end, _ in _tensors(data):
            values = array("H", bytes(data[start:end]))
            data[start:end] = array("H", ((each + half) & mask for each in values)).tobytes()
        file.write_bytes(data)

    return corrupt


def _tensors(data: bytearray) -> Iterator[tuple[str, int, int, list[int]]]:
    """Yield name, first byte, end and shape of each tensor."""
    length = int.from_bytes(data[:BYTES_OF_LENGTH], "little")
    header = json.loads(data[BYTES_OF_LENGTH : BYTES_OF_LENGTH + length])
    for name, each in header.items():
        if name != "__metadata__":
            start, end = (BYTES_OF_LENGTH + length + offset for offset in each["data_offsets"])
            yield name, start, end, each["shape"]


CORRUPTIONS: Mapping[str, Callable[[Path], None]] = {
    "template": _template,
    "permuted": _permuted,
    "rounded-6-bits": _rounded(6),
    "rounded-3-bits": _rounded(3),
}
"""Three bits are those of FP8 E4M3."""
