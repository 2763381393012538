"""`sovctl gateway vault`: rotate, status, erase; passed on to `python -m sovctl.gateway`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="The gateway's settings, as `sovctl apply` writes them.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]


def make(become: Callable[..., NoReturn], default: Path) -> typer.Typer:
    """The words, which end in `become`.

    Args:
        default: of `--config`.
    """
    vault = typer.Typer(
        name="vault",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="The vault's keys, while gateways serve.",
        epilog="Example: sovctl gateway vault rotate --json",
    )

    def run(word: str, config: Path, json: bool, *more: str) -> NoReturn:
        become("vault", word, "--config", str(config), *(["--json"] if json else []), *more)

    @vault.command("rotate", epilog="Example: sovctl gateway vault rotate --json")
    def rotate(
        renew: Annotated[bool, typer.Option("--renew", help="With a new wrapping key in any case.")] = False,
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Bring every key under the current KEK. Gateways serve meanwhile; it may be cut off and started again."""
        run("rotate", config, json, *(["--renew"] if renew else []))

    @vault.command("status", epilog="Example: sovctl gateway vault status --json")
    def status(config: Config = default, json: Json = False) -> None:
        """Show which keys there are and how much stands under them."""
        run("status", config, json)

    @vault.command("erase", epilog="Example: sovctl gateway vault erase --tenant retail --subject-file person.txt")
    def erase(
        conversation: Annotated[
            str | None, typer.Option("--conversation", metavar="KEY", help="Its key in the audit records, or its name.")
        ] = None,
        client: Annotated[
            str | None, typer.Option("--client", metavar="NAME", help="Who gave the conversation its name.")
        ] = None,
        tenant: Annotated[
            str | None, typer.Option("--tenant", metavar="NAME", help="All of it, unless another option says less.")
        ] = None,
        subject_file: Annotated[
            Path | None, typer.Option("--subject-file", metavar="FILE", help="A person's values, one a line.")
        ] = None,
        yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Destroy keys of a conversation, person or tenant. For good: their values can't be read again by anybody."""
        named = {
            "--conversation": conversation,
            "--client": client,
            "--tenant": tenant,
            "--subject-file": str(subject_file) if subject_file else None,
        }
        said = [word for name, value in named.items() if value is not None for word in (name, value)]
        run("erase", config, json, *said, *(["--yes"] if yes else []))

    return vault
