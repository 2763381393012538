"""`sovctl catalog`: models, GPUs and platforms, with units and sources."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sovctl.support.errors import ExitCode, InputError

from .. import output

_PARTS = ("models", "gpus", "platforms", "scalable-units")
_WIDEST_VALUE = 60  # characters of a column; longer values are printed below the table
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Site = Annotated[
    Path | None, typer.Option("--site", metavar="SITE", help="Include the catalogue entries of this site.yaml.")
]


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Show models, GPUs and platforms; every figure has its source.")
    app.add_typer(group, name="catalog")
    group.command("list", epilog="Example: sovctl catalog list models --json")(list_entries)
    group.command("show", epilog="Example: sovctl catalog show B200-SXM")(show_entry)
    group.command("check", epilog="Example: sovctl catalog check --site site.yaml")(check)


def list_entries(
    part: Annotated[str, typer.Argument(metavar="[PART]", help=f"One of {', '.join(_PARTS)}; default: all.")] = "",
    site: Site = None,
    as_json: Json = False,
) -> None:
    """List the entries with their kind of source, date and source."""
    from sovctl.engine.catalog.listing import summaries

    if part and part not in _PARTS:
        raise InputError(f"expected one of {', '.join(_PARTS)}, got {part!r}", where="PART")
    found = {name: rows for name, rows in summaries(_catalog(site)).items() if part in ("", name)}
    if as_json:
        output.document(found)
        return
    for name, rows in found.items():
        output.line(output.style(f"{name} ({len(rows)})", "bold"))
        for row in rows:
            output.line(f"{row['id']}: {row['about']}")
            output.line(f"    {row['kind']}, read {row['date']}: {row['source']}")
        output.line()


def show_entry(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of a model, GPU, platform or scalable unit.")],
    site: Site = None,
    as_json: Json = False,
) -> None:
    """Show every figure of one entry: value, unit, kind of source, date, source."""
    from sovctl.engine.catalog import listing
    from sovctl.support.suggestions import nearest_few

    catalog = _catalog(site)
    entry = listing.find(catalog, name)
    if entry is None:
        near = nearest_few(name, [each for part in listing.entries(catalog).values() for each in part])
        hint = f"did you mean {' or '.join(near)}?" if near else "list the ids with `sovctl catalog list`"
        raise InputError(f"no catalogue entry {name!r}", hint=hint)
    rows = listing.rows_of(entry)
    if as_json:
        output.document(
            {"id": name, "figures": [row.as_json() for row in rows], "entry": entry.model_dump(mode="json")}
        )
        return
    sources = list(dict.fromkeys(row.source for row in rows))
    body, long = [], []
    for row in rows:
        value, source = _text(row.value), f"[{sources.index(row.source) + 1}]"
        if len(value) > _WIDEST_VALUE:
            long.append(f"{row.figure} ({row.kind}, {row.date}) {source}: {value}")
        else:
            body.append((row.figure, value, row.unit, row.kind, row.date, source))
    output.table(("FIGURE", "VALUE", "UNIT", "KIND", "READ", "SOURCE"), body)
    for line in (*long, *(f"[{number}] {source}" for number, source in enumerate(sources, 1))):
        output.line(line)


def check(site: Site = None, as_json: Json = False) -> None:
    """Compare the parameter count computed from each model's shape with the published one (tolerance 3 %)."""
    from sovctl.engine.catalog.parameters import TOLERANCE, deviation

    found = {name: deviation(model) for name, model in _catalog(site).models.items()}
    wrong = sorted(name for name, each in found.items() if each is not None and abs(each) > TOLERANCE)
    if as_json:
        output.document({"tolerance": TOLERANCE, "deviation": found, "wrong": wrong})
    else:
        rows = [(n, "cannot be computed" if d is None else f"{d * 100:+.2f} %") for n, d in found.items()]
        output.table(("MODEL", "COMPUTED AGAINST PUBLISHED"), rows)
        counted = sum(each is not None for each in found.values())
        output.line(
            f"{counted} of {len(found)} models computed, {len(wrong)} differ by more than {TOLERANCE * 100:.0f} %"
        )
    if wrong:
        raise typer.Exit(ExitCode.FAILURE)


def _catalog(site: Path | None) -> Any:
    from sovctl.engine.catalog import load_catalog

    if site is None:
        return load_catalog()
    from sovctl.engine.validation.load import load

    return load(site, is_draft=True).catalog


def _text(value: Any) -> str:
    return "none" if value is None else ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
