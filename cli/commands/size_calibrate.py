"""`sovctl size calibrate`: calibrate the sizing model with load tests of the site's servers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.errors import InputError

from .. import output

MAX_BYTES = 1 << 28  # per result file; a GuideLLM result with every request has about 10 MB
EPILOG = "Example: sovctl size calibrate run-8.json run-32.json run-96.json --site site.yaml --pool assistant"


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl size`."""
    group.command(epilog=EPILOG)(calibrate)


def calibrate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Result files of load tests on one replica.")],
    site: Annotated[Path, typer.Option("--site", metavar="SITE", help="Path of site.yaml.")] = Path("site.yaml"),
    pool: Annotated[str, typer.Option("--pool", help="Measured pool; optional if the site has one.")] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Output file; default: calibration_file of the site, or calibration.yaml next to it."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compare load test results (vllm bench serve, GuideLLM, AIPerf) with the model, and write correction factors."""
    from sovctl.engine.catalog.calibrations import calibrations_text, read_calibrations
    from sovctl.engine.sizing.pool.load_test_results import parse_measurements
    from sovctl.engine.sizing.pool.pool import pool_cases
    from sovctl.engine.sizing.pool.site_calibration import calibrate as calibrated
    from sovctl.engine.validation.load import load

    loaded = load(site, is_draft=True)
    cases = {case.pool.name: case for case in pool_cases(loaded.spec, loaded.catalog) if not case.is_simulated}
    if not pool and len(cases) == 1:
        [pool] = cases
    if pool not in cases:
        raise InputError(f"unknown pool {pool!r}, expected one of {', '.join(cases) or '(none)'}", where="--pool")
    measurements = [each for file in files for each in parse_measurements(_read(file), where=str(file))]
    names = tuple(sorted({file.name for file in files}))
    made = calibrated(cases[pool].server(), measurements, source=names, day=datetime.now(UTC).date())
    path = out or loaded.folder / (loaded.spec.calibration_file or "calibration.yaml")
    kept = [each for each in (read_calibrations(path) if path.exists() else ()) if each.key != made.key]
    write_atomic(path, calibrations_text((*kept, made)))
    if as_json:
        output.document(made.model_dump(mode="json"))
    else:
        few, many = made.in_flight
        server = f"{made.model} {made.precision} on {made.gpu}, TP{made.tensor_parallel_size}"
        output.line(f"{server}: a step takes {made.factor:g} times as long as on published servers")
        output.line(f"{made.points} measurements, {few:.0f} to {many:.0f} in flight")
        rows = [(name, f"{band.p10:.2f}", f"{band.p90:.2f}", str(band.rows)) for name, band in made.bands.items()]
        output.table(("MEASURED / COMPUTED", "P10", "P90", "POINTS"), rows)
        output.info(f"wrote {path}")
        if loaded.spec.calibration_file is None:
            output.info(f"to use it for sizing, add to site.yaml: calibration_file: {path.name}")


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        reason = read_error_reason(error)
        raise InputError(f"unreadable: {reason}", where=str(file)) from None
    if len(data) > MAX_BYTES:
        hint = "omit single requests: run vllm bench serve without --save-detailed"
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB", where=str(file), hint=hint)
    return data
