"""Builds `sovctl-verify.pyz`: the modules of `audit.command`, their imports and data, as one executable zip file.

The modules import the standard library and each other only; the build fails otherwise. Names, order, times and
permissions in the archive are fixed and nothing is compressed, so that the same sources give the same bytes everywhere.
Format: Python zipapp (https://docs.python.org/3/library/zipapp.html).
"""

from __future__ import annotations

import ast
import io
import sys
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from ..oscal.schema import SCHEMA_FILE

FILE_NAME = "sovctl-verify.pyz"
ENTRY = "sovctl.compliance.audit.command"
DATA = (f"sovctl/compliance/oscal/{SCHEMA_FILE}",)
_MAIN = f"""import sys

if sys.version_info < (3, 11):
    sys.exit("sovctl-verify needs Python 3.11 or newer")
from {ENTRY} import main

sys.exit(main())
"""
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time of the zip format
_MODE = 0o644 << 16


@lru_cache(maxsize=1)
def build() -> bytes:
    """Return the content of the archive.

    Raises:
        ImportError: a module imports something other than the standard library and modules of sovctl.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, source in [("__main__.py", _MAIN.encode()), *sorted((modules() | _data()).items())]:
            info = zipfile.ZipInfo(name, _TIME)
            info.external_attr = _MODE
            info.create_system = 3  # Unix, on every system
            archive.writestr(info, source)
    return b"#!/usr/bin/env python3\n" + buffer.getvalue()


def modules() -> dict[str, bytes]:
    """Return the sources of all modules in the archive, by path.

    Raises:
        ImportError: see `build`.
    """
    found: dict[str, bytes] = {}
    waiting = [ENTRY]
    while waiting:
        name = waiting.pop()
        path, source = _source(name)
        if path in found:
            continue
        found[path] = source
        waiting += [name.rpartition(".")[0]] if "." in name else []
        for imported in _imports(name, path, source):
            if imported.partition(".")[0] == "sovctl":
                waiting.append(imported)
            elif imported.partition(".")[0] not in sys.stdlib_module_names:
                raise ImportError(f"{FILE_NAME} cannot contain {name}, because it imports {imported}")
    return found


def _data() -> dict[str, bytes]:
    """Return the data files that modules in the archive read, by path."""
    return {path: (files("sovctl") / path.removeprefix("sovctl/")).read_bytes() for path in DATA}


def _source(name: str) -> tuple[str, bytes]:
    """Return path and source of a module or package."""
    folder: Traversable = files("sovctl")
    *parents, last = name.split(".")[1:] or [""]
    for parent in parents:
        folder /= parent
    for path, file in (
        (f"{name.replace('.', '/')}.py", folder / f"{last}.py"),
        (f"{name.replace('.', '/')}/__init__.py", folder / last / "__init__.py" if last else folder / "__init__.py"),
    ):
        if file.is_file():
            return path, file.read_bytes()
    raise ImportError(f"module {name} has no source file")


def _imports(name: str, path: str, source: bytes) -> Iterator[str]:
    """Yield the absolute names of all modules that a module imports, also inside functions."""
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            whole = ".".join(filter(None, [base, node.module or ""]))
            if whole.partition(".")[0] == "sovctl":
                yield from (
                    f"{whole}.{each.name}" if _is_module(f"{whole}.{each.name}") else whole for each in node.names
                )
            else:
                yield whole


def _is_module(name: str) -> bool:
    try:
        _source(name)
    except ImportError:
        return False
    return True
