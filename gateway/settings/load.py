"""Reads a gateway.yaml: every problem at once, each with its path.

settings = load_settings(Path("/etc/sovctl/gateway.yaml"))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.renamed_keys import move_renamed_keys
from sovctl.support.suggestions import nearest

from . import references
from .base.model import in_words
from .detection.recognizer import RecognizerFile, RecognizerSettings
from .gateway import GatewaySettings
from .renamed_keys import RENAMED_KEYS

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class _DuplicateKey(InputError):
    """A mapping contains the same key twice; YAML alone would use the last one without an error."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML loader for plain values that rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise _DuplicateKey(f"duplicate key `{key.value}` on lines {lines[key.value]} and {line}")
            lines[key.value] = line
        return super().construct_mapping(node, deep)


def load_settings(path: Path) -> GatewaySettings:
    """Read and check a gateway.yaml.

    Raises:
        InputError: the file is unreadable or is not YAML.
        SpecError: all problems of the settings, each with its path.
    """
    return check_settings(_read(path, "name your file with --config, or create one with `sovctl gateway init`"), path)


def load_recognizers(path: Path) -> list[RecognizerSettings]:
    """Read and check a file of `detect.recognizer_files`.

    Raises:
        InputError: the file is unreadable or is not YAML.
        SpecError: all problems of the recognizers, each with file and path.
    """
    content = _read(path, "correct `detect.recognizer_files`")
    try:
        return RecognizerFile.model_validate(content).recognizers
    except ValidationError as error:
        raise SpecError([_problem(path, each, RecognizerFile) for each in error.errors(include_url=False)]) from error


def _read(path: Path, hint_if_absent: str) -> dict[str, Any]:
    """Return the content of a YAML file.

    Raises:
        InputError: the file is unreadable or is not a YAML mapping of plain values.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeyLoader)  # noqa: S506 - a safe loader
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        hint = hint_if_absent if isinstance(error, FileNotFoundError) else ""
        raise InputError(f"expected a readable file, got: {reason}", where=str(path), hint=hint) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"expected YAML, got a syntax error{line}", where=str(path)) from error
    except (ValueError, RecursionError):  # an invalid date, a malformed tagged number, lists nested too deeply
        hint = "quote text that looks like a date or number"
        raise InputError("unsupported YAML value", where=str(path), hint=hint) from None
    except _DuplicateKey as error:
        raise InputError(error.message, where=str(path), hint="remove one of the two") from None
    if not isinstance(content, dict):
        got = "an empty file" if content is None else f"a {type(content).__name__}"
        raise InputError(f"expected keys with their values, got {got}", where=str(path))
    return content


def check_settings(content: dict[str, Any], path: Path) -> GatewaySettings:
    """Return the validated settings.

    Args:
        content: the parsed gateway.yaml.
        path: the file, for messages only; it is not read.

    Raises:
        SpecError: all problems of the settings, each with its path.
    """
    content, renamed = move_renamed_keys(content, RENAMED_KEYS)
    found = [_in_file(path, each) for each in renamed]
    try:
        settings = GatewaySettings.model_validate(content)
    except ValidationError as error:
        raise SpecError([*found, *(_problem(path, each) for each in error.errors(include_url=False))]) from error
    found += [_in_file(path, each) for each in references.problems(settings)]
    if found:
        raise SpecError(found)
    return settings


def _in_file(path: Path, problem: Problem) -> Problem:
    return Problem(problem.message, where=f"{path}: {problem.where}", hint=problem.hint)


def _problem(path: Path, error: ErrorDetails, root: type[BaseModel] = GatewaySettings) -> Problem:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    message, hint = in_words(error), ""
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        near = nearest(key, _keys_at(error["loc"][:-1], root))
        message, hint = f"unknown key `{key}`", f"did you mean `{near}`?" if near else "remove it"
    return Problem(message, where=f"{path}: {place}" if place else str(path), hint=hint)


def _keys_at(loc: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    """Return the known keys of the mapping at this location of a `root`."""
    found: list[type[BaseModel]] = [root]
    for name in (part for part in loc if isinstance(part, str)):
        annotations = [model.model_fields[name].annotation for model in found if name in model.model_fields]
        if annotations:  # empty for a free key of a mapping
            found = [each for annotation in annotations for each in _models_in(annotation)]
    return [name for model in found for name in model.model_fields]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [each for inner in get_args(annotation) for each in _models_in(inner)]
