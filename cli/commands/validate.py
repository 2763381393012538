"""`sovctl validate`: list all problems of a site.yaml, or summarize a valid one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sovctl.support.errors import ExitCode, InputError, SpecError

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.validation.load import LoadedSpec


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""

    @app.command(epilog="Example: sovctl validate site.yaml  ·  exit code 3 if it is invalid")
    def validate(
        site: Annotated[
            Path | None, typer.Argument(metavar="SITE", help="Path of site.yaml.", show_default=False)
        ] = None,
        json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
        schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of site.yaml.")] = False,
    ) -> None:
        """Check syntax, references, GPUs, ports, perimeter and licences of a site.yaml. Contacts no node."""
        if schema:
            from sovctl.engine.validation.documentation import render_schema

            output.line(render_schema().rstrip())
            return
        if site is None:
            raise InputError("missing argument SITE", hint="sovctl validate site.yaml")
        from sovctl.engine.validation.load import load

        try:
            loaded = load(site)
        except SpecError as error:
            if not json:
                raise
            problems = [{"where": each.where, "message": each.message, "hint": each.hint} for each in error.problems]
            output.document({"valid": False, "problems": problems})
            raise typer.Exit(ExitCode.BAD_INPUT) from None
        summary = _summary(loaded)
        if json:
            output.document({"valid": True, "problems": [], **summary})
        else:
            output.line(_sentence(summary))
            output.info(f"list what is missing before the first plan: sovctl doctor {site}")


def _summary(loaded: LoadedSpec) -> dict[str, Any]:
    """Return a summary of the site as plain values."""
    from sovctl.engine.placement import assign_gpus

    spec = loaded.spec
    devices = [loaded.catalog.devices(group) or () for group, _ in spec.nodes()]
    replicas = assign_gpus(spec, loaded.catalog)
    return {
        "path": str(loaded.path),
        "site": spec.site.name,
        "jurisdiction": spec.site.jurisdiction,
        "placement": spec.site.placement.value,
        "nodes": len(spec.nodes()),
        "pools": len(spec.pools),
        "replicas": len(replicas),
        "gpus": sum(map(len, devices)),
        "gpus_used": sum(len(rank.gpus) for replica in replicas for rank in replica.ranks),
        "exceptions": len(spec.perimeter.exceptions),
        "spec_sha256": loaded.spec_sha256,
    }


def _sentence(summary: dict[str, Any]) -> str:
    def count(key: str, word: str) -> str:
        return f"{summary[key]} {word}{'' if summary[key] == 1 else 's'}"

    return (
        f"{summary['path']} is valid: {summary['placement']} site {summary['site']} ({summary['jurisdiction']}), "
        f"{count('nodes', 'node')}, {count('pools', 'pool')} on {summary['gpus_used']} of {summary['gpus']} GPUs, "
        f"{count('exceptions', 'perimeter exception')}, spec {summary['spec_sha256'][:12]}"
    )
