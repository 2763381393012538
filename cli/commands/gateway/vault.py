"""`sovctl gateway vault`: rotate, status, erase; runs `python -m sovctl.gateway vault`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Settings file of the gateway, written by `sovctl apply`.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]


def make(become: Callable[..., NoReturn], default: Path) -> typer.Typer:
    """Return the command group; every command ends in `become`.

    Args:
        default: default of `--config`.
    """
    vault = typer.Typer(
        name="vault",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Manage the keys of the vault. Gateways may keep running.",
        epilog="Example: sovctl gateway vault rotate --json",
    )

    def run(subcommand: str, config: Path, json: bool, *more: str) -> NoReturn:
        become("vault", subcommand, "--config", str(config), *(["--json"] if json else []), *more)

    @vault.command("rotate", epilog="Example: sovctl gateway vault rotate --json")
    def rotate(
        new_key: Annotated[bool, typer.Option("--new-key", help="Always create a new wrapping key.")] = False,
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Wrap every key with the current KEK. Gateways keep serving; an interrupted rotation can be repeated."""
        run("rotate", config, json, *(["--new-key"] if new_key else []))

    @vault.command("status", epilog="Example: sovctl gateway vault status --json")
    def status(config: Config = default, json: Json = False) -> None:
        """Show the keys, and the number of rows that each one encrypts."""
        run("status", config, json)

    @vault.command("erase", epilog="Example: sovctl gateway vault erase --tenant retail --subject-file person.txt")
    def erase(
        conversation: Annotated[
            str | None,
            typer.Option("--conversation", metavar="KEY", help="Conversation key of the audit records, or its name."),
        ] = None,
        client: Annotated[
            str | None, typer.Option("--client", metavar="NAME", help="Client that named the conversation.")
        ] = None,
        tenant: Annotated[
            str | None,
            typer.Option("--tenant", metavar="NAME", help="Tenant; all of its data unless another option limits it."),
        ] = None,
        subject_file: Annotated[
            Path | None,
            typer.Option("--subject-file", metavar="FILE", help="File with the values of a person, one per line."),
        ] = None,
        yes: Annotated[bool, typer.Option("--yes", help="Erase without confirmation.")] = False,
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Destroy the encryption keys of a conversation, person or tenant. This cannot be undone."""
        named = {
            "--conversation": conversation,
            "--client": client,
            "--tenant": tenant,
            "--subject-file": str(subject_file) if subject_file else None,
        }
        options = [part for name, value in named.items() if value is not None for part in (name, value)]
        run("erase", config, json, *options, *(["--yes"] if yes else []))

    return vault
