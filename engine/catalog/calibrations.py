"""What a site measured on its own servers, as `sovctl size calibrate` writes it: a correction of the model, with bands.

    calibrations = read_calibrations(Path("calibration.yaml"))
    calibrations[0].factor, calibrations[0].bands["itl"].p90

site.yaml names the file (`calibration_file`); it holds for servers of that model, GPU, precision, TP and PP only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Literal

import yaml
from pydantic import TypeAdapter, ValidationError

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import read_file

from .figure import Amount, CatalogModel, Count, Sources

_WHAT = "the calibrations"
_HINT = "made by: sovctl size calibrate"


class Band(CatalogModel):
    """Where the truth lay in relation to the model: tenth and ninetieth percentile of measured / computed."""

    p10: Amount
    p90: Amount
    rows: Count


class ServerCalibration(CatalogModel):
    """Of one kind of server."""

    model: str
    gpu: str
    precision: str
    tensor_parallel_size: Count
    pipeline_parallel_size: Count
    factor: Amount
    """How much longer its steps take than the published measurements let expect."""
    bands: Mapping[Literal["throughput", "itl", "ttft"], Band]
    """Of measured / computed, with the factor in it; what was not measured is absent."""
    in_flight: tuple[Amount, Amount]
    """Fewest and most requests in flight that were measured."""
    points: Count
    source: Sources
    kind: Literal["measured"] = "measured"
    date: date

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """What it holds for: model, GPU, precision, TP, PP."""
        return self.model, self.gpu, self.precision, self.tensor_parallel_size, self.pipeline_parallel_size


_LIST: TypeAdapter[list[ServerCalibration]] = TypeAdapter(list[ServerCalibration])


def read_calibrations(path: Path) -> tuple[ServerCalibration, ...]:
    """Every calibration of a file.

    Raises:
        InputError: it cannot be read.
        SpecError: everything wrong with it.
    """
    text = read_file(path, what=_WHAT, hint=_HINT)
    content = text.value
    if text.problems:
        raise SpecError([text.placed(path, each) for each in text.problems], what=_WHAT)
    if not isinstance(content, dict) or content.keys() != {"calibrations"}:
        raise InputError("expected calibrations, got something else", where=str(path), hint=_HINT)
    try:
        found = _LIST.validate_json(json.dumps(content["calibrations"]))
    except ValidationError as error:
        problems = [_problem(each["loc"], each["msg"]) for each in error.errors(include_url=False)]
        raise SpecError([text.placed(path, each) for each in problems], what=_WHAT) from None
    twice = [each.key for index, each in enumerate(found) if each.key in [other.key for other in found[:index]]]
    if twice:
        raise SpecError(
            [Problem(f"expected one for {key[0]} on {key[1]}, got two", where=str(path)) for key in twice], what=_WHAT
        )
    return tuple(found)


def _problem(loc: tuple[int | str, ...], said: str) -> Problem:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)
    return Problem(f"expected {said.removeprefix('Input should be ')}", where=f"calibrations{place}", hint=_HINT)


def calibrations_text(calibrations: tuple[ServerCalibration, ...]) -> str:
    """The file."""
    rows = [each.model_dump(mode="json") | {"date": each.date} for each in calibrations]
    body: str = yaml.safe_dump({"calibrations": rows}, sort_keys=False, width=120)
    return "# Made by sovctl size calibrate from this site's own measurements; measure again rather than edit.\n" + body
