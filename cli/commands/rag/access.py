"""`sovctl rag groups` and `sovctl rag directory import`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .documents import DEFAULT, Collection, Config, Json


def add(rag: typer.Typer, become: Callable[..., NoReturn]) -> None:
    """Add the commands; each ends in `become`."""

    @rag.command("groups", epilog="Example: sovctl rag groups board/minutes.pdf --collection handbook --allow board")
    def groups(
        source_id: Annotated[str, typer.Argument(metavar="SOURCE", help="Source id, as `list` shows it.")],
        collection: Collection,
        allow: Annotated[
            list[str], typer.Option("--allow", metavar="GROUP", help="Group that may find the document; repeatable.")
        ],
        deny: Annotated[
            list[str] | None,
            typer.Option("--deny", metavar="GROUP", help="Group that never finds it, also if allowed; repeatable."),
        ] = None,
        config: Config = DEFAULT,
        json: Json = False,
    ) -> None:
        """Replace the groups of one document, from the next search on."""
        lists = [*(f"--allow={each}" for each in allow), *(f"--deny={each}" for each in deny or [])]
        become("groups", config, json, f"--collection={collection}", *lists, "--", source_id)

    directory = typer.Typer(
        name="directory",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Members of groups, from an export of the site's directory.",
        epilog="Example: sovctl rag directory import people.ldif",
    )

    @directory.callback()
    def _words() -> None:
        pass

    @directory.command("import", epilog="Example: sovctl rag directory import people.ldif --subject-attribute uid")
    def import_(
        export: Annotated[Path, typer.Argument(metavar="EXPORT", help="Export of all groups: .json, .ldif or .ldf.")],
        subject_attribute: Annotated[
            str,
            typer.Option("--subject-attribute", metavar="NAME", help="LDIF attribute with the name of the principal."),
        ] = "uid",
        subject_prefix: Annotated[
            str, typer.Option("--subject-prefix", metavar="TEXT", help="Text before each name, such as sso:.")
        ] = "",
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and count only.")] = False,
        config: Config = DEFAULT,
        json: Json = False,
    ) -> None:
        """Replace all memberships by an export. A caller has a group only if the export confirms it."""
        given = [f"--subject-attribute={subject_attribute}", f"--subject-prefix={subject_prefix}"]
        become("directory", config, json, *given, *(["--dry-run"] if dry_run else []), "--", str(export))

    rag.add_typer(directory)
