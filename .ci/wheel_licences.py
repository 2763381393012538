#!/usr/bin/env python3
"""Writes engine/catalog/wheel_licences.yaml: the licence of each wheel in the locks that nodes use.

.ci/wheel_licences.py PLACE...    in addition to this environment: folders with wheels, or files of `pip --report`

For wheels of another platform, such as those of CUDA, pip reads the metadata without the wheels: `pip install --dry-run
--no-deps --ignore-installed --only-binary=:all: --report FILE --target DIR --platform ... -r PACKAGES` (pip 26).

The licence comes from the metadata of exactly the locked version: `License-Expression` (PEP 639) is an SPDX expression,
other fields are names. Entries whose version is still locked are kept. Packages without metadata here are absent from
the file, and count as unknown. A test compares the versions.
"""

from __future__ import annotations

import email
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "engine" / "catalog" / "locks"
OUT = ROOT / "engine" / "catalog" / "wheel_licences.yaml"
_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)
_NOT_OF_NODES = ("dev", "trestle")
_MAX_NAME = 60  # longer values of `License` are the text of the licence
_PROPRIETARY = "Other/Proprietary License"
_TEXTS = {"MIT License": "MIT License", "Apache License Version 2.0,": "Apache Software License"}
"""Names of licences by the beginning of their text, with single blanks."""
_HEAD = """# Licence of each wheel in the locks that nodes use, by name and version. `spdx:` marks an SPDX expression.
# Written by `.ci/wheel_licences.py` from the metadata of the wheels; packages that are not listed are unknown.
"""


def locked() -> set[str]:
    """Return `name==version` of all packages of the locks for nodes."""
    texts = (path.read_text() for path in LOCKS.glob("*.txt") if path.stem not in _NOT_OF_NODES)
    return {f"{_normal(name)}=={version}" for text in texts for name, version in _PACKAGE.findall(text)}


def metadata(places: list[Path]) -> Iterator[Message]:
    """Yield the metadata of installed distributions, of wheels in folders, and of reports of pip."""
    for each in distributions():
        yield email.message_from_string(each.read_text("METADATA") or "")
    for wheel in sorted(path for folder in places for path in folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            name = next((n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)), None)
            if name:
                yield email.message_from_bytes(archive.read(name))
    for report in (each for each in places if each.is_file()):
        yield from (_of_report(each["metadata"]) for each in json.loads(report.read_text())["install"])


def _of_report(fields: dict[str, Any]) -> Message:
    """Return the metadata of a package in a report of pip, whose keys are lower-case."""
    message = Message()
    for header in ("Name", "Version", "License-Expression", "License"):
        if value := fields.get(header.lower().replace("-", "_")):
            message[header] = value
    for value in fields.get("classifier", ()):
        message["Classifier"] = value
    return message


def licence(message: Message) -> str:
    """Return the licence; empty without one."""
    if expression := message.get("License-Expression"):
        return f"spdx:{expression.strip()}"
    classifiers = [c for c in message.get_all("Classifier", []) if c.startswith("License :: ")]
    names = [c.rpartition(" :: ")[2] for c in classifiers if not c.endswith("OSI Approved")]
    text = _name(message.get("License") or "")
    if names == [_PROPRIETARY] and text:
        return f"{_PROPRIETARY} ({text})"
    return ", ".join(dict.fromkeys(names)) or text


def _name(text: str) -> str:
    """Return the name in a field `License`, which can be the text of the licence; empty if it is unknown."""
    words = " ".join(text.split())
    if len(words) > _MAX_NAME:
        return next((name for beginning, name in _TEXTS.items() if words.startswith(beginning)), "")
    return words if words != "UNKNOWN" else ""


def main() -> int:
    """Write the file; the exit status."""
    wanted = locked()
    kept = yaml.safe_load(OUT.read_text())["licences"] if OUT.exists() else {}
    found = {key: value for key, value in kept.items() if key in wanted}
    for message in metadata([Path(argument) for argument in sys.argv[1:]]):
        key = f"{_normal(message.get('Name') or '')}=={message.get('Version')}"
        if key in wanted and (value := licence(message)):
            found[key] = value
    OUT.write_text(_HEAD + "licences:\n" + "".join(f"  {key}: {_quoted(found[key])}\n" for key in sorted(found)))
    print(f"{len(found)} of {len(wanted)} packages")
    return 0


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    sys.exit(main())
