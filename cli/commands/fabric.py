"""`sovctl fabric`: show an InfiniBand fabric, and compare it with its plan or an earlier capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.fabric.topology import Fabric

SHOW_EPILOG = """Examples: sovctl fabric show capture.txt  ·  sovctl fabric show --svg fabric.svg"""
DIFF_EPILOG = """Examples: sovctl fabric diff  ·  sovctl fabric diff today.txt --expected yesterday.txt"""
DEFAULT = Path("site.yaml")
Capture = Annotated[
    Path | None,
    typer.Argument(help="Output of ibnetdiscover, also with -p. Default: run it on fabric.probe_node of the site."),
]
SiteFile = Annotated[Path, typer.Option("--site", help="Path of site.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="InfiniBand fabric: topology, rails, cabling, findings, a drawing.")
    app.add_typer(group, name="fabric")
    group.command(epilog=SHOW_EPILOG)(show)
    group.command(epilog=DIFF_EPILOG)(diff)


def show(
    capture: Capture = None,
    site: SiteFile = DEFAULT,
    as_json: AsJson = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also write a drawing to this file.")] = None,
    cabling: Annotated[bool, typer.Option("--cabling", help="Print the links as a cabling file instead.")] = False,
    save: Annotated[Path | None, typer.Option("--save", help="Also write the output of ibnetdiscover here.")] = None,
) -> int:
    """Show leaves, rails, links and findings of a fabric. Read-only; exit code 0 also with findings."""
    from sovctl.engine.fabric.cabling import plan_of
    from sovctl.engine.fabric.drawing import draw
    from sovctl.engine.fabric.reading import is_simulated
    from sovctl.engine.fabric.summary import document, summarize
    from sovctl.support.atomic_files import write_atomic

    from ..views.fabric import show_summary

    text = _text(capture, site)
    fabric = _fabric(text)
    if save is not None:
        write_atomic(save, text)
    if svg is not None:
        write_atomic(svg, draw(fabric, is_simulated=is_simulated(text)))
    if cabling:
        output.line(plan_of(fabric).rstrip("\n"))
    elif as_json:
        output.document(document(summarize(fabric, is_simulated=is_simulated(text))))
    else:
        show_summary(summarize(fabric, is_simulated=is_simulated(text)))
    return ExitCode.OK


def diff(
    capture: Capture = None,
    site: SiteFile = DEFAULT,
    expected: Annotated[
        Path | None,
        typer.Option("--expected", help="Cabling file or earlier capture; default: fabric.cabling_file of the site."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List missing, wrong and unplanned links. Exit code 1 if there are any."""
    from sovctl.engine.fabric.cabling import compare
    from sovctl.engine.fabric.summary import difference_rows
    from sovctl.engine.validation.cabling_file import read_plan

    from ..views.fabric import show_difference

    plan = read_plan(expected if expected is not None else _cabling_file(site))
    rows = difference_rows(compare(plan, _fabric(_text(capture, site))))
    if as_json:
        differences = [{"kind": each.kind, "what": each.what} for each in rows]
        output.document({"planned_links": len(plan), "differences": differences})
    else:
        show_difference(rows, len(plan))
    return ExitCode.FAILURE if rows else ExitCode.OK


def _fabric(text: str) -> Fabric:
    from sovctl.engine.fabric.reading import read_fabric
    from sovctl.engine.facts.unreadable import Unreadable
    from sovctl.support.errors import InputError

    try:
        return read_fabric(text)
    except Unreadable as error:
        hint = "repeat `ibnetdiscover`; a cut or edited text is rejected"
        raise InputError(str(error), where="capture", hint=hint) from None


def _text(capture: Path | None, site: Path) -> str:
    from sovctl.engine.validation.cabling_file import read_text

    if capture is not None:
        return read_text(capture)
    from sovctl.engine.checks.runner.fabric_sweep import sweep
    from sovctl.engine.site.site import Site

    return sweep(Site.open(site, touches_nodes=True))


def _cabling_file(site: Path) -> Path:
    from sovctl.engine.validation.load import load
    from sovctl.support.errors import InputError

    loaded = load(site)
    fabric = loaded.spec.fabric
    if fabric is None or fabric.cabling_file is None:
        hint = "name the file in `fabric.cabling_file`, or with --expected"
        raise InputError("site.yaml names no cabling file", where=str(site), hint=hint)
    return loaded.resolve(fabric.cabling_file)
