"""Capture files of nodes: the raw tool output of one node, as JSON with mode 0600."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

Capture = dict[str, Any]
"""`{"node", "captured", "commands", "files", "texts"}` of one node; written by `facts/probes/node_probe.py`."""


LIMIT_BYTES = 256 << 20
"""Largest capture that `load` reads, bytes. A node with 100,000 files has 20 MB."""


def encode(capture: Capture) -> bytes:
    """Return the content of a capture file."""
    return (json.dumps(capture, indent=1, sort_keys=True) + "\n").encode()


def save(contents: Mapping[str, bytes], folder: Path) -> None:
    """Save outputs of `encode` by node as `<folder>/<node>.json`, for `load` and `sovctl plan --facts`."""
    for name, content in contents.items():
        write_atomic(folder / f"{name}.json", content, mode=0o600)


def load(folder: Path, names: list[str]) -> dict[str, Capture]:
    """Return the captures of the named nodes that `save` wrote.

    Raises:
        InputError: a capture is absent or invalid.
    """
    captures = {}
    for name in names:
        path = folder / f"{name}.json"
        try:
            capture = json.loads(read_bounded(path, LIMIT_BYTES))
            if capture["node"] != name or not {"commands", "files", "texts", "captured"} <= capture.keys():
                raise ValueError
        except FileNotFoundError:
            raise InputError(
                f"no capture of node {name!r}: no such file",
                where=str(path),
                hint="sovctl plan without --facts",
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            # The only ValueError of Python with this word is that of an integer with more than 4,300 digits.
            reason = ": a number has more than 4,300 digits" if "digits" in str(error) else ""
            raise InputError(
                f"not a capture of node {name!r}{reason}", where=str(path), hint="sovctl plan without --facts"
            ) from None
        captures[name] = capture
    return captures
