"""`sovctl size`: whether the pools of a site carry its workload, and why; nothing is touched."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from sovctl.cli import show
from sovctl.cli.commands import size_calibrate
from sovctl.compliance.errors import ExitCode, InputError

if TYPE_CHECKING:
    from sovctl.engine.catalog import Catalog
    from sovctl.engine.sizing.pool import PoolSizing
    from sovctl.engine.spec import SiteSpec

EPILOG = """Examples: sovctl size site.yaml  ·  sovctl size --explain chat
  ·  sovctl size --what-if 'workload[chat].users=3000'  ·  exit code 1 when a pool cannot carry its workload"""


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""
    group = typer.Typer(
        cls=_SiteUnlessNamed, help="Reckon what each pool of a site carries; hold that to measurements."
    )
    app.add_typer(group, name="size")
    group.command("site", epilog=EPILOG)(size)
    size_calibrate.register(group)


class _SiteUnlessNamed(TyperGroup):
    """`sovctl size site.yaml` is `sovctl size site site.yaml`."""

    unless_named = "site"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        parsed: list[str] = super().parse_args(ctx, args if named else [self.unless_named, *args])
        return parsed


def size(
    site: Path = typer.Argument(Path("site.yaml"), help="The site description."),
    explain: str | None = typer.Option(None, "--explain", metavar="POOL", help="Every step for this pool."),
    what_if: list[str] = typer.Option(
        [], "--what-if", metavar="PATH=VALUE", help="Beside the site, the same with this changed; may be given again."
    ),
    autoscaling: str | None = typer.Option(
        None, "--autoscaling", metavar="FORM", help="Bounds for an autoscaler, as YAML for `keda`, `kserve` or `ray`."
    ),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Write a page with plots as well."),
    as_json: bool = typer.Option(False, "--json", help="Everything as one JSON document."),
) -> int:
    """Reckon what each pool of a site carries, from its workload to GPUs, and compare it with what the site has."""
    from sovctl.cli import size_view
    from sovctl.engine.sizing.costs import costs_of
    from sovctl.engine.sizing.explain import explain as steps_of
    from sovctl.engine.sizing.site import site_layout
    from sovctl.engine.sizing.summary import site_summary, summary
    from sovctl.engine.sizing.what_if import changed
    from sovctl.engine.spec_file import catalog_of, load

    loaded = load(site, is_draft=True)
    spec, catalog, other = loaded.spec, catalog_of(loaded.spec, loaded.folder), None
    if what_if:
        other = changed(loaded, what_if, today=datetime.now(UTC).date(), catalog=catalog)
    sizings = _sizings(spec, catalog)
    alternative = _sizings(other.spec, catalog) if other else []
    if explain is not None:
        names = [sized.case.pool.name for sized in sizings]
        if explain not in names:
            raise InputError(f"expected one of the pools {', '.join(names)}, got {explain!r}", where="--explain")
        sizings = [sized for sized in sizings if sized.case.pool.name == explain]
        alternative = [sized for sized in alternative if sized.case.pool.name == explain]
    layout = site_layout(spec, catalog, sizings)
    costs = costs_of(spec, layout, sizings)
    if html is not None:
        from sovctl.compliance.files import write_atomic
        from sovctl.engine.sizing.page import render_page

        write_atomic(html, render_page(spec, sizings, layout, costs))
        show.note(f"written to {html}")
    if autoscaling is not None:
        size_view.show_autoscaling(sizings, spec.sizing, autoscaling)
    elif as_json:
        document: dict[str, Any] = {
            "site": spec.site.name,
            "pools": [summary(sized) for sized in sizings],
            **site_summary(spec, sizings, layout, costs),
        }
        if other is not None:
            document["what_if"] = {"settings": what_if, "pools": [summary(sized) for sized in alternative]}
        show.document(document)
    elif other is not None:
        size_view.show_side_by_side(sizings, alternative, what_if)
    elif explain is not None:
        size_view.show_steps(sizings[0], list(steps_of(sizings[0])))
    else:
        size_view.show_site(spec, sizings, layout, costs)
    judged = alternative if other is not None else sizings
    return ExitCode.FAILURE if any(sized.verdict.blocks for sized in judged) else ExitCode.OK


def _sizings(spec: SiteSpec, catalog: Catalog) -> list[PoolSizing]:
    from sovctl.engine.sizing.pool import pool_cases, size_pool

    return [size_pool(case) for case in pool_cases(spec, catalog)]
