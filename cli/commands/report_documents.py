"""`sovctl report documents`: records for authorities and auditors, with the origin of each field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output

EPILOG = (
    "Examples: sovctl report documents site.yaml  ·  sovctl report documents site.yaml --document residency  ·  "
    "sovctl report documents site.yaml --show gdpr-art-30"
)


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl report`."""
    group.command(epilog=EPILOG)(documents)


def complete_name(incomplete: str) -> list[str]:
    """Return the names of documents that begin with the typed text."""
    from sovctl.compliance.documents.templates import template_names

    return [name for name in template_names() if name.startswith(incomplete)]


def documents(
    site: Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")] = Path("site.yaml"),
    state: Annotated[Path | None, typer.Option(help="State folder; default: .sovctl next to site.yaml.")] = None,
    run: Annotated[str | None, typer.Option(help="Run id of `sovctl verify`; default: the newest.")] = None,
    document: Annotated[
        list[str] | None,
        typer.Option("--document", help="Document to write; repeatable. Default: all.", autocompletion=complete_name),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(metavar="DOCUMENT", help="Print one document and write nothing.", autocompletion=complete_name),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Write the documents of a site, with the origin of each field, and the bills of materials.

    Each field is machine-filled with its source, answered by a person (`compliance.answers_file` of site.yaml), or
    MISSING. The exit code is 1 if the licence gate has findings.
    """
    from datetime import UTC, datetime

    from sovctl import __version__
    from sovctl.compliance.documents.publish import publish
    from sovctl.compliance.documents.rendering import SIMULATED, json_bytes, markdown
    from sovctl.compliance.ledger.reader import LedgerReader
    from sovctl.compliance.ledger.store import Ledger
    from sovctl.compliance.signing import load as load_key
    from sovctl.engine.documents.build import build, files_of, read_answers, subject_of
    from sovctl.engine.documents.read_site import read_licences, read_locks, read_sources
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load
    from sovctl.support.errors import InputError

    loaded = load(site / "site.yaml" if site.is_dir() else site)
    paths, now = SiteState.of_site(loaded.path, state), datetime.now(UTC)
    sources = read_sources(loaded, paths, tool_version=__version__, run_id=run)
    answers = read_answers(loaded, sources, today=now.date())
    if show is not None:
        (shown,) = build(sources, answers, [show])
        output.line((json_bytes(shown).decode() if as_json else markdown(shown)).rstrip("\n"))
        return ExitCode.FAILURE if shown.findings else ExitCode.OK
    built = build(sources, answers, document or ())
    if not paths.ledger.is_dir():
        raise InputError(
            "the site has no ledger", where=str(paths.root), hint="run `sovctl verify` first, or use --show"
        )
    subject = subject_of(built, sources, loaded.spec_sha256)
    origin, key = LedgerReader(paths.ledger).checkpoint.origin, load_key(paths.keys / "ledger.key")
    with paths.exclusive("report"), Ledger.open(paths.ledger, origin=origin, key=key) as ledger:
        published = publish(
            files_of(built, sources, read_locks(loaded.spec, loaded.catalog.models), read_licences()),
            parent=paths.documents,
            ledger=ledger,
            subject=subject,
            generated=now,
            tool_version=__version__,
        )
    if as_json:
        counts = {each.name: {state.value: n for state, n in each.counts().items()} for each in built}
        output.document({"folder": str(published.folder), "leaf_index": published.leaf_index, "documents": counts})
        return ExitCode.FAILURE if subject.findings else ExitCode.OK
    if subject.simulated:
        output.line(output.style(SIMULATED, "yellow"))
    rows = [(each.name, *(str(n) for n in each.counts().values()), str(len(each.findings))) for each in built]
    output.table(("DOCUMENT", "FILLED", "ANSWERED", "MISSING", "FINDINGS"), rows)
    for finding in (finding for each in built for finding in each.findings):
        output.line(f"{finding.severity}: {finding.subject}: {finding.message}; {finding.remedy}")
    output.line(f"documents  {published.folder}")
    return ExitCode.FAILURE if subject.findings else ExitCode.OK
