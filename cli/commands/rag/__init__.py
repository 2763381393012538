"""`sovctl rag`: documents for retrieval: ingest, reconcile, list, delete, groups, directory, search.

The commands are a separate program (`python -m sovctl.gateway.retrieval.ingest`); this process is replaced by it
(execv), so a machine that only plans does not need its dependencies.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn

import typer

from sovctl.support.errors import MissingTool

from . import access, documents

# Import names of packages of the extras `gateway` and `retrieval`.
_NEEDED = ("hyperscan", "orjson", "pypdf")


def become(subcommand: str, config: Path, json: bool, *arguments: str) -> NoReturn:
    """Replace this process by a command of `sovctl.gateway.retrieval.ingest`.

    Raises:
        MissingTool: packages of the extras are missing.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        message = f"missing Python packages: {', '.join(missing)}"
        raise MissingTool(message, hint="pip install 'sovctl[gateway,retrieval]'")
    sys.stdout.flush()
    program = [sys.executable, "-P", "-m", "sovctl.gateway.retrieval.ingest"]
    os.execv(sys.executable, [*program, subcommand, f"--config={config}", *(["--json"] if json else []), *arguments])


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    rag = typer.Typer(
        name="rag",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Documents for retrieval: ingest them, keep their groups current, and search as a client.",
        epilog="Example: sovctl rag ingest handbook --collection handbook --groups-file groups.csv",
    )
    documents.add(rag, become)
    access.add(rag, become)
    app.add_typer(rag)
