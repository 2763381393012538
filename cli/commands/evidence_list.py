"""`sovctl evidence list`: the records of a site."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.ledger.reader import LedgerReader

EPILOG = (
    "Examples: sovctl evidence list  ·  sovctl evidence list --result FAIL --result expired  ·  "
    "sovctl evidence list --check 'gpu.*' --node n1 --all --json  ·  sovctl evidence list --applies"
)


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl evidence`."""
    group.command("list", epilog=EPILOG)(list_)


def complete_result(incomplete: str) -> list[str]:
    """Return the states that begin with the typed text."""
    from sovctl.compliance.evidence.lookup import STATES

    return [each for each in STATES if each.startswith(incomplete)]


def list_(
    site: Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")] = Path("site.yaml"),
    state: Annotated[Path | None, typer.Option(help="State folder; default: .sovctl next to site.yaml.")] = None,
    check: Annotated[
        list[str] | None, typer.Option(help="Only checks that match, such as 'gpu.*'. Repeatable.")
    ] = None,
    node: Annotated[
        list[str] | None, typer.Option(help="Only this node; `site` is the controller. Repeatable.")
    ] = None,
    result: Annotated[
        list[str] | None,
        typer.Option(
            help="Only records in this state: a verdict, expired, earlier-format or altered. Repeatable.",
            autocompletion=complete_result,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All records. Default: the newest of each check and target.")
    ] = False,
    applies: Annotated[
        bool, typer.Option("--applies", help="List the steps of the newest apply; with --all, of all applies.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List records of evidence with their state: a verdict, or the reason why a record does not count.

    Record files are compared with the ledger; raw output is not read. Exit code 1 if a record is altered.
    """
    from dataclasses import asdict
    from datetime import UTC, datetime

    from sovctl.compliance.evidence.lookup import ALTERED, EARLIER, STATES, Filter, summaries
    from sovctl.support.errors import InputError

    from ..views.evidence import HEADINGS, row
    from .evidence_show import opened

    if unknown := [each for each in result or () if each not in STATES]:
        raise InputError(f"expected one of {', '.join(STATES)}, got {unknown[0]!r}", where="--result")
    if applies and (check or result):
        raise InputError("steps of applies have no check and no result", where="--applies", hint="use --node")
    paths, reader = opened(site, state)
    if applies:
        _list_steps(paths.journal, reader, nodes=node or (), every_run=everything, as_json=as_json)
        return
    found = summaries(
        paths.evidence,
        reader,
        at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        chosen=Filter(tuple(check or ()), tuple(node or ()), tuple(result or ())),
        newest=not everything,
    )
    states = [each.state for each in found]
    if as_json:
        output.document({"records": [asdict(each) | {"id": each.sha256} for each in found]})
    elif found:
        output.table(HEADINGS, [row(each) for each in found])
    else:
        output.info("no record matches")
    if earlier := states.count(EARLIER):
        output.info(
            f"{earlier} records have the format of an earlier release and do not count as evidence: run `sovctl verify`"
        )
    if altered := states.count(ALTERED):
        output.info(f"{altered} records are altered or missing: list all findings with `sovctl audit verify`")
        raise typer.Exit(1)


def _list_steps(
    journals: Path, reader: LedgerReader, *, nodes: Collection[str], every_run: bool, as_json: bool
) -> None:
    from sovctl.compliance.evidence.apply_steps import list_steps
    from sovctl.compliance.evidence.lookup import ALTERED

    from ..views.apply_steps import HEADINGS, as_plain, row

    steps = list_steps(journals, reader, every_run=every_run)
    found = [each for each in steps if not nodes or each.state == ALTERED or {*nodes} & {*each.nodes}]
    if as_json:
        output.document({"steps": [as_plain(each) for each in found]})
    elif found:
        output.table(HEADINGS, [row(each) for each in found])
    else:
        output.info("no step of an apply matches")
    if altered := sum(each.state == ALTERED for each in found):
        output.info(f"{altered} steps differ from the ledger: list all findings with `sovctl audit verify`")
        raise typer.Exit(1)
