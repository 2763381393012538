"""`sovctl lab demo`: all steps from site.yaml to a verified report, in a new lab."""

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from . import DEFAULT_NAME, EngineName, Name


def register(lab: typer.Typer) -> None:
    """Add the command to `sovctl lab`."""
    lab.command()(demo)


def demo(
    name: Name = DEFAULT_NAME,
    directory: Annotated[
        Path, typer.Option("--directory", help="Folder for keys, site.yaml, state and report; its content is replaced.")
    ] = Path("build/demo"),
    engine: EngineName = None,
) -> int:
    """Run plan, apply, verify and report in a new lab, and print a summary. Example: sovctl lab demo"""
    from sovctl.engine.lab.lifecycle import requirements

    from ...demo import run
    from ...views.demo import show_demo

    requirements.require_root()
    done = run(name, directory, engine=engine)
    show_demo(done)
    return ExitCode.FAILURE if done.problems else ExitCode.OK
