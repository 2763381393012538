"""`sovctl report`: write the evidence report, which can be verified without sovctl."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .. import output
from ..default_command import DefaultsToSite
from ..views.waivers import poam_sentence
from . import report_diff, report_documents, report_packs, report_siem, report_sign

EPILOG = "Example: sovctl report site.yaml  ·  then: sovctl audit verify .sovctl"


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(
        cls=DefaultsToSite,
        help="Write the evidence report of a run, documents and events, compare and sign reports, or list the control "
        "frameworks. `sovctl report SITE` is `sovctl report site SITE`; options: `sovctl report site --help`.",
        epilog=EPILOG,
    )
    app.add_typer(group, name="report")
    report_packs.register(group)
    report_documents.register(group)
    report_siem.register(group)
    report_diff.register(group)
    report_sign.register(group)

    @group.command("site", epilog=EPILOG)
    def report(
        site: Annotated[
            Path | None, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder; optional with --state.")
        ] = None,
        state: Annotated[Path | None, typer.Option(help="State folder; default: .sovctl next to site.yaml.")] = None,
        run: Annotated[str | None, typer.Option(help="Run id of `sovctl verify`; default: the newest.")] = None,
        pack: Annotated[
            str | None,
            typer.Option(
                help="Control framework; default: all listed in site.yaml.", autocompletion=report_packs.complete_name
            ),
        ] = None,
        waivers: Annotated[Path | None, typer.Option(help="YAML file of waivers and attestations.")] = None,
        pdf: Annotated[
            bool, typer.Option("--pdf", help="Add report.pdf for print; needs `pip install 'sovctl[pdf]'`.")
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    ) -> None:
        """Write the evidence report of a run as HTML and JSON, with proofs and a standalone verifier."""
        from datetime import UTC, datetime

        from sovctl import __version__
        from sovctl.compliance.importers.stored import read_imports
        from sovctl.compliance.ledger.reader import LedgerReader
        from sovctl.compliance.ledger.store import Ledger
        from sovctl.compliance.report.document import Subject
        from sovctl.compliance.report.pdf import require_weasyprint
        from sovctl.compliance.report.publish import publish
        from sovctl.compliance.signing import load
        from sovctl.engine.checks.registry import FORMER_IDS
        from sovctl.engine.checks.runner.compliance_inputs import load_inputs
        from sovctl.engine.checks.runner.fabric_figure import figures_of
        from sovctl.engine.site.state_folder import SiteState
        from sovctl.engine.site.state_records import record_waivers
        from sovctl.support.errors import InputError

        if pdf:
            require_weasyprint()
        site_file = site or Path("site.yaml")
        site_file = site_file / "site.yaml" if site_file.is_dir() else site_file
        paths = SiteState.of_site(site_file, state)
        # With --state alone, a site.yaml in the working folder is ignored.
        inputs = load_inputs(site_file if site or state is None else None, pack=pack, waiver_file=waivers)
        if not paths.ledger.is_dir():
            raise InputError("no evidence found", where=str(paths.root), hint="run `sovctl verify` first")
        origin = LedgerReader(paths.ledger).checkpoint.origin
        now = datetime.now(UTC)
        key = load(paths.keys / "ledger.key")
        with Ledger.open(paths.ledger, origin=origin, key=key) as ledger:
            for source, found in inputs.waivers.items():
                name = inputs.subject.site if inputs.subject else origin
                record_waivers(ledger.append, paths, name, found, day=now.date(), source=source)
        # The site's lock too: a running verify needs the ledger at its end, and would lose its evidence.
        with paths.exclusive("report"), Ledger.open(paths.ledger, origin=origin, key=key) as ledger:
            foreign = read_imports(paths.foreign, LedgerReader(paths.ledger))
            reports = [
                publish(
                    evidence=paths.evidence,
                    reports=paths.reports,
                    ledger=ledger,
                    pack=each,
                    subject=inputs.subject or Subject(site=origin),
                    generated=now,
                    tool_version=__version__,
                    run_id=run,
                    exceptions=inputs.exceptions,
                    former_ids=FORMER_IDS,
                    draw=figures_of,
                    terms=inputs.terms,
                    foreign=foreign,
                    pdf=pdf,
                )
                for each in inputs.packs
            ]
        for name, problem in inputs.exceptions.unsigned().items():
            output.info(f"waiver {name} does not count: {problem}")
        if as_json:
            output.document(
                [
                    {"folder": str(each.folder), "leaf_index": each.leaf_index}
                    | {name: each.document[name] for name in ("subject", "run", "pack", "summary", "simulated", "poam")}
                    for each in reports
                ]
            )
            return
        for waiver in inputs.exceptions.texts:
            if not waiver.counts_on(now.date()):
                output.info(
                    f"waiver {waiver.id} is not in effect today: valid from {waiver.approved} to {waiver.expires}"
                )
        for each in reports:
            output.line(f"{each.document['pack']['title']}: {each.document['summary']['sentence']}")
            if sentence := poam_sentence(each.document["poam"]):
                output.line(f"plan of action: {sentence}")
            if stale := each.document["summary"]["stale_records"]:
                output.line(f"expired evidence: {stale} records count as not run; run `sovctl verify` again")
            if each.document["simulated"]:
                output.line(
                    output.style(
                        "SIMULATED: the evidence comes from simulated hardware and proves nothing about a real site",
                        "yellow",
                    )
                )
            command = ("python3", each.folder / "sovctl-verify.pyz", each.folder, "--key", paths.ledger / "log.vkey")
            output.line(f"report  {each.folder / 'report.html'}")
            if pdf:
                output.line(f"pdf     {each.folder / 'report.pdf'}")
            output.line(f"verify  {shlex.join(map(str, command))}")
