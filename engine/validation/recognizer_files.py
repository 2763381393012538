"""Checks the files of `gateway.detect.recognizer_files`: all problems at once, each with line and path.

    recognizers:
    - name: CUSTOMER_NUMBER
      patterns: ["K-[0-9]{6,8}"]
      examples: {match: ["customer K-123456"]}

The gateway checks patterns and examples when it loads the file; these checks need no Hyperscan.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import read_file

from ..spec.gateway.detect import Recognizer
from ..spec.types import SpecModel
from .problems import structure_problems

_PLACE = ("gateway", "detect")
"""Section of the schema that has the same key `recognizers`."""


class RecognizerFile(SpecModel):
    """A file with recognizers."""

    recognizers: Annotated[list[Recognizer], Field(min_length=1, max_length=200)]
    """Recognizers, as under `gateway.detect.recognizers`."""


def read_recognizers(path: Path, *, taken: Collection[str]) -> tuple[list[str], list[Problem]]:
    """Return the names of a file's recognizers, and all problems of the file with path and line.

    Args:
        taken: names of other recognizers.
    """
    try:
        text = read_file(path, what="the file of recognizers")
    except SpecError as error:
        return [], error.problems
    except InputError as error:
        return [], [Problem(error.message, where=error.where, hint=error.hint)]
    found, names = list(text.problems), list[str]()
    try:
        names = [each.name for each in RecognizerFile.model_validate(text.value).recognizers]
    except ValidationError as error:
        inside = ".".join(_PLACE) + "."
        found += [
            Problem(each.message, where=each.where.removeprefix(inside), hint=each.hint)
            for each in structure_problems(error, below=_PLACE)
        ]
    for index, name in enumerate(names):
        if name in taken or name in names[:index]:
            message = f"expected every recognizer name once, got `{name}` again"
            found.append(Problem(message, where=f"recognizers[{index}].name"))
    return names, [text.placed(path, each) for each in found]
