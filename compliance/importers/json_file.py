"""Parses JSON of other tools into plain values, with typed access. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from sovctl.support.errors import InputError


def parse_json(data: bytes) -> Mapping[str, Any]:
    """Return the object of a JSON file.

    Raises:
        InputError: not JSON, cut off, nested too deeply, or not an object.
    """
    try:
        value = json.loads(data, parse_constant=_not_finite)
    except RecursionError:
        raise InputError("the JSON is nested too deeply") from None
    except ValueError as error:  # also UnicodeDecodeError
        place = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"not JSON{place}", hint="the file may be cut off; export the results again") from None
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object, got {_kind(value)}")
    return value


def text(value: Mapping[str, Any], *path: str, default: str | None = None) -> str:
    """Return a text below an object.

    Args:
        default: result if the text is absent; None: an error.

    Raises:
        InputError: absent without default, or not a text.
    """
    found: Any = value
    for index, key in enumerate(path):
        found = found.get(key) if isinstance(found, Mapping) else None
        if found is None and default is not None:
            return default
        if found is None:
            raise InputError(f"missing {'.'.join(path[: index + 1])}")
    if not isinstance(found, str):
        raise InputError(f"expected a text in {'.'.join(path)}, got {_kind(found)}")
    return found


def items(value: Mapping[str, Any], key: str, *, may_lack: bool = False) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list.

    Raises:
        InputError: the list is absent, unless it `may_lack`, or has something other than objects.
    """
    found = value.get(key)
    if found is None and may_lack:
        return
    if not isinstance(found, list):
        raise InputError(f"expected a list in {key}, got {_kind(found)}")
    for index, each in enumerate(found):
        if not isinstance(each, dict):
            raise InputError(f"expected an object in {key}[{index}], got {_kind(each)}")
        yield each


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _not_finite(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
