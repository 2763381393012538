"""`sovctl bootstrap adopt`: nodes that another manager installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sovctl.support.errors import ExitCode

from ... import output
from ...observing import DEFAULT, SiteFile, State

if TYPE_CHECKING:
    from sovctl.engine.bootstrap.node_export import ExportFormat

_MAX_BYTES = 64 << 20  # an export of MAAS has about 100 KB for each machine


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("adopt", epilog="Example: sovctl bootstrap adopt --from nodes.csv --witness anna")(adopt)


def adopt(
    file: Annotated[Path, typer.Option("--from", help="Export of the manager.")],
    witness: Annotated[str, typer.Option(help="Account or role of the second person who compared the export.")],
    kind: Annotated[str, typer.Option("--format", help="csv, maas or foreman.")] = "csv",
    site: SiteFile = DEFAULT,
    state: State = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Compare an export with site.yaml, and enrol the nodes whose host key it names.

    Exit code 1 if a node is not enrolled. Warns about managers that start nodes from an image.
    """
    from sovctl.engine.bootstrap import adoption
    from sovctl.engine.bootstrap.enrolment import checked_witness
    from sovctl.engine.bootstrap.node_export import parse_export
    from sovctl.engine.site.network_namespace import enter
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    form = _format(kind)
    exported = parse_export(_text(file), form, where=str(file))
    checked_witness(witness)
    enter(opened.spec.access.network_namespace)
    with opened.state.exclusive("bootstrap adopt"):
        found = adoption.adopt(opened, exported, witness=witness)
    enrolled = [each.node for each in found if each.outcome is adoption.Outcome.ENROLLED]
    managers = adoption.image_managers(opened, enrolled) if enrolled else {}
    if as_json:
        output.document({"nodes": [vars(each) for each in found], "image_managers": managers})
    else:
        output.table(("NODE", "OUTCOME", ""), ((each.node, each.outcome.value, each.text) for each in found))
    for node, manager in managers.items():
        text = (
            "not measured" if manager == "unknown" else f"{manager} restores its image, and removes changes of sovctl"
        )
        output.info(f"{node}: image-based manager: {text}")
    return ExitCode.OK if len(enrolled) == len(found) else ExitCode.FAILURE


def _format(name: str) -> ExportFormat:
    from sovctl.engine.bootstrap.node_export import ExportFormat
    from sovctl.support.errors import InputError

    try:
        return ExportFormat(name)
    except ValueError:
        raise InputError(f"unknown format {name!r}", where="--format", hint="csv, maas or foreman") from None


def _text(path: Path) -> str:
    from sovctl.support.atomic_files import read_error_reason
    from sovctl.support.bounded_files import read_bounded
    from sovctl.support.errors import InputError

    try:
        return read_bounded(path, _MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
