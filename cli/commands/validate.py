"""`sovctl validate`."""

import typer


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""
