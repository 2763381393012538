"""`sovctl monitoring`: alert rules of a site for Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import output

SiteFile = Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")]
DEFAULT = Path("site.yaml")


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Alert rules of a site, as files for Prometheus.")
    app.add_typer(group, name="monitoring")
    group.callback()(lambda: None)  # otherwise typer merges a single command with its group
    group.command(epilog="Example: sovctl monitoring rules site.yaml --to rules.yaml")(rules)


def rules(
    to: Annotated[Path, typer.Option("--to", help="File to write, for `rule_files` of Prometheus.")],
    site: SiteFile = DEFAULT,
) -> None:
    """Write the recording and alerting rules of a site as one file."""
    from sovctl.engine.monitoring.rules import rule_groups, rules_yaml
    from sovctl.engine.validation.load import load
    from sovctl.support.atomic_files import write_atomic
    from sovctl.support.errors import InputError

    spec = load(site).spec
    if spec.monitoring is None:
        hint = "add `monitoring: {}`, and objectives of pools"
        raise InputError("site.yaml has no section `monitoring`", where=str(site), hint=hint)
    write_atomic(to, rules_yaml(spec))
    groups = rule_groups(spec)
    output.info(f"wrote {sum(len(group.rules) for group in groups)} rules in {len(groups)} groups to {to}")
