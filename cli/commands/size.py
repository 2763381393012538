"""`sovctl size`: compute whether the pools of a site can serve its workload, and explain the result."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from sovctl.support.errors import ExitCode, InputError

from .. import output
from ..default_command import DefaultsToSite
from . import size_calibrate

EPILOG = """Examples: sovctl size site.yaml  ·  sovctl size --explain chat
  ·  sovctl size --what-if 'workload[chat].users=3000'  ·  exit code 1 if a pool cannot serve its workload"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(
        cls=DefaultsToSite,
        help="Compute the capacity of each pool, or calibrate the model. `sovctl size SITE` is short for "
        "`sovctl size site SITE`; for its options see `sovctl size site --help`.",
        epilog=EPILOG,
    )
    app.add_typer(group, name="size")
    group.command("site", epilog=EPILOG)(size)
    size_calibrate.register(group)


def size(
    site: Path = typer.Argument(Path("site.yaml"), help="Path of site.yaml."),
    explain: str | None = typer.Option(
        None, "--explain", metavar="POOL", help="Show every step of the computation for this pool."
    ),
    what_if: list[str] = typer.Option(
        [], "--what-if", metavar="PATH=VALUE", help="Compare the site with this change; repeatable."
    ),
    autoscaling: str | None = typer.Option(
        None, "--autoscaling", metavar="FORM", help="Print autoscaler bounds as YAML for `keda`, `kserve` or `ray`."
    ),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Also write an HTML page with plots."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as one JSON document."),
) -> int:
    """Compute the capacity of each pool and the GPUs that its workload needs."""
    from sovctl.engine.sizing.explain.pool import explain as steps_of
    from sovctl.engine.sizing.report.summary import document
    from sovctl.engine.sizing.site.site_sizing import size_site
    from sovctl.engine.validation.load import load
    from sovctl.engine.validation.what_if import changed

    from ..views import size as size_view

    if autoscaling is not None and as_json:
        hint = "remove --autoscaling: the JSON document has the bounds under `autoscaling`"
        raise InputError("--autoscaling and --json exclude each other", where="--autoscaling", hint=hint)
    loaded = load(site, is_draft=True)
    now, then = size_site(loaded.spec, loaded.catalog), None
    if what_if:
        other = changed(loaded, what_if, today=datetime.now(UTC).date(), catalog=loaded.catalog)
        then = size_site(other.spec, other.catalog)
    pools = {sized.case.pool.name: sized for sized in now.sizings}
    if explain is not None and explain not in pools:
        raise InputError(f"unknown pool {explain!r}, expected one of {', '.join(pools)}", where="--explain")
    if html is not None:
        from sovctl.engine.sizing.report.html import render_page
        from sovctl.support.atomic_files import write_atomic

        write_atomic(html, render_page(then or now))
        output.info(f"wrote {html}")
    if autoscaling is not None:
        size_view.show_autoscaling(then or now, autoscaling, site)
    elif as_json:
        body = document(now)
        output.document(body if then is None else {**body, "what_if": {"settings": what_if, **document(then)}})
    elif then is not None:
        size_view.show_side_by_side(now, then, what_if, only=explain)
    elif explain is not None:
        size_view.show_steps(pools[explain], list(steps_of(pools[explain])))
    else:
        size_view.show_site(now)
    return ExitCode.FAILURE if (then or now).blocks else ExitCode.OK
