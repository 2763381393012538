"""`sovctl verify`: run the checks on every node, and store the results as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sovctl.support.errors import ExitCode

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.evidence.store import StoredEvidence
    from sovctl.engine.checks.model.check import Level
    from sovctl.engine.checks.runner.run import RunResult
    from sovctl.engine.site.site import Site

EPILOG = (
    "Examples: sovctl verify site.yaml  ·  sovctl verify --node n1 --check 'perimeter.*'  ·  "
    "sovctl verify --level full --node n1  ·  sovctl verify --watch 60"
)


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(verify)


def verify(
    site: Path = typer.Argument(Path("site.yaml"), help="Path of site.yaml."),
    state: Path | None = typer.Option(None, "--state", help="State folder; default: .sovctl next to SITE."),
    node: list[str] = typer.Option([], "--node", help="Only this node; `site` is the controller. Repeatable."),
    check: list[str] = typer.Option([], "--check", help="Only checks that match, such as 'nvlink.*'. Repeatable."),
    level: str | None = typer.Option(
        None,
        "--level",
        help="`quick`: seconds; `full`: also tests of minutes, on nodes that do not serve; `burn-in`: also tests of "
        "hours. Default, also with --check: quick and full without tests under load, so no check of burn-in.",
    ),
    jobs: int | None = typer.Option(
        None,
        "--jobs",
        min=1,
        max=64,
        help="Number of parallel processes; default: one for each 4 nodes, at most one per core.",
    ),
    allow_downtime: list[str] = typer.Option(
        [],
        "--allow-downtime",
        help="Run active tests also on nodes that serve this pool, or `gateway`: its users notice it, and it lowers "
        "measured rates. Repeatable.",
    ),
    watch: int | None = typer.Option(
        None,
        "--watch",
        min=1,
        max=86_400,
        metavar="SECONDS",
        help="Repeat the quick checks, and show changed verdicts; stores no evidence. With --json one line per run.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print all verdicts as one JSON document."),
) -> int:
    """Run checks over SSH, and store the results as evidence.

    Exit code 1 if a verdict is FAIL or UNKNOWN. After Ctrl-C the finished checks are stored; the others are UNKNOWN.
    Active tests of --level full and burn-in run on nodes that serve nothing.
    """
    if watch is not None:
        from .verify_watch import check_options
        from .verify_watch import watch as repeat

        check_options(level, allow_downtime)
        return repeat(site, state=state, nodes=node, checks=check, jobs=jobs, every_s=watch, as_json=as_json)
    from sovctl.engine.checks.runner.worker import Worker

    with Worker() as worker:  # its imports take as long as those of this process
        from datetime import UTC, datetime

        from sovctl.engine.checks.runner.circumstances import Circumstances
        from sovctl.engine.checks.runner.evidence import keep
        from sovctl.engine.checks.runner.run import run
        from sovctl.engine.site.site import Site

        opened = Site.open(site, state=state, touches_nodes=True)
        opened.record_waivers(datetime.now(UTC).date())
        with opened.state.exclusive("verify"):
            about = Circumstances.of(opened)
            found = run(
                opened,
                today=datetime.now(UTC).date(),
                nodes=node,
                checks=check,
                level=_level(level),
                jobs=jobs,
                allow_downtime=allow_downtime,
                worker=worker,
                progress=output.progress,
                report=lambda done, total, target, result: output.progress(
                    f"{done}/{total}  {target.name}  {target.check.id}: {result.verdict}"
                ),
            )
            output.progress_done()
            stored = keep(opened, found, about)
    if as_json:
        output.document(_document(opened, found, stored))
    else:
        _show(opened, found, stored)
    if found.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FAILURE if any(each.verdict.blocks for each in found.results) else ExitCode.OK


def _level(name: str | None) -> Level | None:
    from sovctl.engine.checks.model.check import Level
    from sovctl.support.errors import InputError

    if name is not None and name not in list(Level):
        raise InputError(f"expected one of {', '.join(Level)}, got {name!r}", where="--level")
    return None if name is None else Level(name)


def _show(opened: Site, found: RunResult, stored: list[StoredEvidence]) -> None:
    from ..views.verify import show_verdicts

    rows = zip(found.targets, found.results, strict=True)
    show_verdicts((result.verdict, target.name, target.check.id, result.reason) for target, result in rows)
    simulated = sum(bool(result.simulated) for result in found.results)
    output.line()
    output.line(" · ".join(f"{count} {verdict}" for verdict, count in _counts(found).items()))
    for waiver in opened.spec.verify.waivers:
        output.line(f"waiver: {waiver.limit} {opened.spec.verify.limits[waiver.limit]}: {waiver}")
    if simulated:
        output.line(f"simulated: {simulated} of {len(found.results)} verdicts come from simulated hardware")
    if found.interrupted:
        output.info("interrupted: checks that did not run are UNKNOWN")
    output.info(
        f"stored as evidence run {stored[0].run_id}, ledger entries {stored[0].leaf_index} to {stored[-1].leaf_index}"
    )


def _document(opened: Site, found: RunResult, stored: list[StoredEvidence]) -> dict[str, Any]:
    return {
        "run": stored[0].run_id,
        "counts": _counts(found),
        "interrupted": found.interrupted,
        "waivers": [each.model_dump(mode="json") for each in opened.spec.verify.waivers],
        "results": [
            {**each.evidence.as_record(), "sha256": each.sha256, "leaf_index": each.leaf_index} for each in stored
        ],
        "populations": {
            each.evidence.population.sha256: each.evidence.population.model_dump(mode="json") for each in stored
        },
    }


def _counts(found: RunResult) -> dict[str, int]:
    from sovctl.compliance.verdict import Verdict

    counts = {verdict.value: sum(each.verdict is verdict for each in found.results) for verdict in Verdict}
    return {verdict: count for verdict, count in counts.items() if count}
