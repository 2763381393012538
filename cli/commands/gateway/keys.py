"""`sovctl gateway keys`: create, list, rotate, revoke, jwks; passed on to `python -m sovctl.gateway`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="The gateway's settings, as `sovctl apply` writes them.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The client's name.")]
ValidFor = Annotated[
    str, typer.Option("--valid-for", metavar="TIME", help="How long the key lives: 90d, 12h, or never.")
]


def make(become: Callable[..., NoReturn], default: Path) -> typer.Typer:
    """The words, which end in `become`.

    Args:
        default: of `--config`.
    """
    keys = typer.Typer(
        name="keys",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="API keys of this machine's own clients. What site.yaml names is changed there.",
        epilog="Example: sovctl gateway keys create branch --tenant retail",
    )

    def run(word: str, config: Path, json: bool, *more: str) -> NoReturn:
        become("keys", word, "--config", str(config), *(["--json"] if json else []), *more)

    @keys.command("create", epilog="Example: sovctl gateway keys create branch --tenant retail --valid-for 90d")
    def create(
        name: Name,
        tenant: Annotated[str, typer.Option("--tenant", metavar="TENANT", help="Whose tokens it may restore.")],
        team: Annotated[str, typer.Option("--team", metavar="TEAM", help="A team of the settings.")] = "",
        group: Annotated[
            list[str] | None, typer.Option("--group", metavar="GROUP", help="Told to upstreams that ask.")
        ] = None,
        route: Annotated[list[str] | None, typer.Option("--route", metavar="MODEL", help="A model it may use.")] = None,
        surface: Annotated[
            list[str] | None, typer.Option("--surface", metavar="NAME", help="A surface it may use.")
        ] = None,
        no_restore: Annotated[bool, typer.Option("--no-restore", help="Its answers keep their tokens.")] = False,
        admin: Annotated[bool, typer.Option("--admin", help="It may use the admin surface.")] = False,
        valid_for: ValidFor = "365d",
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Make a client with a key, and show the key, once."""
        options = ["--tenant", tenant, "--valid-for", valid_for, *(["--team", team] if team else [])]
        for option, values in (("--group", group), ("--route", route), ("--surface", surface)):
            options += [part for value in values or [] for part in (option, value)]
        options += [*(["--no-restore"] if no_restore else []), *(["--admin"] if admin else [])]
        run("create", config, json, *options, "--", name)

    @keys.command("list", epilog="Example: sovctl gateway keys list --json")
    def list_(config: Config = default, json: Json = False) -> None:
        """Show clients and their keys; never a key itself."""
        run("list", config, json)

    @keys.command("rotate", epilog="Example: sovctl gateway keys rotate branch --overlap 7d")
    def rotate(
        name: Name,
        overlap: Annotated[str, typer.Option("--overlap", metavar="TIME", help="How long the old keys go on.")] = "7d",
        valid_for: ValidFor = "365d",
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Give a client a new key. The old ones end after the overlap."""
        run("rotate", config, json, "--overlap", overlap, "--valid-for", valid_for, "--", name)

    @keys.command("revoke", epilog="Example: sovctl gateway keys revoke branch --key 9f86d081884c")
    def revoke(
        name: Name,
        key: Annotated[str, typer.Option("--key", metavar="KEY-ID", help="Only this one.")] = "",
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Take a client away, or one of its keys. Running gateways refuse it within seconds."""
        run("revoke", config, json, *(["--key", key] if key else []), "--", name)

    @keys.command("jwks", epilog="Example: sovctl gateway keys jwks > sovctl-gateway.jwks.json")
    def jwks(config: Config = default) -> None:
        """Print public keys. RAG and tools verify `x-sovctl-principal` with them."""
        run("jwks", config, False)

    return keys
