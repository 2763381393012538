"""`sovctl init`: write a commented site.yaml."""

from pathlib import Path
from typing import Annotated

import typer

from .. import output


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""

    @app.command(epilog="Example: sovctl init branch --preset bank-hybrid")
    def init(
        folder: Annotated[
            Path, typer.Argument(metavar="DIR", help="Folder of the new site.yaml; created if absent.")
        ] = Path(),
        preset: Annotated[str, typer.Option(help="Preset to start from; see --list.")] = "lab",
        list_presets: Annotated[bool, typer.Option("--list", help="List the presets with a description.")] = False,
        force: Annotated[bool, typer.Option("--force", help="Replace an existing site.yaml.")] = False,
    ) -> None:
        """Write a commented site.yaml, and the JSON schema for editors."""
        from sovctl.engine.validation import presets as presets

        if list_presets:
            for name in presets.names():
                output.line(output.style(name, "bold"))
                output.line(f"  {presets.about(name)}")
            return
        written = presets.write_preset(preset, folder, force=force)
        output.info(f"wrote {written.site} (preset {preset}) and {written.schema}")
        output.info("next:")
        for step in written.next_steps:
            output.info(f"  {step}")
