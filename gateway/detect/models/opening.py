"""Opens models; turns failures into an `InputError` that states what is missing or invalid.

    onnxruntime, tokenizers = packages("onnxruntime", "tokenizers", path=path)
    with refused_as_no("pipeline that stanza loads", path):
        ...

Packages that the gateway does not bring are searched for among its own packages, and after them in the site's folder
(`add_packages`), so that nothing in that folder replaces what the gateway runs on.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError


def add_packages(folder: Path, *, where: str) -> None:
    """Let packages in a folder be imported, as `pip install --target` lays them, unless there are others of that name.

    Raises:
        InputError: the folder does not exist, or other users can write it.
    """
    if not folder.is_dir():
        raise InputError(f"expected a folder with Python packages, got none at {folder}", where=where)
    laid = folder.stat()
    if laid.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or laid.st_uid not in (0, os.geteuid()):
        got = f"mode {stat.S_IMODE(laid.st_mode):04o}, user {laid.st_uid}"
        raise InputError(
            f"expected a folder that root alone may write, got {got}",
            where=where,
            hint=f"chown root {folder}; chmod go-w {folder}",
        )
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def packages(*names: str, path: Path) -> list[Any]:
    """Return the modules with these names.

    Args:
        path: of the model that needs them.

    Raises:
        InputError: one of them is not installed.
    """
    try:
        return [import_module(name) for name in names]
    except ImportError as error:
        plural = "packages" if len(names) > 1 else "package"
        raise InputError(
            f"expected the {plural} {' and '.join(names)} for this model, got no {error.name}",
            where=str(path),
            hint="install it where the gateway runs, or name the folder it is in as detect.model_packages",
        ) from error


@contextmanager
def refused_as_no(what: str, path: Path) -> Iterator[None]:
    """Context manager: raises `InputError` if the files are not a valid `what`.

    Raises:
        InputError: contains only the type of the original error.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"expected a {what}, got {type(error).__name__}", where=str(path)) from error
