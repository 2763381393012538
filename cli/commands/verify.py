"""`sovctl verify`: look at every node, and keep what was seen as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sovctl.support.errors import ExitCode

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.evidence.store import StoredEvidence
    from sovctl.engine.checks.runner.run import RunResult

EPILOG = (
    """Examples: sovctl verify site.yaml  ·  sovctl verify --node n1 --check 'perimeter.*'  ·  sovctl verify --json"""
)


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""
    app.command(epilog=EPILOG)(verify)


def verify(
    site: Path = typer.Argument(Path("site.yaml"), help="The site description."),
    state: Path | None = typer.Option(None, "--state", help="State folder; .sovctl beside the site file if not given."),
    node: list[str] = typer.Option([], "--node", help="Only this node; `site` is this controller. May be repeated."),
    check: list[str] = typer.Option([], "--check", help="Only checks that fit, such as 'nvlink.*'. May be repeated."),
    jobs: int | None = typer.Option(
        None, "--jobs", min=1, max=64, help="Processes at once; one per core if not given."
    ),
    as_json: bool = typer.Option(False, "--json", help="Every verdict as one JSON document."),
) -> int:
    """Prove that the site is as described: run every check over ssh, read-only, and keep the answers as evidence.

    Exits with 0 when nothing blocks, 1 when a check says FAIL or UNKNOWN. What is stopped with Ctrl-C is kept too: the
    rest is UNKNOWN, not measured.
    """
    from datetime import UTC, datetime

    from sovctl.engine.checks.runner.evidence import keep
    from sovctl.engine.checks.runner.run import run
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=True)
    with opened.state.exclusive("verify"):
        found = run(
            opened,
            today=datetime.now(UTC).date(),
            nodes=node,
            checks=check,
            jobs=jobs,
            report=lambda done, total, target, result: output.progress(
                f"{done}/{total}  {target.name}  {target.check.id}: {result.verdict}"
            ),
        )
        output.progress_done()
        stored = keep(opened, found)
    if as_json:
        output.document(_document(found, stored))
    else:
        _show(found, stored)
    if found.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FAILURE if any(each.verdict.blocks for each in found.results) else ExitCode.OK


def _show(found: RunResult, stored: list[StoredEvidence]) -> None:
    rows = zip(found.targets, found.results, strict=True)
    output.table(
        ("VERDICT", "TARGET", "CHECK", "REASON"),
        [(result.verdict.value, target.name, target.check.id, result.reason) for target, result in rows],
    )
    simulated = sum(bool(result.simulated) for result in found.results)
    output.line()
    output.line(" · ".join(f"{count} {verdict}" for verdict, count in _counts(found).items()))
    if simulated:
        output.line(f"simulated: {simulated} of {len(found.results)} verdicts rest on stand-in hardware")
    if found.interrupted:
        output.info("interrupted: what was not looked at is UNKNOWN")
    output.info(
        f"kept as evidence run {stored[0].run_id}, ledger entries {stored[0].leaf_index} to {stored[-1].leaf_index}"
    )


def _document(found: RunResult, stored: list[StoredEvidence]) -> dict[str, Any]:
    return {
        "run": stored[0].run_id,
        "counts": _counts(found),
        "interrupted": found.interrupted,
        "results": [
            {**each.evidence.model_dump(mode="json"), "sha256": each.sha256, "leaf_index": each.leaf_index}
            for each in stored
        ],
    }


def _counts(found: RunResult) -> dict[str, int]:
    from sovctl.compliance.verdict import Verdict

    counts = {verdict.value: sum(each.verdict is verdict for each in found.results) for verdict in Verdict}
    return {verdict: count for verdict, count in counts.items() if count}
