"""`sovctl gateway vault`: rotate, status; passed on to `python -m sovctl.gateway`."""

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
        """Bring every key under the current KEK, while gateways serve; may be cut off and started again."""
        run("rotate", config, json, *(["--renew"] if renew else []))

    @vault.command("status", epilog="Example: sovctl gateway vault status --json")
    def status(config: Config = default, json: Json = False) -> None:
        """Show which keys there are and how much stands under them."""
        run("status", config, json)

    return vault
