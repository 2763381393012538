"""`sovctl evidence import`: store results of another tool, marked as foreign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import output

EPILOG = (
    "Examples: sovctl evidence import results.xml --format xccdf  ·  "
    "sovctl evidence import scan.json --format grype --mapping grype.yaml"
)


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl evidence`."""
    group.command("import", epilog=EPILOG)(import_)


def complete_format(incomplete: str) -> list[str]:
    """Return the formats that begin with the typed text."""
    from sovctl.compliance.importers.formats import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


def import_(
    file: Annotated[Path, typer.Argument(help="File with the results of the tool.")],
    format_name: Annotated[
        str,
        typer.Option("--format", help="xccdf, arf, sarif, hdf or grype.", autocompletion=complete_format),
    ],
    site: Annotated[Path, typer.Option("--site", metavar="SITE", help="site.yaml, or its folder.")] = Path("site.yaml"),
    state: Annotated[Path | None, typer.Option(help="State folder; default: .sovctl next to site.yaml.")] = None,
    mapping: Annotated[
        Path | None, typer.Option(help="YAML file that maps rules of the tool to controls. Default: no control.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Store results of another tool, marked as foreign, with tool, version and SHA-256 of the file.

    Foreign results are not evidence of a check of sovctl, and decide no control. Compressed files, links, files with a
    document type declaration, and files over 128 MiB are rejected.
    """
    from datetime import UTC, datetime

    from sovctl.compliance.controls.framework import find_pack, load_pack
    from sovctl.compliance.importers.formats import parse
    from sovctl.compliance.importers.input_file import read_input
    from sovctl.compliance.importers.mapping import load_mapping
    from sovctl.compliance.importers.store import store
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.compliance.ledger.store import Ledger
    from sovctl.compliance.signing import load as load_key
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load
    from sovctl.support.errors import InputError
    from sovctl.support.operator_name import operator_name

    data = read_input(file)
    found, now = parse(data, format_name=format_name, where=file), datetime.now(UTC)
    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths = SiteState.of_site(loaded.path, state)
    own = [loaded.resolve(each) for each in loaded.spec.compliance.pack_files]
    packs = [load_pack(find_pack(name, own)) for name in loaded.spec.compliance.packs]
    rules = load_mapping(mapping, packs=packs, today=now.date()) if mapping else None
    if not paths.ledger.is_dir():
        raise InputError("the site has no ledger", where=str(paths.root), hint="run `sovctl verify` first")
    origin, key = LedgerReader(paths.ledger).checkpoint.origin, load_key(paths.keys / "ledger.key")
    with paths.exclusive("evidence import"), Ledger.open(paths.ledger, origin=origin, key=key) as ledger:
        imported = store(
            data,
            found,
            parent=paths.foreign,
            ledger=ledger,
            file_name=file.name,
            imported=now,
            operator=operator_name(),
            mapping=rules,
        )
    if as_json:
        output.document(
            {"folder": str(imported.folder), "leaf_index": imported.leaf_index}
            | {name: imported.document[name] for name in ("source", "outcomes", "mapping")}
        )
        return
    counts = ", ".join(f"{number} {outcome}" for outcome, number in imported.document["outcomes"].items())
    mapped = sum(bool(each["controls"]) for each in imported.document["results"])
    output.line(f"FOREIGN: {found.tool} {found.version}: {counts or 'no result'}; {mapped} mapped to controls")
    output.line(f"stored   {imported.folder}")
