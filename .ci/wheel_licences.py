#!/usr/bin/env python3
"""Writes engine/catalog/wheel_licences.yaml: the licence of each wheel in the locks that nodes use.

.ci/wheel_licences.py FOLDER...    folders with wheels, in addition to this environment; a test compares the versions

The licence comes from the metadata of exactly the locked version: `License-Expression` (PEP 639) is an SPDX expression,
other fields are names. Packages without metadata here are absent from the file, and count as unknown.
"""

from __future__ import annotations

import email
import re
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "engine" / "catalog" / "locks"
OUT = ROOT / "engine" / "catalog" / "wheel_licences.yaml"
_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)
_MAX_NAME = 60  # longer values of `License` are the text of the licence
_HEAD = """# Licence of each wheel in the locks that nodes use, by name and version. `spdx:` marks an SPDX expression.
# Written by `.ci/wheel_licences.py` from the metadata of the wheels; packages that are not listed are unknown.
"""


def locked() -> set[str]:
    """Return `name==version` of all packages of the locks for nodes."""
    texts = (path.read_text() for path in LOCKS.glob("*.txt") if path.stem != "dev")
    return {f"{_normal(name)}=={version}" for text in texts for name, version in _PACKAGE.findall(text)}


def metadata(folders: list[Path]) -> Iterator[Message]:
    """Yield the metadata of installed distributions and of wheels."""
    for each in distributions():
        yield email.message_from_string(each.read_text("METADATA") or "")
    for wheel in sorted(path for folder in folders for path in folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            name = next((n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)), None)
            if name:
                yield email.message_from_bytes(archive.read(name))


def licence(message: Message) -> str:
    """Return the licence; empty without one."""
    if expression := message.get("License-Expression"):
        return f"spdx:{expression.strip()}"
    classifiers = [c for c in message.get_all("Classifier", []) if c.startswith("License :: ")]
    names = [c.rpartition(" :: ")[2] for c in classifiers if not c.endswith("OSI Approved")]
    if names:
        return ", ".join(dict.fromkeys(names))
    text = (message.get("License") or "").strip()
    return text if 0 < len(text) <= _MAX_NAME and "\n" not in text and text != "UNKNOWN" else ""


def main() -> int:
    """Write the file; the exit status."""
    wanted, found = locked(), {}
    for message in metadata([Path(argument) for argument in sys.argv[1:]]):
        key = f"{_normal(message.get('Name') or '')}=={message.get('Version')}"
        if key in wanted and (value := licence(message)):
            found.setdefault(key, value)
    OUT.write_text(_HEAD + "licences:\n" + "".join(f"  {key}: {_quoted(found[key])}\n" for key in sorted(found)))
    print(f"{len(found)} of {len(wanted)} packages")
    return 0


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    sys.exit(main())
