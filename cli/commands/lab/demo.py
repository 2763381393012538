"""`sovctl lab demo`: the whole road in a lab of its own making."""

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from . import DEFAULT_NAME, Name


def register(lab: typer.Typer) -> None:
    """Add the word to `sovctl lab`."""
    lab.command()(demo)


def demo(
    name: Name = DEFAULT_NAME,
    directory: Annotated[Path, typer.Option("--directory", help="Made anew: keys, site.yaml, state, report.")] = Path(
        "build/demo"
    ),
) -> int:
    """From site.yaml to a verified report in a fresh lab, and one screen that shows it. Example: sovctl lab demo"""
    from sovctl.engine.lab.lifecycle import doctor

    from ...demo import run
    from ...views.demo import show_demo

    doctor.require_root()
    done = run(name, directory)
    show_demo(done)
    return ExitCode.FAILURE if done.problems else ExitCode.OK
