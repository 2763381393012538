"""`sovctl init`: write a commented site.yaml, from a preset or from answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sovctl.support.errors import InputError

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.validation.presets import Written

EPILOG = """Examples: sovctl init branch --preset bank-hybrid  ·  sovctl init bank   (asks, on a terminal)
  ·  sovctl init bank --set country=FR --set platform=hgx-h200 --set models=qwen3-32b,gpt-oss-20b"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(init)


def complete_field(incomplete: str) -> list[str]:
    """Return the fields of `--set` that begin with the typed text."""
    from sovctl.engine.new_site.answers import BY_FIELD

    return [f"{each}=" for each in BY_FIELD if each.startswith(incomplete)]


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the new site.yaml; created if absent.")
    ] = Path(),
    preset: Annotated[
        str | None,
        typer.Option(help="Preset to start from; see --list. Default: questions on a terminal, else lab."),
    ] = None,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Answer to a question; the others are asked on a terminal, else have their default. Repeatable.",
            autocompletion=complete_field,
        ),
    ] = None,
    list_presets: Annotated[bool, typer.Option("--list", help="List the presets with a description.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing site.yaml.")] = False,
) -> None:
    """Write a commented site.yaml, and the JSON schema for editors. It passes `sovctl validate`."""
    from sovctl.engine.validation import presets as presets

    if list_presets:
        for name in presets.names():
            output.line(output.style(name, "bold"))
            output.line(f"  {presets.about(name)}")
        return
    if preset is not None and answers:
        raise InputError("--preset and --set exclude each other", hint="remove one of them")
    site = folder / "site.yaml"
    if output.can_ask() and site.exists() and not force:
        force = typer.confirm(f"{site} exists; replace it?", default=False, err=True)
    if preset is None and (answers or output.can_ask()):
        written, source = _from_answers(folder, answers or [], force=force), "from answers"
    else:
        name = preset or "lab"
        written, source = presets.write_preset(name, folder, force=force), f"preset {name}"
    output.info(f"wrote {written.site} ({source}) and {written.schema}")
    output.info("next:")
    for step in written.next_steps:
        output.info(f"  {step}")


def _from_answers(folder: Path, answers: list[str], *, force: bool) -> Written:
    from datetime import UTC, datetime

    from sovctl.engine.new_site.answers import parse, with_defaults
    from sovctl.engine.new_site.text import check, site_text
    from sovctl.engine.validation.presets import write_site

    from ..site_questions import ask

    if (site := folder / "site.yaml").exists() and not force:
        raise InputError("file exists", where=str(site), hint="choose another folder, or use --force")
    given: dict[str, Any] = {}
    for each in answers:
        field, is_set, text = each.partition("=")
        if not is_set:
            raise InputError(f"expected FIELD=VALUE, got {each[:60]!r}", where="--set")
        given[field] = parse(field, text)
    today = datetime.now(UTC).date()
    made = ask(given, today=today) if output.can_ask() else with_defaults(given)
    check(made, path=site, today=today)
    return write_site(site_text(made, today=today), folder, force=force)
