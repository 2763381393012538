"""`sovctl gateway keys create|list|rotate|revoke|pin|jwks`: manages the clients in this machine's own file.

Clients of site.yaml are in `clients_file`, which `sovctl apply` generates; they are listed here, and changed in
site.yaml.
Running gateways load a change within `access.reload_every_s`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sovctl.support.errors import ExitCode, InputError

from ..access import keys
from ..access.clients import Client, check_clients, load_clients
from ..access.pins import digest_of, pin_of
from ..settings import GatewaySettings, SurfaceName, load_settings
from ..settings.base.model import in_words


def add_subcommands(parser: argparse.ArgumentParser, config: Path) -> None:
    """Declare the subcommands of `keys`."""
    subparsers = parser.add_subparsers(dest="keys_command", required=True)
    for word, about in (
        ("create", "create a client with a key, and print the key once"),
        ("list", "show clients and the ids of their keys"),
        ("rotate", "give a client a new key; the old ones expire after the grace period"),
        ("revoke", "remove a client, or one of its keys"),
        ("pin", "approve this machine's clients file after a change by hand: write its SHA-256 into the settings"),
        ("jwks", "print the public keys with which upstreams verify x-sovctl-principal"),
    ):
        sub = subparsers.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=config, metavar="FILE")
        sub.add_argument("--json", action="store_true", help="one JSON document")
        if word not in ("list", "pin", "jwks"):
            sub.add_argument("name", metavar="NAME")
        if word in ("create", "rotate"):
            sub.add_argument("--expires-in", default="365d", metavar="TIME", help="such as 90d, 12h, or never")
        if word == "create":
            sub.add_argument("--tenant", required=True)
            sub.add_argument("--team")
            sub.add_argument("--group", action="append", default=[], dest="groups")
            sub.add_argument("--route", action="append", default=[], dest="routes", metavar="MODEL")
            sub.add_argument("--surface", action="append", default=[], dest="surfaces", metavar="NAME", type=_surface)
            sub.add_argument("--no-restore", action="store_false", dest="may_restore")
            sub.add_argument("--admin", action="store_true", dest="is_admin", help="operator of the client's tenant")
            sub.add_argument(
                "--admin-tenant",
                action="append",
                default=[],
                dest="admin_tenants",
                metavar="TENANT",
                help="further tenant of an operator, or * for all; repeatable",
            )
            sub.add_argument(
                "--monitor", action="store_true", dest="is_monitor", help="may read metrics and details of readiness"
            )
        if word == "rotate":
            sub.add_argument("--grace-period", default="7d", metavar="TIME", help="lifetime of the old keys: 7d")
        if word == "revoke":
            sub.add_argument("--key", metavar="KEY-ID", help="only this one")


def _surface(name: str) -> SurfaceName:
    if name not in [*SurfaceName]:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(SurfaceName)}, got {name[:40]}")
    return SurfaceName(name)


def run(options: argparse.Namespace) -> int:
    """Run a subcommand; return the exit code.

    Raises:
        SovctlError: the settings, the file or an option is unusable.
    """
    settings = load_settings(options.config)
    done = _COMMANDS[options.keys_command](settings, options)
    is_json = options.json or options.keys_command == "jwks"  # its only format
    sys.stdout.write((json.dumps(done, indent=2) if is_json else _in_words(done)) + "\n")
    return ExitCode.OK


def _create(settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    own = ("name", "tenant", "team", "groups", "routes", "surfaces", "may_restore")
    fields = (*own, "is_admin", "admin_tenants", "is_monitor")
    try:
        client = Client.model_validate({field: getattr(options, field) for field in fields})
    except ValidationError as error:
        found = [f"{each['loc'][0]}: {in_words(each)}" for each in error.errors(include_url=False, include_input=False)]
        raise InputError(f"invalid client: {'; '.join(found)}") from error
    unknown = [name for name in client.routes if settings.route(name) is None]
    if unknown:
        models = ", ".join(route.model for route in settings.routes)
        raise InputError(f"expected one of {models}, got {unknown[0]}", where="--route")
    now, expires_in = datetime.now(UTC), keys.parse_duration(options.expires_in)
    with _edited(settings, options.config) as clients:
        key, clients[:] = keys.create(clients, client, now=now, expires_in=expires_in)
    return _shown(clients, options.name, key)


def _rotate(settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    now, expires_in = datetime.now(UTC), keys.parse_duration(options.expires_in)
    grace_period = keys.parse_duration(options.grace_period)
    if grace_period is None:
        raise InputError("expected a duration such as 7d, got never", where="--grace-period")
    with _edited(settings, options.config) as clients:
        key, clients[:] = keys.rotate(clients, options.name, now=now, expires_in=expires_in, grace_period=grace_period)
    return _shown(clients, options.name, key)


def _revoke(settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    if options.name in {client.name for client in _others(settings)}:
        raise InputError(
            f"{options.name} is a client of site.yaml, not of this machine",
            where=str(settings.clients_file),
            hint="remove it from site.yaml and run sovctl apply",
        )
    with _edited(settings, options.config) as clients:
        clients[:] = keys.revoke(clients, options.name, key_id=options.key)
    return {"client": options.name, "revoked": options.key or "all keys"}


def _list(settings: GatewaySettings, _options: argparse.Namespace) -> Mapping[str, Any]:
    now = datetime.now(UTC)
    files = [settings.clients_file]
    if settings.access.local_clients_file is not None:
        files.append(settings.access.local_clients_file)
    return {
        "clients": [
            {
                "client": client.name,
                "tenant": client.tenant,
                "team": client.team,
                "file": str(path),
                "is_admin": client.is_admin,
                "admin_tenants": client.admin_tenants,
                "is_monitor": client.is_monitor,
                "may_restore": client.may_restore,
                "routes": client.routes,
                "surfaces": client.surfaces,
                "certificates": client.certificates,
                "keys": [
                    {
                        "key_id": key.key_id,
                        "created_at": key.created_at.isoformat() if key.created_at else None,
                        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
                        "is_valid": key.is_valid(now),
                    }
                    for key in client.all_keys
                ],
            }
            for path in files
            for client in load_clients(path, may_be_absent=path != settings.clients_file)
        ]
    }


def _jwks(settings: GatewaySettings, _options: argparse.Namespace) -> Mapping[str, Any]:
    from ..access.assertion import PrincipalSigner

    if not settings.access.principal_key_files:
        raise InputError("access.principal_key_files is not set, so x-sovctl-principal is not sent")
    return PrincipalSigner.open(settings.access.principal_key_files, site=settings.site).jwks


def _edited(settings: GatewaySettings, config: Path) -> AbstractContextManager[list[Client]]:
    """Return the context in which the clients of this machine's own file are changed."""
    return keys.edit(_own_file(settings), settings, others=_others(settings), pin=pin_of(settings, config))


def _pin(settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    """Approve the present content of this machine's own file."""
    path = _own_file(settings)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"unreadable: {error.strerror}", where=str(path)) from error
    clients = load_clients(path)
    check_clients([*_others(settings), *clients], settings, where=str(path))
    pin_of(settings, options.config).write([digest_of(content)])
    return {"file": str(path), "sha256": digest_of(content), "approved": ", ".join(each.name for each in clients)}


_COMMANDS: dict[str, Callable[[GatewaySettings, argparse.Namespace], Mapping[str, Any]]] = {
    "create": _create,
    "rotate": _rotate,
    "revoke": _revoke,
    "list": _list,
    "pin": _pin,
    "jwks": _jwks,
}


def _own_file(settings: GatewaySettings) -> Path:
    return settings.access.local_clients_file or settings.clients_file


def _others(settings: GatewaySettings) -> list[Client]:
    if settings.access.local_clients_file is None:
        return []
    return load_clients(settings.clients_file, digests=settings.clients_sha256)


def _shown(clients: list[Client], name: str, key: str) -> dict[str, Any]:
    client = next(client for client in clients if client.name == name)
    newest = client.keys[0]
    return {
        "client": name,
        "key": key,
        "key_id": newest.key_id,
        "expires_at": newest.expires_at.isoformat() if newest.expires_at else None,
    }


def _in_words(done: Mapping[str, Any]) -> str:
    if "clients" not in done:
        return "\n".join(f"{name + ':':<12}{value if value is not None else 'never'}" for name, value in done.items())
    lines = []
    for client in done["clients"]:
        rights = [client["team"] or "no team", *(name for name in ("admin", "monitor") if client[f"is_{name}"])]
        lines.append(f"{client['client']:<32}{client['tenant']:<20}{', '.join(rights)}")
        for key in client["keys"]:
            state = "valid" if key["is_valid"] else "expired"
            lines.append(f"  key {key['key_id']}  {state:<8} until {key['expires_at'] or 'revoked'}")
        lines += [f"  certificate {name}" for name in client["certificates"]]
    return "\n".join(lines) or "no clients"
