"""`sovctl monitoring`: alert rules and dashboards of a site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.spec import SiteSpec

SiteFile = Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")]
DEFAULT = Path("site.yaml")


def register(app: typer.Typer) -> None:
    """Add the commands to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Alert rules and dashboards of a site, as files.")
    app.add_typer(group, name="monitoring")
    group.command(epilog="Example: sovctl monitoring rules site.yaml --to rules.yaml")(rules)
    group.command(epilog="Example: sovctl monitoring dashboards site.yaml --to dashboards")(dashboards)


def rules(
    to: Annotated[Path, typer.Option("--to", help="File to write, for `rule_files` of Prometheus.")],
    site: SiteFile = DEFAULT,
) -> None:
    """Write the recording and alerting rules of a site as one file."""
    from sovctl.engine.monitoring.rules import rule_groups, rules_yaml
    from sovctl.support.atomic_files import write_atomic

    spec = _monitored(site)
    write_atomic(to, rules_yaml(spec))
    groups = rule_groups(spec)
    output.info(f"wrote {sum(len(group.rules) for group in groups)} rules in {len(groups)} groups to {to}")


def dashboards(
    to: Annotated[Path, typer.Option("--to", help="Folder for one JSON file per dashboard; created if absent.")],
    site: SiteFile = DEFAULT,
) -> None:
    """Write the dashboards of a site for Grafana."""
    import json

    from sovctl.engine.monitoring.dashboards import dashboard_json
    from sovctl.engine.monitoring.dashboards import dashboards as of_site
    from sovctl.support.atomic_files import write_atomic

    spec = _monitored(site)
    to.mkdir(parents=True, exist_ok=True)
    found = of_site(spec)
    for each in found:
        text = json.dumps(dashboard_json(each, spec.site.name), indent=2, ensure_ascii=False)
        write_atomic(to / f"{each.name}.json", f"{text}\n")
    panels = sum(len(each.panels) for each in found)
    output.info(f"wrote {len(found)} dashboards with {panels} panels to {to}")


def _monitored(site: Path) -> SiteSpec:
    """Return a site with the section `monitoring`."""
    from sovctl.engine.validation.load import load
    from sovctl.support.errors import InputError

    spec = load(site).spec
    if spec.monitoring is None:
        hint = "add `monitoring: {}`, and objectives of pools"
        raise InputError("site.yaml has no section `monitoring`", where=str(site), hint=hint)
    return spec
