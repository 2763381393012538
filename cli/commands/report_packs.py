"""`sovctl report packs`: control frameworks, and the objectives and checks of their controls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.controls.framework import Pack

EPILOG = "Example: sovctl report packs  ·  sovctl report packs gdpr  ·  sovctl report packs --site site.yaml"


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl report`."""
    group.command(epilog=EPILOG)(packs)


def complete_name(incomplete: str) -> list[str]:
    """Return the names of packs that begin with the typed text."""
    from sovctl.compliance.controls.builtin_packs import pack_names

    return [name for name in pack_names() if name.startswith(incomplete)]


def packs(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Name of one framework; default: all.", autocompletion=complete_name)
    ] = "",
    site: Annotated[
        Path | None, typer.Option("--site", metavar="SITE", help="Include the frameworks of this site.yaml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List control frameworks, or show the controls, objectives and checks of one."""
    from sovctl.compliance.controls.framework import find_pack, load_pack, pack_names
    from sovctl.engine.checks.registry import FORMER_IDS, KNOWN_CHECKS

    own, used = _of_site(site) if site else ([], [])

    def loaded(each: str) -> Pack:
        return load_pack(find_pack(each, own, where="NAME"), known_checks=KNOWN_CHECKS, former_ids=FORMER_IDS)

    if name:
        pack = loaded(name)
        output.document(_summary(pack) | _content(pack)) if as_json else _show(pack)
        return
    found = [loaded(each) for each in (*pack_names(), *(path.stem for path in own))]
    if as_json:
        output.document([_summary(pack) | ({"used": pack.name in used} if site else {}) for pack in found])
        return
    output.table(
        ("NAME", "CONTROLS", "CHECKED", "PLACE", "DATE", "VERSION", "TITLE"),
        [
            (
                f"{pack.name} *" if pack.name in used else pack.name,
                str(len(pack.controls)),
                str(pack.decided()),
                pack.jurisdiction,
                pack.date,
                pack.version,
                pack.title,
            )
            for pack in found
        ],
    )
    output.info(
        "CHECKED: controls for a part of which checks are evidence. Licence and source: sovctl report packs NAME"
    )
    if used:
        output.info(f"*: in compliance.packs of {site}")


def _of_site(site: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a site's own frameworks, and the names of the frameworks that it reports on."""
    from sovctl.engine.validation.load import load

    loaded = load(site / "site.yaml" if site.is_dir() else site, is_draft=True)
    compliance = loaded.spec.compliance
    return [loaded.resolve(each) for each in compliance.pack_files], list(compliance.packs)


def _summary(pack: Pack) -> dict[str, Any]:
    fields = ("name", "title", "version", "kind", "jurisdiction", "date", "read", "source", "licence", "note")
    counts = {"controls": len(pack.controls), "checked": pack.decided(), "objectives": len(pack.objectives())}
    return pack.model_dump(mode="json", include=set(fields)) | counts | {"sha256": pack.sha256}


def _content(pack: Pack) -> dict[str, Any]:
    return {
        "objectives": [each.model_dump(mode="json", exclude={"absent"}) for each in pack.objectives()],
        "controls": [
            each.model_dump(mode="json", exclude={"mapping"})
            | {
                "objectives": [o.name for o in each.mapping.objectives] if each.mapping else [],
                "because": each.mapping.because if each.mapping else "",
            }
            for each in pack.controls
        ],
    }


def _show(pack: Pack) -> None:
    output.line(output.style(f"{pack.title} ({pack.version})", "bold"))
    for label, value in (
        ("kind", f"{pack.kind.value}, {pack.jurisdiction}"),
        ("source", f"{pack.source}, of {pack.date}, read {pack.read}"),
        ("licence", pack.licence),
        ("limits", pack.note),
        ("controls", f"{len(pack.controls)}, {pack.decided()} of them with checks for a part of the control"),
    ):
        if value:
            output.line(f"{label:9} {value}")
    family = ""
    for control in pack.controls:
        if control.family != family:
            family = control.family
            output.line()
            output.line(output.style(family, "bold"))
        output.line(f"  {control.id}  {control.title}")
        if control.unsure:
            output.line(f"      not verified: {control.unsure}")
        if control.mapping:
            output.line(f"      evidence: {', '.join(o.name for o in control.mapping.objectives)}")
            output.line(f"      because:  {control.mapping.because}")
    output.line()
    output.line(output.style("Objectives", "bold"))
    for objective in pack.objectives():
        output.line(f"  {objective.name}: {objective.statement}")
        output.line(f"      checks:     {', '.join(objective.checks) or 'none'}")
        if objective.if_present:
            output.line(f"      if present: {', '.join(objective.if_present)}")
        output.line(f"      supports:   {objective.supports}")
        output.line(f"      people:     {objective.people}")
