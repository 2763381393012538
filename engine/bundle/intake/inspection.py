"""Inspects files before a person approves them: weights without code, and archives without bombs (`archives`).

Signatures prove who packed a file. These checks limit damage if a holder packed a malicious one.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from .archives import archive_problem

_MAX_HEADER_BYTES = 100_000_000  # safetensors 0.5, src/tensor.rs: MAX_HEADER_SIZE
_DTYPES = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # bits of an element; safetensors 0.6, Dtype  # fmt: skip
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib", ".npy", ".npz")


def is_weights(path: str) -> bool:
    """Return whether a file is weights in a format without code."""
    return path.endswith(".safetensors")


def problem(path: str, kind: str, file: Path) -> str | None:
    """Return why a file is refused; None if it is not.

    Args:
        path: in the bundle.
        kind: of the lock.
        file: with the content.
    """
    if is_weights(path):
        return _safetensors_problem(file)
    if kind == "model" and (path.endswith((*_PICKLES, ".bin", ".py")) or _is_pickle(file)):
        return "a model may contain code: pickle or Python file; use safetensors"
    return archive_problem(file)


def _is_pickle(file: Path) -> bool:
    with file.open("rb") as opened:
        head = opened.read(2)
        if head[:1] == b"\x80" and head[1:] in (b"\x02", b"\x03", b"\x04", b"\x05"):  # PROTO opcode, PEP 307 and 3154
            return True
    if not zipfile.is_zipfile(file):
        return False
    try:
        with zipfile.ZipFile(file) as archive:
            return any(name.endswith(".pkl") for name in archive.namelist())  # torch.save
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return True


def _safetensors_problem(file: Path) -> str | None:
    size = file.stat().st_size
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if size < 8 or not 2 <= length <= min(_MAX_HEADER_BYTES, size - 8):
            return "invalid safetensors: length of the header"
        try:
            header: Any = json.loads(opened.read(length))
        except (ValueError, RecursionError):
            return "invalid safetensors: the header is not JSON"
    if not isinstance(header, dict):
        return "invalid safetensors: the header is not an object"
    header.pop("__metadata__", None)
    try:
        spans = sorted((*map(int, each["data_offsets"]), _tensor_bytes(each)) for each in header.values())
    except (KeyError, TypeError, ValueError):
        return "invalid safetensors: a tensor without type, shape or offsets"
    end = 0
    for first, last, expected in spans:
        if first != end or last - first != expected:
            return "invalid safetensors: tensors overlap, have gaps, or differ from their shape"
        end = last
    return None if end == size - 8 - length else "invalid safetensors: bytes after the last tensor"


def _tensor_bytes(tensor: Any) -> int:
    bits = _DTYPES[tensor["dtype"]]
    for each in tensor["shape"]:
        if type(each) is not int or each < 0:
            raise ValueError
        bits *= each
    return bits // 8
