"""`sovctl gateway vault rotate|status|erase`: manages the vault's keys while gateways serve.

Run it as the gateway's user on a machine with its settings and its KEKs. Progress is printed to standard error, the
result to standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sovctl.support.errors import ExitCode, InputError

from ..settings import GatewaySettings, load_settings

if TYPE_CHECKING:  # imports of a subcommand are delayed until it runs, because subcommands are declared at every start
    from ..vault import Vault

_STATEMENT_TIMEOUT_S = 120.0  # rotation and erasure wait for gateways that write, and for scans of millions of rows


def add_subcommands(parser: argparse.ArgumentParser, config: Path) -> None:
    """Declare the subcommands of `vault`."""
    subparsers = parser.add_subparsers(dest="vault_command", required=True)
    for word, about in (
        ("rotate", "bring every key under the current KEK, while gateways serve; may be cut off and started again"),
        ("status", "show the vault's keys and the number of rows under each"),
        ("erase", "destroy the keys of a conversation, of a person's values or of a tenant, for good"),
    ):
        sub = subparsers.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=config, metavar="FILE")
        sub.add_argument("--json", action="store_true", help="one JSON document")
        if word == "rotate":
            sub.add_argument("--new-key", action="store_true", help="always create a new wrapping key")
        if word == "erase":
            sub.add_argument(
                "--conversation", metavar="KEY", help="its key in the audit records, or its name at a client"
            )
            sub.add_argument("--client", metavar="NAME", help="client that named the conversation")
            sub.add_argument(
                "--tenant", metavar="NAME", help="everything of the tenant, unless another option restricts it"
            )
            sub.add_argument(
                "--subject-file", type=Path, metavar="FILE", help="a person's values, one per line, in any spelling"
            )
            sub.add_argument("--yes", action="store_true", help="don't ask")


def run(options: argparse.Namespace) -> int:
    """Run a subcommand; return the exit code.

    Raises:
        SovctlError: the settings, the keys or the database are unusable.
    """
    settings = load_settings(options.config)
    require_its_user(settings)
    done = asyncio.run(with_vault(settings, lambda vault: _COMMANDS[options.vault_command](vault, settings, options)))
    sys.stdout.write((json.dumps(done, indent=2) if options.json else _in_words(done)) + "\n")
    return ExitCode.OK


def require_its_user(settings: GatewaySettings) -> None:
    """Require the gateway's user, because files of another user would be unusable for the gateway."""
    path = settings.vault.path
    if path is not None and not path.exists():
        raise InputError("no vault at this path", where=str(path), hint="a gateway makes it when it first starts")
    for each in (path, settings.ledger.directory):
        if each is not None and each.exists() and each.stat().st_uid != os.geteuid():
            raise InputError(
                f"this command needs user {each.stat().st_uid}, the owner of the file, got user {os.geteuid()}",
                where=str(each),
                hint="sudo -u sovctl-gateway ...",
            )


async def with_vault(
    settings: GatewaySettings, use: Callable[[Vault], Awaitable[Mapping[str, Any]]]
) -> Mapping[str, Any]:
    """Return the result of `use` with the vault of the settings open."""
    from ..vault import load_keks, open_vault

    vault = await open_vault(settings.vault, load_keks(settings.vault), statement_timeout_s=_STATEMENT_TIMEOUT_S)
    try:
        return await use(vault)
    finally:
        await vault.close()


async def _rotate(vault: Vault, _settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    def progress(done: int, total: int) -> None:
        sys.stderr.write(f"{done} of {total} pieces\n")

    return asdict(await vault.rotate(renew=options.new_key, progress=progress))


async def _status(vault: Vault, _settings: GatewaySettings, _options: argparse.Namespace) -> Mapping[str, Any]:
    return await vault.status()


async def _erase(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    from .vault_erase import erase

    return await erase(vault, settings, options)


_COMMANDS: dict[str, Callable[[Vault, GatewaySettings, argparse.Namespace], Awaitable[Mapping[str, Any]]]] = {
    "rotate": _rotate,
    "status": _status,
    "erase": _erase,
}


def _in_words(done: Mapping[str, Any]) -> str:
    lines = []
    for name, value in done.items():
        if isinstance(value, list):
            lines += [f"{name}:", *("  " + ", ".join(f"{k} {_word(v)}" for k, v in item.items()) for item in value)]
        elif isinstance(value, Mapping):
            lines.append(f"{name}: {', '.join(f'{k}: {v}' for k, v in value.items()) or 'none'}")
        else:
            lines.append(f"{name}: {_word(value)}")
    return "\n".join(lines)


def _word(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if value != "" else "none"
