"""`sovctl scaling simulate`: one day of requests against static, reactive and sovctl's replicas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.scaling.simulation.comparison import Outcome
    from sovctl.engine.validation.load import LoadedSpec

SiteFile = Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DEFAULT = Path("site.yaml")


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl scaling`."""
    group.command(epilog="Example: sovctl scaling simulate site.yaml --shape code=coding")(simulate)


def load_scaled(site: Path) -> LoadedSpec:
    """Return a valid site with the section `scaling`.

    Raises:
        InputError: the section is absent.
    """
    from sovctl.engine.validation.load import load

    loaded = load(site / "site.yaml" if site.is_dir() else site)
    check_section(loaded)
    return loaded


def check_section(loaded: LoadedSpec) -> None:
    """Check that a site has the section `scaling`.

    Raises:
        InputError: the section is absent.
    """
    from sovctl.support.errors import InputError

    if loaded.spec.scaling is None:
        hint = "add `scaling` with bounds of pools; docs/scaling.md shows one"
        raise InputError("site.yaml has no section `scaling`", where=str(loaded.path), hint=hint)


def simulate(
    site: SiteFile = DEFAULT,
    shape: Annotated[
        list[str], typer.Option("--shape", metavar="POOL=SHAPE", help="Day of a pool: conversation or coding.")
    ] = [],  # noqa: B006 - typer requires a list
    load: Annotated[float, typer.Option(min=0.01, max=10, help="Factor on the peak rate of the workload.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of arrivals and answers.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Simulate one day of requests on the scaled pools, with static, reactive and sovctl's replicas.

    Compares requests above the limits of `workload`, and GPU hours. The day is synthetic, with the hourly rates of a
    public trace. Service times are those of `sovctl size`. Reads site.yaml only; a day of 100,000 requests takes about
    ten seconds.
    """
    from sovctl.engine.scaling.simulation.comparison import compare, shapes_of, totals
    from sovctl.support.errors import InputError

    loaded = load_scaled(site)
    chosen = {}
    for each in shape:
        pool, is_pair, name = each.partition("=")
        if not is_pair:
            raise InputError(f"expected POOL=SHAPE, got {each}", where="--shape")
        chosen[pool] = name
    shapes = shapes_of(loaded.spec, chosen)
    found = list(compare(loaded.spec, loaded.catalog, shapes=shapes, seed=seed, load=load))
    rows = [*found, *totals(found)]
    if as_json:
        names = {pool: day.id for pool, day in shapes.items()}
        output.document({"seed": seed, "load": load, "shapes": names, "rows": [_as_json(each) for each in rows]})
        return
    output.table(
        ("POLICY", "POOL", "REQUESTS", "SLO VIOLATIONS", "GPU HOURS", "MOVES"),
        [
            (each.policy, each.pool, f"{each.day.requests:,}", f"{each.violation_percent:.2f} %",
             f"{each.day.gpu_hours:.1f}", str(each.day.moves))
            for each in rows
        ],
    )  # fmt: skip
    for pool, day in shapes.items():
        output.info(f"{pool}: hourly rates of {day.id}: {day.source[0]}")
    output.info("a simulation with computed service times; nothing was measured")


def _as_json(each: Outcome) -> dict[str, Any]:
    return {
        "policy": each.policy,
        "pool": each.pool,
        "requests": each.day.requests,
        "violations": each.day.violations,
        "violation_percent": each.violation_percent,
        "gpu_hours": each.day.gpu_hours,
        "moves": each.day.moves,
    }
