"""`sovctl lab`: real Linux nodes on this one machine, to try everything on. More words of it: `_MORE`."""

import importlib
from pathlib import Path
from typing import Annotated

import typer

from ... import output

_MORE = ("nodes", "demo", "fault", "fabric")

Name = Annotated[str, typer.Option("--name", help="Which lab; several live side by side.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
DEFAULT_NAME = "sovlab"  # layout.DEFAULT_NAME, not imported here so that --help stays quick


def register(app: typer.Typer) -> None:
    """Add the words to `sovctl`."""
    lab = typer.Typer(
        no_args_is_help=True,
        help="Real Linux nodes on this machine, with stand-ins only for GPU and fabric hardware. "
        "Start with: sovctl lab doctor  ·  then: sovctl lab up",
    )
    for command in (doctor, up, status, down):
        lab.command()(command)
    for module in _MORE:
        importlib.import_module(f"sovctl.cli.commands.lab.{module}").register(lab)
    app.add_typer(lab, name="lab")


def doctor(
    install: Annotated[bool, typer.Option("--install", help="Install the Debian packages that are missing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what this machine lacks to run a lab, and the remedy. Example: sovctl lab doctor --install"""
    from dataclasses import asdict

    from sovctl.engine.lab.lifecycle import doctor as examination
    from sovctl.support.errors import ExitCode

    findings = examination.examine()
    if install and any(not each.is_met for each in findings):
        examination.install(findings, progress=output.info)
        findings = examination.examine()
    missing = [each for each in findings if not each.is_met]
    if as_json:
        output.document([asdict(each) for each in findings])
    else:
        for each in missing:
            output.line(f"missing: {each.name}: {each.found} (needed for: {each.why}); {each.remedy}")
        if not missing:
            output.line(f"this machine can run a lab ({len(findings)} things looked at)")
    if missing:
        raise typer.Exit(ExitCode.MISSING)


def up(
    name: Name = DEFAULT_NAME,
    directory: Annotated[Path, typer.Option("--directory", help="Gets keys, secrets and site.yaml.")] = Path(
        "lab-site"
    ),
    mirror: Annotated[str, typer.Option("--mirror", help="A Debian mirror; this machine's own by default.")] = "",
    as_json: AsJson = False,
) -> None:
    """Have a whole lab: built, mended or left as it is. Example: sovctl lab up --directory lab-site"""
    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import doctor as examination
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.progress import Stopwatch

    lab = Lab(name)  # a wrong name is said on any machine
    examination.require()
    lifecycle.up(lab, directory=directory, mirror_uri=mirror or None, progress=Stopwatch(output.info))
    if as_json:
        _show_status(lab, as_json=True)
    else:
        output.line(f"lab {name} is up (simulated hardware); next: sovctl plan {directory}/site.yaml")


def status(name: Name = DEFAULT_NAME, as_json: AsJson = False) -> None:
    """Show nodes and services. Exit code 1 when any is down. Example: sovctl lab status"""
    from sovctl.engine.lab.layout import Lab

    _show_status(Lab(name), as_json=as_json)


def down(
    name: Name = DEFAULT_NAME,
    purge: Annotated[bool, typer.Option("--purge", help="Remove the cache too: image, packages, wheels.")] = False,
) -> None:
    """Take a lab down and leave nothing behind but the cache. Example: sovctl lab down"""
    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.progress import Stopwatch

    lifecycle.down(Lab(name), purge=purge, progress=Stopwatch(output.info))


def _show_status(lab: object, *, as_json: bool) -> None:
    from dataclasses import asdict

    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import status as state
    from sovctl.support.errors import ExitCode

    assert isinstance(lab, Lab)
    seen = state.status_of(lab)
    if as_json:
        output.document(asdict(seen))
    else:
        output.line(f"lab {lab.name}: {'up' if seen.is_up else 'not up'} (simulated hardware)")
        output.table(("name", "what", "address", "state"), [each.row() for each in seen.parts])
    if not seen.is_up:
        raise typer.Exit(ExitCode.FAILURE)
