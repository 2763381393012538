"""`sovctl gateway keys`: create, list, rotate, revoke, jwks; runs `python -m sovctl.gateway keys`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Settings file of the gateway, written by `sovctl apply`.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the client.")]
ExpiresIn = Annotated[
    str, typer.Option("--expires-in", metavar="TIME", help="Lifetime of the key: 90d, 12h, or never.")
]


def make(become: Callable[..., NoReturn], default: Path) -> typer.Typer:
    """Return the command group; every command ends in `become`.

    Args:
        default: default of `--config`.
    """
    keys = typer.Typer(
        name="keys",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="API keys of clients of this machine. Clients of site.yaml are changed there.",
        epilog="Example: sovctl gateway keys create branch --tenant retail",
    )

    def run(subcommand: str, config: Path, json: bool, *more: str) -> NoReturn:
        become("keys", subcommand, "--config", str(config), *(["--json"] if json else []), *more)

    @keys.command("create", epilog="Example: sovctl gateway keys create branch --tenant retail --expires-in 90d")
    def create(
        name: Name,
        tenant: Annotated[
            str, typer.Option("--tenant", metavar="TENANT", help="Tenant whose tokens the client may restore.")
        ],
        team: Annotated[str, typer.Option("--team", metavar="TEAM", help="Team, as named in the settings.")] = "",
        group: Annotated[
            list[str] | None,
            typer.Option("--group", metavar="GROUP", help="Group included in `x-sovctl-principal`; repeatable."),
        ] = None,
        route: Annotated[
            list[str] | None,
            typer.Option("--route", metavar="MODEL", help="Model that the client may use; repeatable."),
        ] = None,
        surface: Annotated[
            list[str] | None, typer.Option("--surface", metavar="NAME", help="API that the client may use; repeatable.")
        ] = None,
        no_restore: Annotated[
            bool, typer.Option("--no-restore", help="Return answers with tokens instead of the original values.")
        ] = False,
        admin: Annotated[
            bool, typer.Option("--admin", help="Allow the admin API for the client's tenant and each --admin-tenant.")
        ] = False,
        admin_tenant: Annotated[
            list[str] | None,
            typer.Option("--admin-tenant", metavar="TENANT", help="Further tenant of an operator, or *; repeatable."),
        ] = None,
        monitor: Annotated[bool, typer.Option("--monitor", help="Allow metrics and the details of `/readyz`.")] = False,
        expires_in: ExpiresIn = "365d",
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Create a client with an API key. The key is printed once."""
        options = ["--tenant", tenant, "--expires-in", expires_in, *(["--team", team] if team else [])]
        lists = (("--group", group), ("--route", route), ("--surface", surface), ("--admin-tenant", admin_tenant))
        for option, values in lists:
            options += [part for value in values or [] for part in (option, value)]
        options += [
            *(["--no-restore"] if no_restore else []),
            *(["--admin"] if admin else []),
            *(["--monitor"] if monitor else []),
        ]
        run("create", config, json, *options, "--", name)

    @keys.command("list", epilog="Example: sovctl gateway keys list --json")
    def list_(config: Config = default, json: Json = False) -> None:
        """List clients and the ids of their keys."""
        run("list", config, json)

    @keys.command("rotate", epilog="Example: sovctl gateway keys rotate branch --grace-period 7d")
    def rotate(
        name: Name,
        grace_period: Annotated[
            str, typer.Option("--grace-period", metavar="TIME", help="Time until the old keys expire.")
        ] = "7d",
        expires_in: ExpiresIn = "365d",
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Create a new key for a client. The old keys expire after the grace period."""
        run("rotate", config, json, "--grace-period", grace_period, "--expires-in", expires_in, "--", name)

    @keys.command("revoke", epilog="Example: sovctl gateway keys revoke branch --key 9f86d081884c")
    def revoke(
        name: Name,
        key: Annotated[str, typer.Option("--key", metavar="KEY-ID", help="Revoke only this key.")] = "",
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Revoke a client, or one of its keys. Running gateways reject it within seconds."""
        run("revoke", config, json, *(["--key", key] if key else []), "--", name)

    @keys.command("pin", epilog="Example: sovctl gateway keys pin")
    def pin(config: Config = default, json: Json = False) -> None:
        """Approve this machine's clients file after a change by hand: write its SHA-256 into the settings."""
        run("pin", config, json)

    @keys.command("jwks", epilog="Example: sovctl gateway keys jwks > sovctl-gateway.jwks.json")
    def jwks(config: Config = default) -> None:
        """Print the public keys that verify `x-sovctl-principal`, as a JWK set."""
        run("jwks", config, False)

    return keys
