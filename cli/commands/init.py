"""`sovctl init`: a commented site.yaml to start from."""

from pathlib import Path
from typing import Annotated

import typer

from .. import output


def register(app: typer.Typer) -> None:
    """Add the word to `sovctl`."""

    @app.command(epilog="Example: sovctl init branch --preset bank-hybrid")
    def init(
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; made when absent.")] = Path(),
        preset: Annotated[str, typer.Option(help="Which site to start from; see --list.")] = "lab",
        list_presets: Annotated[bool, typer.Option("--list", help="Say what each preset shows.")] = False,
        force: Annotated[bool, typer.Option("--force", help="Replace a site.yaml that is there.")] = False,
    ) -> None:
        """Write a commented site.yaml, and the schema that editors complete it with."""
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
