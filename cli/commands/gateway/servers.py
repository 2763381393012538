"""`sovctl gateway servers`: drain, undrain, list; runs `python -m sovctl.gateway servers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Settings file of the gateway, written by `sovctl apply`.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Urls = Annotated[list[str], typer.Argument(metavar="URL", help="Base URL of a server, as in the settings. Repeatable.")]


def make(become: Callable[..., NoReturn], default: Path) -> typer.Typer:
    """Return the command group; every command ends in `become`.

    Args:
        default: default of `--config`.
    """
    servers = typer.Typer(
        name="servers",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Take servers of pools out of use, and back. Gateways keep serving.",
        epilog="Example: sovctl gateway servers list",
    )

    def run(subcommand: str, config: Path, json: bool, *more: str) -> NoReturn:
        become("servers", subcommand, "--config", str(config), *(["--json"] if json else []), *more)

    @servers.command("drain", epilog="Example: sovctl gateway servers drain https://192.0.2.11:8000/v1")
    def drain(
        urls: Urls,
        reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason, shown by `list`.")] = "operator",
        timeout_s: Annotated[
            float, typer.Option("--timeout-s", metavar="S", help="Seconds for running requests to finish.")
        ] = 300.0,
        config: Config = default,
        json: Json = False,
    ) -> None:
        """Send these servers no new requests, and wait until their running requests have finished."""
        run("drain", config, json, f"--reason={reason}", f"--timeout-s={timeout_s}", "--", *urls)

    @servers.command("undrain", epilog="Example: sovctl gateway servers undrain https://192.0.2.11:8000/v1")
    def undrain(urls: Urls, config: Config = default, json: Json = False) -> None:
        """Send these servers requests again."""
        run("undrain", config, json, "--", *urls)

    @servers.command("list", epilog="Example: sovctl gateway servers list --json")
    def list_servers(config: Config = default, json: Json = False) -> None:
        """Show the servers of pools, and which of them are drained."""
        run("list", config, json)

    return servers
