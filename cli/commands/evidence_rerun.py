"""`sovctl evidence rerun`: run the population query and the check of a record again."""

from __future__ import annotations

from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output
from .evidence_show import DEFAULT, AsJson, RecordId, SiteFile, State

EPILOG = "Examples: sovctl evidence rerun 3fa9c0de1b2a  ·  sovctl evidence rerun 3fa9c0de1b2a site.yaml --recorded"


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl evidence`."""
    group.command("rerun", epilog=EPILOG)(rerun)


def rerun(
    name: RecordId,
    site: SiteFile = DEFAULT,
    state: State = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Judge the recorded raw output again; contacts no node.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run the population query and the check of a record again, and show the difference. Stores no evidence.

    Exit code 1 if the new verdict is FAIL or UNKNOWN, 2 if verdict or population differ otherwise.
    """
    from datetime import UTC, datetime

    from sovctl.compliance.evidence.lookup import find
    from sovctl.compliance.evidence.runs import read_raw
    from sovctl.engine.checks.runner.rerun import rerun as run_again
    from sovctl.engine.site.site import Site

    from ..views.evidence import rerun_lines
    from .evidence_show import opened, site_file

    paths, reader = opened(site, state)
    old = find(paths.evidence, reader, name).evidence
    loaded = Site.open(site_file(site), state=state, touches_nodes=not recorded)
    raw, today = read_raw(paths.evidence, old.raw_sha256), datetime.now(UTC).date()
    if recorded:
        found = run_again(loaded, old, raw, today=today, on_nodes=False)
    else:
        with loaded.state.exclusive("evidence rerun"):
            found = run_again(loaded, old, raw, today=today, on_nodes=True)
    if as_json:
        output.document(found.as_json())
    else:
        for line in rerun_lines(found):
            output.line(line)
    if found.blocks:
        return ExitCode.FAILURE
    return ExitCode.CHANGES if found.is_changed else ExitCode.OK
